"""Reading tables, samples by features, from files of all formats.

| file | format |
|---|---|
| ``.csv``, ``.tsv``, ``.tab``, ``.txt`` | text, `rankfactor.data.textfile` |
| ``.txt`` that begins with ``!Series_`` | GEO series matrix, `rankfactor.data.geo` |
| ``.xlsx``, ``.xlsm`` | Excel, `rankfactor.data.excel` (``rankfactor[excel]``) |
| ``.parquet``, ``.pq``, a folder of them | Parquet (``rankfactor[parquet]``) |
| ``.npz`` | NumPy archive, `rankfactor.data.npz` |
| ``.npy``, ``.zarr`` | an array without names, `rankfactor.data.streams.arrays` |
| ``.h5ad``, ``.h5mu`` | AnnData, MuData, `rankfactor.data.annotated` (``rankfactor[anndata]``) |

Text may be compressed: ``.gz``, ``.xz``, ``.bz2``, ``.zst`` (``rankfactor[zstd]``). See
`rankfactor.data.grid` for how a table with features in rows is detected.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from rankfactor.data.annotated import AnnotatedTable
from rankfactor.data.excel import Sheet
from rankfactor.data.frames import PARQUET, ParquetTable
from rankfactor.data.geo import SeriesMatrix, is_series_matrix
from rankfactor.data.grid import Table, check_names, table_of_grid
from rankfactor.data.labels import as_classes, classes_of_frame
from rankfactor.data.names import check_unique, no_id_column
from rankfactor.data.npz import Archive
from rankfactor.data.opening import TextStream, name_suffixes
from rankfactor.data.streams.annotated import h5ad_stream
from rankfactor.data.streams.arrays import npy_stream, zarr_stream
from rankfactor.data.streams.whole import StreamedTable
from rankfactor.data.textfile import TextTable
from rankfactor.errors import InputError, did_you_mean, listed

_Cells = TextTable | Sheet | ParquetTable  # from which a table is made
# A table and annotations of its samples.
_Described = SeriesMatrix | Archive | AnnotatedTable | StreamedTable
_TEXT = frozenset({".csv", ".tsv", ".tab", ".txt"})
_OTHERS: dict[str, type[Any]] = {
    ".xlsx": Sheet,
    ".xlsm": Sheet,
    ".parquet": ParquetTable,
    ".pq": ParquetTable,
    ".npz": Archive,
    ".npy": StreamedTable,
    ".zarr": StreamedTable,
    ".h5ad": AnnotatedTable,
    ".h5mu": AnnotatedTable,
}


class TableFile:
    """A file of any format, opened once: its header is read once, and its body once.

    Parameters
    ----------
    path : str or Path
        The file; its name determines the format.
    layer : str, optional
        The layer of an AnnData file to use instead of ``X``.
    sheet : str, optional
        The sheet of an Excel workbook; by default the first.
    first_rows : int, optional
        Read at most this many rows of a text, Parquet, ``.npy``, Zarr or ``.h5ad`` file. Other
        formats are read whole.

    Attributes
    ----------
    path : Path
    """

    def __init__(
        self,
        path: str | Path,
        *,
        layer: str | None = None,
        sheet: str | None = None,
        first_rows: int | None = None,
    ) -> None:
        self.path = path = Path(path)
        self._stream = TextStream(path) if _is_text(path) else None
        reader: Any
        if self._stream is None:
            folder = path.is_dir() and path.suffix.lower() != ".zarr"
            reader = ParquetTable if folder else _OTHERS[path.suffix.lower()]
        else:
            reader = SeriesMatrix if is_series_matrix(self._stream.head) else TextTable
        options: dict[str, Any] = {}
        for name, value, of in (("layer", layer, AnnotatedTable), ("sheet", sheet, Sheet)):
            if value is not None and reader is not of:
                self.close()
                raise InputError(
                    f"{name} means nothing for {path}, by the format of the file: drop it."
                )
            options |= {} if value is None else {name: value}
        self._first_rows = first_rows
        self._source: _Cells | _Described
        if reader is StreamedTable:
            stream = npy_stream(path) if path.suffix.lower() == ".npy" else zarr_stream(path)
            self._source = StreamedTable(stream, first_rows)
        elif first_rows is not None and path.suffix.lower() == ".h5ad":
            self._source = StreamedTable(h5ad_stream(path, layer), first_rows)
        elif reader in (ParquetTable, TextTable):
            self._source = reader(self._stream or path, first_rows)
        else:
            self._source = reader(self._stream or path, **options)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns, as returned by `column_names`."""
        return self._source.names

    @property
    def about_n_rows(self) -> int | None:
        """Number of all rows, estimated for text once its first rows are read; None if unknown."""
        if isinstance(self._source, ParquetTable | StreamedTable):
            return self._source.n_rows
        if self._first_rows is None or not isinstance(self._source, TextTable):
            return None
        assert self._stream is not None
        return round(self._first_rows / self._stream.share_read)

    def table(
        self,
        *,
        id_column: str | int | None = None,
        orient: str | None = None,
        text_columns: Collection[str] = (),
        exclude: Collection[str] = (),
        sample_names: Collection[str] | None = None,
    ) -> Table:
        """Read the table, like `read_table`."""
        if orient not in (None, "samples-in-rows", "features-in-rows"):
            raise InputError(
                f"orient='{orient}' is not valid; pass 'samples-in-rows' or 'features-in-rows'."
            )
        source = self._source
        if isinstance(source, _Described):
            if isinstance(source, SeriesMatrix):
                if orient == "samples-in-rows":
                    raise InputError(
                        f"{self.path} is a GEO series matrix, which has features in rows: drop "
                        "orient."
                    )
            elif orient == "features-in-rows":
                raise InputError(f"{self.path} has samples in rows, by its format: drop orient.")
            table = source.table
            if id_column is not None:
                annotations = _indexed(table.annotations, id_column, self.path)
                values = table.values.set_axis(annotations.index, axis=0)
                table = replace(table, values=values, annotations=annotations)
            return _without(_take_text_columns(table, text_columns), exclude)

        def read(kept: Collection[str]) -> tuple[Table, list[str]]:
            return table_of_grid(
                source.grid(id_column, kept),
                orient=orient,
                text_columns=kept,
                exclude=exclude,
                sample_names=sample_names,
            )

        table, lost = read(text_columns)
        _check_found(table, text_columns)
        if lost:  # "01" must not become "1"
            again, _ = read([*text_columns, *table.words])
            table = replace(again, notes=table.notes, words=table.words)
        return table

    def annotations(self, id_column: str | int | None = None) -> pd.DataFrame:
        """Read every cell as text, like `read_annotations`."""
        if isinstance(self._source, _Described):
            frame = self._source.annotations
            return frame if id_column is None else _indexed(frame, id_column, self.path)
        grid = self._source.grid(id_column, None)
        check_names(grid, "sample", "column")
        index = pd.Index(grid.row_names, name="sample", dtype=object)
        words = {
            name: as_classes(grid.text.get((n, i), "") for n in range(len(index)))
            for i, name in enumerate(grid.column_names)
        }
        return pd.DataFrame(words, index, dtype=object)


def read_table(
    path: str | Path,
    *,
    id_column: str | int | None = None,
    orient: str | None = None,
    text_columns: Collection[str] = (),
    exclude: Collection[str] = (),
    layer: str | None = None,
    sheet: str | None = None,
    sample_names: Collection[str] | None = None,
) -> Table:
    """Read a table of numbers and the annotations of its samples.

    Parameters
    ----------
    path : str or Path
        The file; its name determines the format.
    id_column : str or int, optional
        The column of names, by heading or by position from 0; by default the rule in
        `rankfactor.data.textfile` decides. In formats with sample names, an annotation to use
        instead.
    orient : {"samples-in-rows", "features-in-rows"}, optional
        Orientation of the file; by default it is detected and noted.
    text_columns : collection of str
        Columns to keep as annotations, as written, even if they look like numbers: labels.
    exclude : collection of str
        Features, annotations or samples to leave out.
    layer : str, optional
        The layer of an AnnData file to use instead of ``X``.
    sheet : str, optional
        The sheet of an Excel workbook; by default the first.
    sample_names : collection of str, optional
        Known sample names, such as those of the labels, which distinguish rows from columns.

    Returns
    -------
    Table
        Values, annotations and notes.

    Raises
    ------
    InputError
        If the file cannot be read as such a table.
    """
    with TableFile(path, layer=layer, sheet=sheet) as file:
        return file.table(
            id_column=id_column,
            orient=orient,
            text_columns=text_columns,
            exclude=exclude,
            sample_names=sample_names,
        )


def column_names(path: str | Path, *, sheet: str | None = None) -> list[str]:
    """Return the names of the columns of a file, reading as little of it as the format allows.

    Parameters
    ----------
    path : str or Path
        As for `read_table`.
    sheet : str, optional
        The sheet of an Excel workbook.

    Returns
    -------
    list of str
        Headings as in the file, including that of the names; for formats that distinguish
        annotations and features, annotations first.
    """
    with TableFile(path, sheet=sheet) as file:
        return file.names


def read_annotations(
    path: str | Path, id_column: str | int | None = None, *, sheet: str | None = None
) -> pd.DataFrame:
    """Read a file that describes samples, every cell as text.

    Parameters
    ----------
    path : str or Path
        A file of any format, samples in rows; for GEO, AnnData and NPZ the annotations.
    id_column : str or int, optional
        The column of sample names, by heading or, in tables, by position from 0.
    sheet : str, optional
        The sheet of an Excel workbook.

    Returns
    -------
    pandas.DataFrame
        Sample names as index; classes as str, NaN where a cell is missing.

    Raises
    ------
    InputError
        If the file cannot be read, or its names are missing or repeated.
    """
    with TableFile(path, sheet=sheet) as file:
        return file.annotations(id_column)


def _is_text(path: Path) -> bool:
    """Whether a file is text, plain or compressed, by its name; refuses an unknown format."""
    suffix, packed = name_suffixes(path)
    if path.is_dir() and suffix not in (*PARQUET, ".zarr") and any(path.glob("*.parquet")):
        return False
    if suffix == ".xls":
        raise InputError(f"{path} is of an old Excel format; save it as .xlsx or CSV.")
    if suffix in _TEXT:
        return True
    if suffix not in _OTHERS or packed:
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the path of a file.")
        raise InputError(
            f"{path} has an unknown extension; name it .csv, .tsv or .txt (with .gz, .xz, .bz2 or "
            ".zst after it if it is compressed), .xlsx, .parquet, .npz, .npy, .zarr, .h5ad or "
            ".h5mu."
        )
    return False


def _take_text_columns(table: Table, text_columns: Collection[str]) -> Table:
    """Move features requested as labels to the annotations."""
    moved = [name for name in text_columns if name in table.values.columns]
    if moved:
        # An existing annotation of that name is the intended label.
        new = [name for name in moved if name not in table.annotations.columns]
        table = replace(
            table,
            values=table.values.drop(columns=moved),
            annotations=table.annotations.join(classes_of_frame(table.values[new])),
            blocks=None if table.blocks is None else table.blocks.drop(moved),
        )
    _check_found(table, text_columns)
    return table


def _check_found(table: Table, text_columns: Collection[str]) -> None:
    for name in text_columns:
        if name not in table.annotations.columns:
            known = [*table.annotations.columns, *table.values.columns]
            raise InputError(
                f"{table.source} has no column '{name}' to use as label; "
                f"its columns begin with {listed(known, 3)}.{did_you_mean(name, known)}"
            )


def _without(table: Table, exclude: Collection[str]) -> Table:
    values, annotations = table.values, table.annotations
    for name in exclude:
        if not any(name in where for where in (values.columns, annotations.columns, values.index)):
            raise InputError(
                f"{table.source} has nothing called '{name}' to exclude; "
                f"its features begin with {listed(values.columns, 3)}."
                f"{did_you_mean(name, [*values.columns, *annotations.columns, *values.index])}"
            )
    left_out = set(exclude)
    rows = [name not in left_out for name in values.index]
    columns = [name not in left_out for name in values.columns]
    described = [name for name in annotations.columns if name not in left_out]
    return replace(
        table,
        values=values.loc[rows, columns],
        annotations=annotations.loc[rows, described],
        blocks=None if table.blocks is None else table.blocks[columns],
    )


def _indexed(frame: pd.DataFrame, id_column: str | int, path: Path) -> pd.DataFrame:
    if id_column not in frame.columns:
        raise no_id_column(path, id_column, list(frame.columns))
    names = frame[id_column]
    if bool(names.isna().any()):
        raise InputError(f"{path}, column '{id_column}' has a gap; choose another id_column.")
    check_unique(names, "sample name", path)
    index = pd.Index(list(names), name="sample", dtype=object)
    return frame.drop(columns=[id_column]).set_axis(index, axis=0)
