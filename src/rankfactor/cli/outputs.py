"""What a command may replace: never an input, and nothing but its own earlier output.

A file is recognised by its content: a model or a report is replaced by a new one, a table by a
table with the same columns. Other files that exist are refused unless ``--force`` is given, and an
output that is also an input always.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rankfactor.cli.frame_files import PARQUET, ZARR
from rankfactor.errors import InputError
from rankfactor.storage.files import check_destinations, check_folder, same_file

_HEAD = 4096  # bytes at the beginning of a file that say who wrote it


class Kind(NamedTuple):
    """A kind of output: its name in a sentence, and whether a file is an earlier one."""

    name: str  # none for a kind of which earlier ones are not recognised
    is_earlier: Callable[[Path], bool]  # a file that cannot be read, by any error, is none


class Output(NamedTuple):
    """A file that a command writes, and the option that asks for it."""

    option: str
    path: Path
    kind: Kind
    in_new_folder: bool = False  # the command creates the folder where it does not exist


def in_folder(option: str, folder: Path | None, kinds: Mapping[str, Kind]) -> list[Output]:
    """Outputs of an option that names a folder, if it was given: its files by name."""
    if folder is None:
        return []
    return [Output(option, folder / name, kind, True) for name, kind in kinds.items()]


def asked(*wanted: tuple[str, Path | None, Kind]) -> list[Output]:
    """Outputs of options, each with its path, of those that were given."""
    return [Output(option, path, kind) for option, path, kind in wanted if path is not None]


def check_outputs(
    inputs: Iterable[Path | None], outputs: Sequence[Output], *, force: bool = False
) -> None:
    """Refuse, before any work is done, outputs that would destroy something.

    With ``force``, files that exist are replaced, whatever they are, but for inputs.
    """
    read = [path for path in inputs if path is not None]
    for number, (option, path, kind, in_new_folder) in enumerate(outputs):
        if in_new_folder:
            check_folder(path.parent)
        if path.suffix.lower() == ZARR and path.is_dir():
            check_destinations(path.with_name(f"{path.name}.zip"))  # whether one can write beside
        elif not in_new_folder or path.parent.is_dir():
            check_destinations(path)
        for source in read:
            if same_file(path, source):
                raise InputError(
                    f"{option} would replace {path}, which is the input {source}: choose another "
                    "path."
                )
        # The folder of some outputs cannot be a file that is another.
        places = (path, path.parent) if in_new_folder else (path,)
        for other in outputs[:number]:
            if any(same_file(place, other.path) for place in places):
                raise InputError(
                    f"{other.option} and {option} would both write {other.path}: give each a path "
                    "of its own."
                )
        # An empty file, as programs make to reserve a name, holds nothing that could be lost.
        if not force and path.exists() and path.stat().st_size and not _is_earlier(kind, path):
            known = f"is not {kind.name}" if kind.name else "exists"
            raise InputError(
                f"{option} would replace {path}, which {known}: choose another path, or add "
                "--force."
            )


def _is_earlier(kind: Kind, path: Path) -> bool:
    try:
        return kind.is_earlier(path)
    except (OSError, ValueError, csv.Error):
        return False


def files_of(*options: str | Sequence[str] | None) -> list[Path]:
    """Files that options of the form ``FILE:COLUMN`` name."""
    texts = [
        text for given in options for text in ([given] if isinstance(given, str) else given or ())
    ]
    return [Path(text.rpartition(":")[0]) for text in texts if ":" in text]


def table_of(name: str, *columns: str) -> Kind:
    """A CSV table whose header begins with these columns."""
    return Kind(name, lambda path: _header(path)[: len(columns)] == list(columns))


def json_object(name: str, *keys: str) -> Kind:
    """A JSON object that has these keys."""

    def is_earlier(path: Path) -> bool:
        found = json.loads(path.read_text("utf-8"))
        return isinstance(found, dict) and set(keys) <= set(found)

    return Kind(name, is_earlier)


def marked(name: str, mark: bytes) -> Kind:
    """A file that has a mark in its first bytes."""

    def is_earlier(path: Path) -> bool:
        with path.open("rb") as file:
            return mark in file.read(_HEAD)

    return Kind(name, is_earlier)


def _is_model(path: Path) -> bool:
    from rankfactor.storage.archive import is_archive
    from rankfactor.storage.model_file import model_header

    return is_archive(path) and bool(model_header(path))


def _is_predictions(path: Path) -> bool:
    """Whether all columns but the first, ``sample``, belong to a task that is predicted."""
    first, *rest = _header(path)
    ends = "_predicted"
    tasks = tuple(f"{name.removesuffix(ends)}_" for name in rest if name.endswith(ends))
    return first == "sample" and bool(tasks) and all(name.startswith(tasks) for name in rest)


def _is_scores(path: Path) -> bool:
    first, *rest = _header(path)
    numbered = [f"factor{k + 1}" for k in range(len(rest))]
    return first == "sample" and bool(rest) and rest == numbered


def _header(path: Path) -> list[str]:
    """Column names of a CSV or Parquet file, or of a Zarr group that has them as an attribute."""
    if path.is_dir():
        found = json.loads((path / "zarr.json").read_text("utf-8"))
        return list(found.get("attributes", {}).get("columns", []))
    if path.suffix.lower() in PARQUET:
        from rankfactor.data.opening import need

        return list(need("pyarrow.parquet", extra="parquet", path=path).read_schema(path).names)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), [])


MODEL = Kind("a model file", _is_model)
REPORT = marked("a report of rankfactor", b'<meta name="generator" content="rankfactor ')
PREDICTIONS = Kind("a table of `rankfactor predict`", _is_predictions)
SCORES = Kind("a table of scores of `rankfactor predict`", _is_scores)
EXPLANATIONS = table_of(
    "a table of `rankfactor explain`", "sample", "task", "class", "decision", "base"
)
FOLDS = table_of("a table of folds", "model", "task", "repeat", "fold")
COEFFICIENTS = table_of("a table of coefficients", "task", "class")
EFFECTS = table_of("a table of effects", "task", "class", "rank", "feature")
LEADERS = table_of("a table of leading features", "factor", "rank")
EDGES = table_of("a table of edges", "feature", "other")
SETS = table_of("a table of gene sets", "factor", "direction")
NETWORK = marked("a network of rankfactor", b"network_rule")
FIGURE = marked("a figure of rankfactor", b"Software\x00rankfactor ")
# Never replaced without --force: its owner may have added to it, which its content does not show.
EDITABLE = Kind("", lambda path: False)
# The fit itself refuses a folder that holds something else.
CHECKPOINT = dict.fromkeys(
    ("problem.zip", "stage-ascent.zip", "stage-predictive.zip"), Kind("", lambda path: True)
)
# What `rankfactor reproduce --figures` writes, whatever the data set.
FIGURES = {
    re.compile(r".+-(loadings|coefficients|network).*\.png"): FIGURE,
    re.compile(r"(recovery|stress)\.png"): FIGURE,
    re.compile(r".+-network\.graphml"): NETWORK,
    re.compile(r".+-coefficients\.csv"): COEFFICIENTS,
    re.compile(r".+-top-\d+\.csv"): LEADERS,
    re.compile(r".+-network\.csv"): EDGES,
    re.compile(r".+-enrichment\.csv"): SETS,
}


def figures_in(option: str, folder: Path | None) -> list[Output]:
    """Files in a folder that could be in the way of figures."""
    names = sorted(one.name for one in folder.iterdir()) if folder and folder.is_dir() else []
    kinds = {
        name: kind for name in names for pattern, kind in FIGURES.items() if pattern.fullmatch(name)
    }
    return in_folder(option, folder, kinds)
