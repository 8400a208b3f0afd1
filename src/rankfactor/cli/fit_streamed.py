"""Tables that ``fit`` reads in chunks, with the labels, groups and covariates of each chunk.

The names, labels and groups of all samples are collected in the fit's first pass through the table.
They are checked at its end, and notes report what was found, as for a table in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.cli.classes import choices_of, dropped_classes, positive_of, settled_labels
from rankfactor.cli.console import note
from rankfactor.cli.large_tables import CHUNKWISE, allowed_bytes, open_large, reading_options
from rankfactor.cli.reading import (
    Place,
    covariate_table,
    describing,
    foreign,
    no_column,
    no_match,
    places_of,
    warn_of_namesake,
    words_among,
)
from rankfactor.cli.settings import is_given, numbers_of_factors
from rankfactor.data.fingerprint import RowsFingerprint
from rankfactor.data.labels import as_classes
from rankfactor.data.sparse import NamedSparse
from rankfactor.data.streams import LabelledStream, TableStream, named, open_stream
from rankfactor.data.streams.base import columns_dropped, rows_of
from rankfactor.data.streams.grids import GridStream
from rankfactor.errors import InputError, listed
from rankfactor.estimators import large
from rankfactor.storage.scratch import Scratch

Options = Mapping[str, Any]


def too_large(table: Path, ctx: Any) -> TableStream | None:
    """Stream of a table too large to read whole; options that need it in memory are refused."""
    options = ctx.params
    limited = options["memory"] is not None
    stream = open_large(table, options, large.LARGE if limited else None)
    if stream is None:
        if options["scratch"] is not None:
            note("--scratch has no effect: the table fits into --memory.")
        return None
    Scratch(options["scratch"])  # refuses a folder that cannot be written to
    for name, instead in (
        ("stability", "use `rankfactor stability` on a part of the samples"),
        ("annotated", "use `rankfactor predict --scores`"),
    ):
        if is_given(ctx, name):
            raise _needs_memory(f"--{name}", table, f"leave it out, and {instead}", stream, limited)
    if len(numbers_of_factors(options["n_factors"])) > 1:
        several, advice = "--n-factors with several numbers", "give one number, or auto"
        raise _needs_memory(several, table, advice, stream, limited)
    return stream


def _needs_memory(
    what: str, table: Path, instead: str, stream: TableStream, limited: bool
) -> InputError:
    """Error for an option that needs the table whole; ``limited`` if --memory was given."""
    or_else = ""
    if stream.about_n_rows <= large.LARGE:
        or_else = ", or allow more --memory"
    elif limited:
        or_else = ", or leave out --memory, if the table fits"
    return InputError(
        f"{what} needs the table in memory, and {table} is {CHUNKWISE}: {instead}{or_else}."
    )


class StreamedRows(LabelledStream):
    """Features of a table, with its samples' labels, groups and covariates from the options.

    Parameters
    ----------
    stream : TableStream
    path : Path
    options : mapping
        Options of the command, by name.
    places : sequence of Place
        Labels, one per task.
    group : Place or None
    files : mapping
        Files that describe samples.
    covariates : DataFrame
        Covariates that are not columns of the table.
    beside : sequence of str
        Columns of the table that are not features.
    left_out : set of str
        Samples to leave out.
    """

    def __init__(
        self,
        stream: TableStream,
        path: Path,
        options: Options,
        places: Sequence[Place],
        group: Place | None,
        files: Mapping[Path, pd.DataFrame],
        covariates: pd.DataFrame,
        beside: Sequence[str],
        left_out: set[str],
    ) -> None:
        super().__init__(stream, beside)
        self._path, self._options, self._places, self._files = path, options, places, files
        self._group, self._covariates, self._left_out = group, covariates, left_out
        self.tasks = [column for _, column in places]
        self._classes = dropped_classes(options, self.tasks)
        if self._classes or left_out:
            self.n_rows = None
        self.positive: dict[str, str] = {}
        self.said = [*stream.notes, CHUNKWISE]
        self.fingerprint: dict[str, Any] = {}

    def _pieces(self, rows: int) -> Iterator[Any]:
        first = self._labels is None
        mark, cells, names = RowsFingerprint(), [], []
        for chunk in self._stream.chunks(rows):
            table = chunk.table
            index, found = table.index, self._cells(table)
            kept = np.flatnonzero(self._kept(found))
            if self._own:
                table = columns_dropped(table, self._own)
            table = self._with_covariates(table)
            table = table if len(kept) == len(index) else rows_of(table, kept)
            if first:
                mark.add(table)
                cells.append(found)
                names.append(index)
            if len(kept):
                yield table
        if first:
            self._settle(pd.concat(cells), names[0].append(names[1:]))
            self.fingerprint = mark.told(self._labels)

    def _cells(self, table: Any) -> pd.DataFrame:
        """Labels and group of the rows of a chunk, as text."""
        found = {}
        for number, (file, column) in enumerate((*self._places, *_some(self._group))):
            frame = self.annotations if file is None else self._files[file]
            if file is None and column in self._own:
                cells = table[column]
            else:
                assert frame is not None
                cells = frame[column].reindex(table.index)
            found[number] = as_classes(cells)
        return pd.DataFrame(found, table.index, dtype=object)

    def _kept(self, cells: pd.DataFrame) -> Any:
        """Which rows of a chunk are kept."""
        kept = ~cells.index.isin(self._left_out) if self._left_out else np.ones(len(cells), bool)
        if self._classes:
            known = [
                cells[n].notna() & ~cells[n].isin(self._classes.get(task, ()))
                for n, task in enumerate(self.tasks)
            ]
            kept = kept & np.any(known, axis=0)
        return kept

    def _with_covariates(self, table: Any) -> Any:
        """A chunk with the covariates of other files."""
        more = self._covariates.reindex(table.index)
        if not more.shape[1]:
            return table
        if isinstance(table, NamedSparse):
            return NamedSparse(table.matrix, table.index, table.columns, more)
        kept = table.drop(columns=list(more.columns), errors="ignore")
        return pd.concat([kept, more], axis=1)

    def _settle(self, cells: pd.DataFrame, names: pd.Index[Any]) -> None:
        """Check labels and groups of all samples, and print notes."""
        absent = self._left_out - {*names}
        if absent:
            assert self._stream.columns is not None
            raise InputError(
                f"{self.name} has nothing called {listed(sorted(absent), 3)} to exclude; its "
                f"columns begin with {listed(self._stream.columns, 3)}."
            )
        notes = [text for file, one in self._files.items() for text in foreign(names, file, one)]
        cells = cells[~names.isin(self._left_out)]
        labels = cells.iloc[:, : len(self.tasks)].set_axis(self.tasks, axis=1)
        sources = {column: file or self._path for file, column in self._places}
        self._labels, kept, said = settled_labels(labels, sources, self._options)
        self.positive = positive_of(self._labels, self._options)
        if self._group is not None:
            column = cells.iloc[:, -1]
            self.groups = column.rename(self._group.column)[kept]
        for text in (*notes, *said):
            note(text)
        self.said += [*notes, *said]


class Streamed:
    """A table read chunk by chunk: the counterpart of `rankfactor.cli.reading.Labelled`.

    Properties of the samples are known only after the table has been read.
    """

    labels = groups = None  # the stream has them

    def __init__(self, values: StreamedRows, settings: dict[str, Any]) -> None:
        self.values, self.settings, self.tasks = values, settings, values.tasks

    @property
    def notes(self) -> list[str]:
        """Notes on the samples."""
        return self.values.said

    @property
    def positive(self) -> dict[str, str]:
        """Positive classes by task, where given."""
        return self.values.positive

    @property
    def choices(self) -> dict[str, Any]:
        """Options on classes."""
        return choices_of(self.values._options, self.positive)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Fingerprint of the table and its labels."""
        return self.values.fingerprint


def open_labelled(stream: TableStream, path: Path, options: Options) -> Streamed:
    """Open a table for reading in chunks, with its labels, groups and covariates."""
    stream = named(stream)
    assert stream.columns is not None
    described = pd.DataFrame() if stream.annotations is None else stream.annotations
    header = {*map(str, stream.columns), *described.columns}
    labels, groups, covariates = places_of(path, header, options)
    asked = {column: file for file, column in (*labels, *groups, *covariates)}
    own = [
        column
        for file, column in (*labels, *groups)
        if file is None and column not in described.columns
    ]
    files = describing([*labels, *groups, *covariates], options)
    stream, left_out = _opened_again(stream, path, options, own)
    assert stream.columns is not None
    columns, aside = set(stream.columns), [*described.columns, *stream.words]
    for kind, places in (("label", labels), ("group", groups)):
        for file, column in places:
            known = aside if file is None else files[file].columns
            if column not in known:
                raise no_column(file or path, column, kind, known)
            if file is not None and kind == "label" and column in columns - {*stream.words}:
                warn_of_namesake(stream.name, column)
    wanted = [column for _, column in covariates]
    more, inside = covariate_table(path, options, wanted, header, described)
    for column in wanted:
        if column not in more.columns and column not in inside:
            raise no_column(path, column, "covariate", aside)
    beside = [*own, *(name for name in stream.words if asked.get(name) is not None)]
    others = [name for name in stream.words if name not in asked]
    words: list[str] = []
    said: list[str] = []
    if others:
        head = next(stream.chunks(stream.rows_within(2**25))).table
        words, said = words_among(head[others])
    beside += [name for name in others if name not in words]
    said += [
        f"the table's own column {name!r} is not a feature: you asked for that of {asked[name]}."
        for name in stream.words
        if asked.get(name) is not None
    ]
    group = groups[0] if groups else None
    beside = list(dict.fromkeys(beside))
    given = (path, options, labels, group, files, more, beside, left_out)
    rows = StreamedRows(stream, *given)
    rows.said += said
    for text in rows.said:
        note(text)
    scratch = options["scratch"]
    settings = {
        "covariates": wanted or None,
        "memory": allowed_bytes(options),
        "scratch": None if scratch is None else str(scratch),
    }
    return Streamed(rows, settings)


def _opened_again(
    stream: TableStream, path: Path, options: Options, own: Sequence[str]
) -> tuple[TableStream, set[str]]:
    """The stream without excluded columns and with labels as text, and excluded samples."""
    assert stream.columns is not None
    header = [str(name) for name in stream.columns]
    names = list(options.get("exclude") or ())
    for pattern in [one for one in names if set(one) & set("*?[") and one not in header]:
        found = [name for name in header if fnmatchcase(name, pattern)]
        if not found:
            raise no_match(pattern, path, header)
        names.remove(pattern)
        names += found
    excluded = [name for name in dict.fromkeys(names) if name in header and name not in own]
    described = () if stream.annotations is None else stream.annotations.columns
    left_out = {name for name in names if name not in header and name not in described}
    if len(excluded) == len(header):
        raise InputError(f"--exclude leaves no feature of {path}: narrow its patterns.")
    text = [name for name in own if name in header]
    if not isinstance(stream, GridStream):
        return stream.without(excluded), left_out
    if excluded or text:  # excluded columns may contain anything
        asked: dict[str, Any] = {"text_columns": text, "exclude": excluded}
        stream = open_stream(path, **reading_options(options), **asked)
    return stream, left_out


def _some(place: Place | None) -> tuple[Place, ...]:
    return () if place is None else (place,)
