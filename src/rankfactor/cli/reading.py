"""Tables, labels and groups from the files and columns named by options.

Functions take the values of a command's options by name, from its context.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rankfactor.cli.classes import choices_of, positive_of, settled_labels
from rankfactor.cli.console import note
from rankfactor.errors import InputError, counted, did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table, TableFile

Options = Mapping[str, Any]


class Labelled(NamedTuple):
    """A table with labels and groups, all with the same index."""

    values: pd.DataFrame  # features and, if any, covariates
    labels: pd.DataFrame
    groups: pd.Series[Any] | None
    settings: dict[str, Any]  # arguments of the estimator that come with the table
    notes: list[str]
    positive: dict[str, str]  # by task, where given
    choices: dict[str, Any]  # options on classes, as stored in a model file

    @property
    def tasks(self) -> list[str]:
        """Names of the label columns."""
        return [str(name) for name in self.labels.columns]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Fingerprint of the table and its labels."""
        from rankfactor.data import fingerprint

        return fingerprint(self.values, self.labels)


class Place(NamedTuple):
    """A column named by an option, and its file: None for the table itself."""

    file: Path | None
    column: str


def read(path: Path, options: Options) -> Table:
    """Read a table without the excluded names and patterns."""
    with opened_table(path, options) as file:
        return read_opened(file, options)


def read_labelled(path: Path, options: Options) -> Labelled:
    """Read a table, its labels, groups and covariates, and print notes."""
    import pandas as pd

    with opened_table(path, options) as opened:
        labels, groups, covariates = places_of(path, set(opened.names), options)
        own = [column for file, column in (*labels, *groups) if file is None]
        asked = {column: file for file, column in (*labels, *groups, *covariates)}
        files = describing([*labels, *groups, *covariates], options)
        known = {str(name) for frame in files.values() for name in frame.index}
        table = read_opened(opened, options, own, sample_names=known or None)
    notes = [*table.notes]
    for file, frame in files.items():
        notes += foreign(table.values.index, file, frame, options.get("first_rows"))
    sources = _Sources(table, files)
    described = pd.DataFrame(index=table.values.index)
    for place in labels:
        described[place.column] = sources.column(place, "label")
    described, kept, said = settled_labels(
        described, {column: file or path for file, column in labels}, options
    )
    notes += said
    if not kept.all():
        table = replace(table, values=table.values[kept], annotations=table.annotations[kept])
        sources = _Sources(table, files)
    positive = positive_of(described, options)
    together = sources.column(groups[0], "group") if groups else None
    notes += [
        f"the table's own column {name!r} is not a feature: you asked for that of {asked[name]}."
        for name in table.words
        if asked.get(name) is not None
    ]
    words, said = words_among(table.annotations[[one for one in table.words if one not in asked]])
    notes += said
    for text in notes:
        note(text)
    settings = {
        "covariates": [column for _, column in covariates] or None,
        "blocks": None if table.blocks is None else table.blocks.to_dict(),
    }
    choices = choices_of(options, positive)
    values = sources.with_covariates(table.with_words(words), covariates)
    return Labelled(values, described, together, settings, notes, positive, choices)


def new_table(table: Table, path: Path, options: Options, wanted: Sequence[str]) -> pd.DataFrame:
    """Values of a new table with the model's covariates, from options or from its columns."""
    header = {str(name) for name in (*table.values.columns, *table.annotations.columns)}
    given = _covariate_places(path, options, wanted, header)
    # Missing ones are reported when the table is matched to the model.
    places = {name: Place(None, name) for name in wanted if name in table.annotations.columns}
    places |= {place.column: place for place in given}
    sources = _Sources(table, describing(given, options))
    return sources.with_covariates(
        table.values, [places[name] for name in wanted if name in places]
    )


def covariate_table(
    path: Path,
    options: Options,
    wanted: Sequence[str],
    header: set[str],
    annotations: pd.DataFrame | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Covariates of a table that is read chunk by chunk.

    Returns
    -------
    frame : DataFrame
        Covariates from other files and from annotations that the file stores apart from its rows,
        with the samples found there.
    own : list of str
        Covariates that are columns of the table itself.
    """
    import pandas as pd

    given = {place.column: place.file for place in _covariate_places(path, options, wanted, header)}
    files = describing([Place(file, name) for name, file in given.items()], options)
    columns, own = {}, []
    for name in wanted:
        file = given.get(name)
        source = annotations if file is None else files[file]
        if source is not None and name in source.columns:
            columns[name] = cells_or_numbers(source[name])
        elif file is not None:
            raise no_column(file, name, "covariate", files[file].columns)
        elif name in header:
            own.append(name)
    return pd.DataFrame(columns), own


def _covariate_places(
    path: Path, options: Options, wanted: Sequence[str], header: set[str]
) -> list[Place]:
    """Covariates named by the options; all must belong to the model."""
    given = [_place(path, header, text, "--covariates") for text in options.get("covariates") or ()]
    for _, column in given:
        if column not in wanted:
            raise InputError(
                f"{column!r} is not a covariate of the model, which has "
                f"{listed(list(wanted), 3) or 'none'}.{did_you_mean(column, wanted)}"
            )
    return given


def cells_or_numbers(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers, also with decimal commas, if all cells of a column are numbers; else the cells."""
    import pandas as pd

    from rankfactor.data import as_numbers

    numbers = as_numbers(cells)
    return cells if numbers is None else pd.Series(numbers, cells.index, dtype=float)


def no_column(source: object, column: str, kind: str, known: Iterable[Any]) -> InputError:
    """Error for a column that does not exist."""
    known = list(known)
    return InputError(
        f"{source} has no column {column!r} to use as {kind}; the columns beside its features "
        f"are {listed(known, 3) or 'none'}.{did_you_mean(column, known)}"
    )


@dataclass(frozen=True)
class _Sources:
    """A table, and other files that describe its samples."""

    table: Table
    files: Mapping[Path, pd.DataFrame]

    def column(self, place: Place, kind: str) -> pd.Series[Any]:
        """A column for the table's samples, as text."""
        import pandas as pd

        from rankfactor.data import as_classes

        (file, column), table = place, self.table
        frame = table.annotations if file is None else self.files[file]
        if column not in frame.columns:
            raise no_column(file or table.source, column, kind, frame.columns)
        if file is not None and column in table.values.columns and kind == "label":
            warn_of_namesake(table.source, column)
        index = table.values.index
        cells = as_classes(frame[column].reindex(index))
        return pd.Series(cells, index=index, name=column, dtype=object)

    def with_covariates(self, features: pd.DataFrame, places: Iterable[Place]) -> pd.DataFrame:
        """Features with the covariates among their columns."""
        import pandas as pd

        more = {}
        for place in places:
            if place.file is None and place.column in features.columns:
                continue
            more[place.column] = cells_or_numbers(self.column(place, "covariate"))
        if not more:
            return features
        kept = features.drop(columns=list(more), errors="ignore")
        return pd.concat([kept, pd.DataFrame(more, index=kept.index)], axis=1)


def opened_table(path: Path, options: Options) -> TableFile:
    """Open a table as specified by the options."""
    from rankfactor.data import TableFile

    return TableFile(
        path,
        layer=options.get("layer"),
        sheet=options.get("sheet"),
        first_rows=options.get("first_rows"),
    )


def read_opened(
    file: TableFile,
    options: Options,
    text_columns: Sequence[str] = (),
    sample_names: Collection[str] | None = None,
) -> Table:
    """Read the table of a file without the excluded names and patterns."""
    header, given = file.names, options.get("exclude") or ()
    patterns = [text for text in given if set(text) & set("*?[") and text not in header]

    def matching(names: Iterable[Any]) -> list[str]:
        return [name for name in names if any(fnmatchcase(str(name), one) for one in patterns)]

    # Columns are excluded before they are parsed, so text in them does no harm.
    early = matching(header)
    exclude = [
        name for name in (*given, *early) if name not in patterns and name not in text_columns
    ]
    table = file.table(
        id_column=options.get("id_column"),
        orient=options.get("orient"),
        text_columns=text_columns,
        exclude=list(dict.fromkeys(exclude)),
        sample_names=sample_names,
    )
    # If features are in rows, their names are known only now.
    late = matching(table.values.columns)
    for pattern in patterns:
        if not any(fnmatchcase(str(name), pattern) for name in (*early, *late)):
            raise no_match(pattern, file.path, header)
    if len(late) == table.values.shape[1]:
        raise InputError(f"--exclude leaves no feature of {file.path}: narrow its patterns.")
    blocks = None if table.blocks is None else table.blocks.drop(late)
    return replace(table, values=table.values.drop(columns=late), blocks=blocks) if late else table


def no_match(pattern: str, path: Path, header: Iterable[str]) -> InputError:
    """Error for a pattern that excludes nothing."""
    return InputError(
        f"--exclude {pattern} matches no column of {path}: leave it out."
        f"{did_you_mean(pattern, header)}"
    )


def warn_of_namesake(source: str, column: str) -> None:
    """Warn of a feature with the name of a label from another file."""
    warnings.warn(
        f"{source} has a feature called {column!r}, like the label: if it is the label itself, "
        f"leave it out (--exclude {column}), or the model sees the answer.",
        UserWarning,
        stacklevel=4,
    )


def _place(table: Path, header: set[str], text: str, option: str) -> Place:
    # A column name may contain a colon, and so may a path with a drive letter.
    file, colon, column = text.rpartition(":")
    if text not in header and Path(text).is_file():
        from rankfactor.data import column_names

        known = [f"{text}:{name}" for name in column_names(Path(text))[1:]]
        raise InputError(
            f"{option} {text} is a file without a column: write {text}:COLUMN, with one "
            f"of {listed(known, 3) or 'none'}."
        )
    if text in header or not colon or not file:
        return Place(None, text)
    if not column:
        raise InputError(f"{option} {text} does not name a column: write {file}:COLUMN.")
    return Place(None if Path(file).absolute() == table.absolute() else Path(file), column)


def places_of(
    table: Path, header: set[str], options: Options
) -> tuple[list[Place], list[Place], list[Place]]:
    """Places of labels, of groups (one or none) and of covariates."""

    def places(name: str, given: Iterable[str] | None) -> list[Place]:
        return [_place(table, header, text, f"--{name}") for text in given or ()]

    labels = places("labels", options.get("labels"))
    covariates = places("covariates", options.get("covariates"))
    for option, found in (("label", labels), ("covariate", covariates)):
        names = [column for _, column in found]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"the {option} {name!r} is given more than once: rename one.")
    group = options.get("groups")
    return labels, places("groups", None if group is None else [group]), covariates


def describing(places: Iterable[Place], options: Options) -> dict[Path, pd.DataFrame]:
    """Other files of places, which describe samples, with their names as index."""
    from rankfactor.data import TableFile

    frames = {}
    for path in dict.fromkeys(file for file, _ in places if file):
        with TableFile(path) as opened:
            name = options.get("id_column")
            frames[path] = opened.annotations(name if name in opened.names else None)
    return frames


def foreign(
    index: pd.Index[Any], file: Path, frame: pd.DataFrame, first_rows: int | None = None
) -> list[str]:
    """Note on samples of a file that are not in the table with this index."""
    given = frame.index
    foreign = given[~given.isin(index)]
    if len(foreign) == len(given):
        raise InputError(
            f"{file} has no sample in common with the table: its samples are "
            f"{listed(given, 3)} and the table's are {listed(index, 3)}; check the column of "
            "sample names in both (--id-column), and the orientation of the table (--orient)."
        )
    if first_rows:  # others may be further down
        return []
    out = "not in the table and left out"
    whose = counted(len(foreign), f"sample of {file} is {out}", f"samples of {file} are {out}")
    return [f"{whose}: {listed(foreign, 3)}."] if len(foreign) else []


def words_among(cells: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Columns of few words, which become features, and notes on all columns of text."""
    from rankfactor.features.words import MOST_LEVELS, is_of_words

    used = [
        str(name)
        for name in cells
        if is_of_words(cells[name]) and len(set(cells[name].dropna())) > 1
    ]
    left = [str(name) for name in cells if name not in used]
    become = f"columns of words become 0/1 features: {listed(used, MOST_LEVELS)}"
    kinds = f"(not 2 to {MOST_LEVELS} words, or numbers among them)"
    no = f"columns of text that cannot be features {kinds}"
    said = [f"{become}; exclude columns that are not features (--exclude)."] if used else []
    return used, said + ([f"{no} are left out: {listed(left, MOST_LEVELS)}."] if left else [])
