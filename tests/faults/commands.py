"""The commands that faults are tried on, and what they write.

Every command has an earlier output, from a run with other settings. Whatever happens, a file is
that one or the new one, whole.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tests.simulate import simulate

ROWS = 320  # of the table that is read chunk by chunk
_FIT = ("fit", "table.csv", "--labels", "status", "--n-factors", "2", "--threads", "1")
_LARGE = ("fit", "large.csv", *_FIT[2:], "--tol", "1e-2", "--calibration", "none")
_GIBBS = ("--engine", "gibbs", "--n-draws", "12", "--burn-in", "4", "--n-chains", "2")
_PREDICTED = ("--out", "predictions.zarr", "--scores", "scores.parquet")
_MODEL = ("model.rankfactor",)
_RESULTS = ("summary.csv", "folds.csv", "predictions.csv", "result.json")
_TABLES = ("effects.csv", "loadings.csv", "factors.csv", "coefficients.csv")


class Command(NamedTuple):
    """A command, and how a run of it is continued.

    ``older`` are options of the earlier run, whose output is to be replaced, or all of it. With
    ``again`` a command that was killed goes on where it was; ``exact`` says that it then gives the
    same bits.
    """

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    older: tuple[str, ...]
    again: tuple[str, ...] | None = None
    exact: bool = True
    kept: tuple[str, ...] = ()  # folders that a run is resumed from, which belong to its settings
    begun: tuple[str, ...] = ()  # files without which it does not give the same bits


_CHECKPOINT = ("--checkpoint", "kept")
COMMANDS = {
    "fit": Command((*_FIT, *_CHECKPOINT), _MODEL, ("--seed", "1"), (), False, ("kept",)),
    "fit out of core": Command(
        (*_LARGE, "--memory", "1MB", *_CHECKPOINT), _MODEL, ("--seed", "1"), (), False, ("kept",)
    ),
    "fit by Gibbs": Command(
        (*_FIT, *_GIBBS, *_CHECKPOINT),
        _MODEL,
        ("--seed", "1"),
        (),
        True,
        ("kept",),
        ("kept/chain-0.zip", "kept/chain-1.zip"),
    ),
    "fit on a cluster": Command(
        (*_LARGE, "--cluster", "ADDRESS", *_CHECKPOINT),
        _MODEL,
        ("--seed", "1"),
        (),
        False,
        ("kept",),
    ),
    "cv": Command(
        ("cv", *_FIT[1:], "--folds", "3", "--models", "G-L-BSVM", "--out", "cv"),
        tuple(f"cv/{name}" for name in _RESULTS),
        ("--seed", "1"),
        ("--resume",),
        True,
        ("cv/folds",),
    ),
    "stability": Command(
        ("stability", *_FIT[1:], "--repeats", "4", "--out", "halves"),
        tuple(f"halves/{name}" for name in (*_TABLES, "result.json", "stability.zip")),
        ("--seed", "1"),
        ("--resume",),
        True,
        ("halves/pairs",),
    ),
    "report": Command(
        ("report", "fitted.rankfactor"), ("report.html",), ("--title", "an earlier one")
    ),
    "predict": Command(
        ("predict", "fitted.rankfactor", "table.csv", *_PREDICTED),
        ("predictions.zarr", "scores.parquet"),
        ("predict", "fitted.rankfactor", "large.csv", *_PREDICTED),
    ),
}


def prepare(folder: Path) -> None:
    """Write the tables of the commands."""
    for name, rows in (("table.csv", 60), ("large.csv", ROWS)):
        simulated = simulate(rows, 12, k=2)
        table = pd.DataFrame(simulated.X).add_prefix("f").rename(index="s{}".format)
        table.assign(status=np.where(simulated.y, "ill", "well")).rename_axis("sample").to_csv(
            folder / name
        )


def copy(source: Path, target: Path) -> Path:
    """Restore a folder."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def content(path: Path) -> Any:
    """The content of a file or folder, without times; None if it does not exist."""
    if path.is_dir():
        return {str(one.relative_to(path)): one.read_bytes() for one in _files(path)}
    if not path.exists():
        return None
    if path.suffix == ".csv":
        frame = pd.read_csv(io.BytesIO(path.read_bytes()), dtype=str)
        return frame[[name for name in frame if not name.startswith("seconds")]].to_csv()
    if path.suffix == ".json":
        told = json.loads(path.read_text("utf-8"))
        del told["files"]  # hashes of tables that have times
        return re.sub(r'"seconds[^,}]*[,}]', "", json.dumps(told))
    if path.suffix == ".rankfactor":
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            found: dict[str, Any] = {name: archive.read(name) for name in archive.namelist()}
        # A checkpoint that could not be written is a warning in the model, and changes its hash.
        header = json.loads(found.pop("header.json"))
        del header["provenance"]["warnings"], found["checksum.txt"]
        return {**found, "header": header}
    return path.read_bytes()


def _files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.rglob("*") if one.is_file())


def hidden(folder: Path) -> list[str]:
    """Parts of files that were not removed."""
    return [one.name for one in folder.rglob(".*")]
