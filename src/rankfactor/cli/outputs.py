"""Rules for replacing files: never an input, only a command's own earlier output.

A file is recognised by its content: a model or a report may be replaced by a new one, a table by a
table with the same columns. Other existing files are refused unless ``--force`` is given; an output
that is also an input is always refused.
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

_HEAD = 4096  # bytes at the beginning of a file that identify its writer


class Kind(NamedTuple):
    """A kind of output: its name in messages, and a test for earlier ones."""

    name: str  # empty if earlier ones cannot be recognised
    is_earlier: Callable[[Path], bool]  # an unreadable file never counts


class Output(NamedTuple):
    """A file that a command writes, and its option."""

    option: str
    path: Path
    kind: Kind
    in_new_folder: bool = False  # the command creates the folder if needed


def in_folder(option: str, folder: Path | None, kinds: Mapping[str, Kind]) -> list[Output]:
    """Outputs of a folder option, if given: its files by name."""
    if folder is None:
        return []
    return [Output(option, folder / name, kind, True) for name, kind in kinds.items()]


def asked(*wanted: tuple[str, Path | None, Kind]) -> list[Output]:
    """Outputs of the given options, with their paths."""
    return [Output(option, path, kind) for option, path, kind in wanted if path is not None]


def check_outputs(
    inputs: Iterable[Path | None], outputs: Sequence[Output], *, force: bool = False
) -> None:
    """Refuse outputs that would destroy something, before any work is done.

    With ``force``, existing files are replaced, except inputs.
    """
    read = [path for path in inputs if path is not None]
    for number, (option, path, kind, in_new_folder) in enumerate(outputs):
        if in_new_folder:
            check_folder(path.parent)
        if path.suffix.lower() == ZARR and path.is_dir():
            check_destinations(path.with_name(f"{path.name}.zip"))  # is the folder writable?
        elif not in_new_folder or path.parent.is_dir():
            check_destinations(path)
        for source in read:
            if same_file(path, source):
                raise InputError(
                    f"{option} would replace {path}, which is the input {source}: choose another "
                    "path."
                )
        # An output's folder cannot be another output's file.
        places = (path, path.parent) if in_new_folder else (path,)
        for other in outputs[:number]:
            if any(same_file(place, other.path) for place in places):
                raise InputError(
                    f"{other.option} and {option} would both write {other.path}: give them "
                    "different paths."
                )
        # An empty file, as created to reserve a name, contains nothing to lose.
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
    """Files named by options of the form ``FILE:COLUMN``."""
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
    """A file with a mark in its first bytes."""

    def is_earlier(path: Path) -> bool:
        with path.open("rb") as file:
            return mark in file.read(_HEAD)

    return Kind(name, is_earlier)


def _is_model(path: Path) -> bool:
    from rankfactor.storage.archive import is_archive
    from rankfactor.storage.model_file import model_header

    return is_archive(path) and bool(model_header(path))


def _is_predictions(path: Path) -> bool:
    """Whether all columns after ``sample`` belong to a predicted task."""
    first, *rest = _header(path)
    ends = "_predicted"
    tasks = tuple(f"{name.removesuffix(ends)}_" for name in rest if name.endswith(ends))
    return first == "sample" and bool(tasks) and all(name.startswith(tasks) for name in rest)


def _is_scores(path: Path) -> bool:
    first, *rest = _header(path)
    numbered = [f"factor{k + 1}" for k in range(len(rest))]
    return first == "sample" and bool(rest) and rest == numbered


def _header(path: Path) -> list[str]:
    """Column names of a CSV or Parquet file, or of a Zarr group with a ``columns`` attribute."""
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
# Never replaced without --force: the user may have added to it.
EDITABLE = Kind("", lambda path: False)
# The fit itself refuses a folder with other content.
CHECKPOINT = dict.fromkeys(
    ("problem.zip", "stage-ascent.zip", "stage-predictive.zip"), Kind("", lambda path: True)
)
# Files of `rankfactor reproduce --figures`, for any data set.
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
    """Files in a folder that figures could replace."""
    names = sorted(one.name for one in folder.iterdir()) if folder and folder.is_dir() else []
    kinds = {
        name: kind for name in names for pattern, kind in FIGURES.items() if pattern.fullmatch(name)
    }
    return in_folder(option, folder, kinds)
