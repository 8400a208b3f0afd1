"""Tables, labels and groups, from the files and columns that the options name."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.cli.console import note
from rankfactor.cli.settings import class_of_task
from rankfactor.errors import InputError, counted, did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table, TableFile


@dataclass(frozen=True)
class Reading:
    """How a table is to be read: the options of that name, None where the file decides."""

    id_column: str | None = None
    orient: str | None = None
    exclude: tuple[str, ...] = ()
    layer: str | None = None
    sheet: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Reading:
        """Reading that the options of a command ask for."""
        orient = options.get("orient")
        return cls(
            options.get("id_column"),
            None if orient is None else str(orient),
            tuple(options.get("exclude") or ()),
            options.get("layer"),
            options.get("sheet"),
        )

    def open(self, path: Path) -> TableFile:
        """Open the file of a table."""
        from rankfactor.data import TableFile

        return TableFile(path, layer=self.layer, sheet=self.sheet)


@dataclass(frozen=True)
class Labelled:
    """A table with labels and groups, all with the same index."""

    values: pd.DataFrame  # features, and covariates where there are any
    labels: pd.DataFrame
    groups: pd.Series[Any] | None
    covariates: tuple[str, ...]
    views: pd.Series[str] | None
    notes: tuple[str, ...]
    positive: dict[str, str]  # by task, where one was asked for

    @property
    def tasks(self) -> list[str]:
        """Names of the label columns."""
        return [str(name) for name in self.labels.columns]

    def choices(self, drop_class: Sequence[str] | None) -> dict[str, Any]:
        """What was asked for about classes, as a model file and a report tell it."""
        given = {"drop_class": list(drop_class or ()), "positive": self.positive}
        return {name: value for name, value in given.items() if value}

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the estimator that come with the table."""
        return {
            "covariates": list(self.covariates) or None,
            "blocks": None if self.views is None else self.views.to_dict(),
        }


def read(path: Path, reading: Reading) -> Table:
    """Read a table, without what is excluded by name or pattern."""
    with reading.open(path) as file:
        return _read(file, reading)


def _read(
    file: TableFile,
    reading: Reading,
    text_columns: Sequence[str] = (),
    sample_names: Collection[str] | None = None,
) -> Table:
    header, path = file.names, file.path
    exact: list[str] = []
    patterns: list[str] = []
    for text in reading.exclude:
        is_pattern = any(sign in text for sign in "*?[") and text not in header
        (patterns if is_pattern else exact).append(text)
    # Columns are left out before they are looked at: text in them then does no harm.
    early = [name for name in header if any(fnmatchcase(name, one) for one in patterns)]
    wanted = [name for name in (*exact, *early) if name not in text_columns]
    table = file.table(
        id_column=reading.id_column,
        orient=reading.orient,
        text_columns=tuple(text_columns),
        exclude=tuple(dict.fromkeys(wanted)),
        sample_names=sample_names,
    )
    # Where features are rows, their names are known only now.
    late = [
        name for name in table.values.columns if any(fnmatchcase(str(name), p) for p in patterns)
    ]
    for pattern in patterns:
        if not any(fnmatchcase(str(name), pattern) for name in (*early, *late)):
            raise InputError(
                f"--exclude {pattern} matches no column of {path}: leave it out."
                f"{did_you_mean(pattern, header)}"
            )
    if len(late) == table.values.shape[1]:
        raise InputError(f"--exclude leaves no feature of {path}: narrow its patterns.")
    if late:
        views = None if table.views is None else table.views.drop(late)
        table = replace(table, values=table.values.drop(columns=late), views=views)
    return table


def read_labelled(path: Path, options: Mapping[str, Any]) -> Labelled:
    """Read a table, its labels, groups and covariates; say what was found.

    Parameters
    ----------
    path : Path
        The table.
    options : mapping
        Values of the options by name, as the context of a command has them.
    """
    import pandas as pd

    from rankfactor.tasks import encode_labels, positive_classes

    reading, groups = Reading.of(options), options.get("groups")
    labels, covariates, drop, positive = (
        options.get(name) or () for name in ("labels", "covariates", "drop_class", "positive")
    )
    with reading.open(path) as opened:
        header = set(opened.names)
        places = [_place(path, header, text, "--labels") for text in labels]
        others = [_place(path, header, text, "--covariates") for text in covariates]
        for option, given in (("label", places), ("covariate", others)):
            names = [column for _, column in given]
            for name in names:
                if names.count(name) > 1:
                    raise InputError(f"the {option} {name!r} is given more than once: rename one.")
        group_place = [] if groups is None else [_place(path, header, groups, "--groups")]
        own = [column for file, column in (*places, *group_place) if file is None]
        named = dict.fromkeys(file for file, _ in (*places, *group_place, *others) if file)
        files = {file: _read_file(file, reading) for file in named}
        known = {str(name) for frame in files.values() for name in frame.index}
        table = _read(opened, reading, own, sample_names=known or None)
    notes = [*table.notes, *(text for file in files for text in _foreign(table, file, files))]
    parts: list[pd.Series[Any]] = []
    dropped: dict[str, list[str]] = {}
    for text in drop:
        task, label = class_of_task("--drop-class", text, [column for _, column in places])
        dropped.setdefault(task, []).append(label)
    for file, column in places:
        found = _column(table, file, column, files, kind="label")
        for label in dropped.get(column, ()):
            notes.append(_without_class(found, label))
        _check_classes(file or path, column, found)
        parts.append(found)
    described = pd.concat([pd.DataFrame(index=table.values.index), *parts], axis=1)
    if dropped:
        table, described = _with_some_label(table, described, notes)
    for column in described.columns:
        missing = int(described[column].isna().sum())
        if missing:
            notes.append(
                f"{missing} of {counted(len(described), 'sample')} have no label {column!r}; they "
                "are kept, with the label unknown."
            )
    chosen = dict(class_of_task("--positive", text, list(described.columns)) for text in positive)
    if chosen:
        positive_classes(encode_labels(described, len(described))[0], chosen)
    together = None
    for file, column in group_place:
        together = _column(table, file, column, files, kind="group")
    asked = {column: file for file, column in (*places, *group_place, *others)}
    notes += [
        f"the table's own column {name!r} is no feature: that of {asked[name]} was asked for."
        for name in table.words
        if asked.get(name) is not None
    ]
    words, said = _words(table, [name for name in table.words if name not in asked])
    notes += said
    for text in notes:
        note(text)
    return Labelled(
        _with_covariates(table, table.with_words(words), others, files),
        described,
        together,
        tuple(column for _, column in others),
        table.views,
        tuple(notes),
        chosen,
    )


def _without_class(labels: pd.Series[Any], label: str) -> str:
    """Make the labels of a class unknown, in place, and say how many they are."""
    chosen = (labels == label).to_numpy()
    if not chosen.any():
        known = sorted(set(labels.dropna()))
        raise InputError(
            f"--drop-class {label} is not a class of {labels.name!r} ({', '.join(known)})."
            f"{did_you_mean(label, known)}"
        )
    labels[chosen] = None
    return f"the class {label!r} of {labels.name!r} is left out: {counted(chosen.sum(), 'sample')}."


def _with_some_label(
    table: Table, labels: pd.DataFrame, notes: list[str]
) -> tuple[Table, pd.DataFrame]:
    """Leave out samples without any label, once a class is dropped."""
    kept = labels.notna().any(axis=1).to_numpy()
    if kept.all():
        return table, labels
    notes.append(f"{counted(int((~kept).sum()), 'sample')} without any label left out.")
    table = replace(table, values=table.values[kept], annotations=table.annotations[kept])
    return table, labels[kept]


def _words(table: Table, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Columns of text that become features, being of few words, and what to say of them all."""
    from rankfactor.features.words import MOST_LEVELS, is_of_words

    used = [
        name
        for name in names
        if is_of_words(table.annotations[name]) and len(set(table.annotations[name].dropna())) > 1
    ]
    left = [name for name in names if name not in used]
    said = []
    if used:
        said.append(
            f"columns of words become 0/1 features: {listed(used, MOST_LEVELS)}; leave out what "
            "is no feature (--exclude)."
        )
    if left:
        said.append(
            f"columns of text that are no features (not 2 to {MOST_LEVELS} words, or numbers among "
            f"them) are left out: {listed(left, MOST_LEVELS)}."
        )
    return used, said


def _with_covariates(
    table: Table,
    features: pd.DataFrame,
    places: Sequence[tuple[Path | None, str]],
    files: Mapping[Path, pd.DataFrame],
) -> pd.DataFrame:
    """Features with the covariates among their columns."""
    import pandas as pd

    from rankfactor.data import as_numbers

    more = {}
    for file, column in places:
        if file is None and column in features.columns:
            continue
        cells = _column(table, file, column, files, kind="covariate")
        # A column of numbers in a file of text is a column of numbers, be they with commas.
        numbers = as_numbers(cells)
        more[column] = cells if numbers is None else pd.Series(numbers, cells.index, dtype=float)
    if not more:
        return features
    kept = features.drop(columns=[name for name in more if name in features.columns])
    return pd.concat([kept, pd.DataFrame(more, index=kept.index)], axis=1)


def new_covariates(
    table: Table, path: Path, given: Sequence[str], wanted: Sequence[str], reading: Reading
) -> pd.DataFrame:
    """Values of a new table with the covariates that a model wants, from options or its columns."""
    header = {str(name) for name in (*table.values.columns, *table.annotations.columns)}
    places = {
        column: file for file, column in (_place(path, header, t, "--covariates") for t in given)
    }
    for column in places:
        if column not in wanted:
            raise InputError(
                f"{column!r} is no covariate of the model, which has "
                f"{listed(list(wanted), 3) or 'none'}.{did_you_mean(column, wanted)}"
            )
    files = {file: _read_file(file, reading) for file in {*places.values()} if file}
    # Those that are nowhere are told by whoever matches the table to the model.
    chosen = [
        (places.get(name), name)
        for name in wanted
        if name in places or name in table.annotations.columns
    ]
    return _with_covariates(table, table.values, chosen, files)


def _place(table: Path, header: set[str], text: str, option: str) -> tuple[Path | None, str]:
    """File (None for the table itself) and column that an option names."""
    # A column of the table may have a colon in its name, and a path one after its drive.
    file, colon, column = text.rpartition(":")
    if text not in header and Path(text).is_file():
        from rankfactor.data import column_names

        known = [f"{text}:{name}" for name in column_names(Path(text))[1:]]
        raise InputError(
            f"{option} {text} is a file, and names no column of it: write {text}:COLUMN, with one "
            f"of {listed(known, 3) or 'none'}."
        )
    if text in header or not colon or not file:
        return None, text
    if not column:
        raise InputError(f"{option} {text} names no column: write {file}:COLUMN.")
    return (None if Path(file).absolute() == table.absolute() else Path(file)), column


def _read_file(file: Path, reading: Reading) -> pd.DataFrame:
    """A file that describes samples, with their names as index."""
    from rankfactor.data import TableFile

    with TableFile(file) as opened:
        named = reading.id_column in opened.names
        return opened.annotations(reading.id_column if named else None)


def _foreign(table: Table, file: Path, files: Mapping[Path, pd.DataFrame]) -> Iterator[str]:
    """Say which samples of a file the table does not have."""
    index, given = table.values.index, files[file].index
    foreign = given[~given.isin(index)]
    if len(foreign) == len(given):
        raise InputError(
            f"{file} has no sample in common with the table: its samples are "
            f"{listed(given, 3)} and the table's are {listed(index, 3)}; check the column of "
            "sample names in both (--id-column), and which way the table lies (--orient)."
        )
    if len(foreign):
        out = "not in the table and left out"
        whose = counted(len(foreign), f"sample of {file} is {out}", f"samples of {file} are {out}")
        yield f"{whose}: {listed(foreign, 3)}."


def _column(
    table: Table,
    file: Path | None,
    column: str,
    files: Mapping[Path, pd.DataFrame],
    *,
    kind: str,
) -> pd.Series[Any]:
    """Column of the table or of another file for the table's samples, as text."""
    import pandas as pd

    from rankfactor.data import as_classes

    index = table.values.index
    frame = table.annotations if file is None else files[file]
    if column not in frame.columns:
        raise InputError(
            f"{file or table.source} has no column {column!r} to take as {kind}; the columns "
            f"beside its features are {listed(frame.columns, 3) or 'none'}."
            f"{did_you_mean(column, frame.columns)}"
        )
    if file is not None and column in table.values.columns and kind == "label":
        warnings.warn(
            f"{table.source} has a feature called {column!r}, as the label is: if it is the label "
            f"itself, leave it out (--exclude {column}), or the model is told the answer.",
            UserWarning,
            stacklevel=3,
        )
    cells = frame[column].reindex(index)
    return pd.Series(as_classes(cells), index=index, name=column, dtype=object)


def _check_classes(source: Path, column: str, labels: pd.Series[Any]) -> None:
    from rankfactor.data.labels import refuse_one_class

    refuse_one_class(labels, source)
    classes = labels.dropna().unique()
    known = int(labels.notna().sum())
    if len(classes) > max(20, known // 3):
        raise InputError(
            f"{source}, column {column!r} has {len(classes)} classes for "
            f"{counted(known, 'labelled sample')}: it looks like a measurement or a name, so "
            "choose another column or bin it first."
        )
