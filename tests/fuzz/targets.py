"""What reads the files of the corpus: the library's public readers, and the command line.

A reader returns, or raises `InputError`; what it returns is looked at. A command ends with exit
code 0, or with 2 and one line that begins with "error: ".
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from tests.fuzz.corpus import DRAWS, LABELS, QUICK

from rankfactor.errors import InputError

# More lines than these on stderr are a flood: notes, warnings and the error.
MOST_LINES = 30


class WrongError(AssertionError):
    """An invalid result."""


def _check(condition: bool, what: str) -> None:
    if not condition:
        raise WrongError(what)


def _check_frame(frame: pd.DataFrame) -> None:
    _check(all(isinstance(name, str) for name in frame.index), "a sample's name is not text")
    _check(frame.index.is_unique and frame.columns.is_unique, "a name comes twice")


def read_tables(path: Path, rng: Random) -> None:
    """Read a table by one of the public readers."""
    from rankfactor.data import column_names, read_annotations, read_table
    from rankfactor.data.streams import open_stream
    from rankfactor.data.table import TableFile

    way = rng.randrange(6)
    if way == 0:
        _check(all(isinstance(name, str) for name in column_names(path)), "a name is not text")
    elif way == 1:
        _check_frame(read_annotations(path))
    elif way == 2:
        with TableFile(path, first_rows=3) as file:
            _check(len(file.table().values) <= N_ROWS, "more rows than were asked for")
    elif way == 3:
        stream = open_stream(path)
        for number, chunk in enumerate(stream.chunks(7)):
            table = getattr(chunk.table, "matrix", chunk.table)  # sparse ones have names beside it
            _check(table.shape[1] == stream.n_columns, "a chunk has other columns")
            if number > 1000:
                break
    else:
        found = read_table(path)
        _check_frame(found.values)
        _check_frame(found.annotations)
        numbers = found.values.to_numpy()
        _check(numbers.dtype == np.float64, "numbers are not of double precision")
        _check(not np.isinf(numbers).any(), "a number is infinite")
        _check(found.values.index.equals(found.annotations.index), "annotations of other samples")


N_ROWS = 10**9  # formats that are read whole have them all


def read_gene_sets(path: Path, rng: Random) -> None:
    """Read gene sets."""
    from rankfactor.interpret.genesets import read_gmt

    for name, members in read_gmt(path).items():
        _check(bool(name) and "" not in members, "a name is empty")


def read_model(path: Path, rng: Random) -> None:
    """Load a model, look at it, and predict from it."""
    from rankfactor.storage.model_file import load_model, model_header

    _check(isinstance(model_header(path), dict), "a header is no dictionary")
    posterior = load_model(path)
    names = posterior.table_features.tolist()
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((3, len(names))), columns=names)
    posterior.transform(X)
    if posterior.classifiers is not None:
        posterior.predict_proba(X)


def read_cv(path: Path, rng: Random) -> None:
    """Read a folder of cross-validation, for a report."""
    from rankfactor.cli.cv_folder import check_folder, read_folder
    from rankfactor.storage.model_file import load_model, model_header

    model = path.parents[1] / "model.rankfactor"
    folder = read_folder(path, model, "R-L-BSVM")
    check_folder(folder, model, load_model(model), model_header(model))


def read_stability_folder(path: Path, rng: Random) -> None:
    """Read a folder of stability, for a report."""
    from rankfactor.cli.stability_folder import read_stability
    from rankfactor.storage.model_file import load_model, model_header

    model = path.parents[1] / "model.rankfactor"
    read_stability(path, model, load_model(model), model_header(model))


def read_draws(path: Path, rng: Random) -> None:
    """Open a store of draws and read one of its arrays."""
    from rankfactor.storage.draw_store import open_draws

    opened = open_draws(path)["posterior"]
    names = list(opened.data_vars)
    opened[rng.choice(names)].values  # noqa: B018


def fit_again(path: Path, rng: Random) -> None:
    """Resume a fit from its checkpoint."""
    here, draws = path.parents[1], DRAWS if path.name == "chains" else ()
    run("fit", here / "both.csv", *LABELS, *QUICK, *draws, "--checkpoint", path, "--force", "--out",
        here / "again.rankfactor")  # fmt: skip


def resume_stability(path: Path, rng: Random) -> None:
    """Resume a run of half-samples."""
    run("stability", path.parents[1] / "both.csv", *LABELS, *QUICK, "--repeats", "4", "--resume",
        "--force", "--out", path)  # fmt: skip


def run(*arguments: Any) -> None:
    """Run a command and check its exit code and message."""
    from typer.testing import CliRunner

    from rankfactor.cli.program import app

    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    lines = result.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    _check(result.exit_code in (0, 2), f"exit code {result.exit_code}: {result.stderr[-500:]}")
    _check(len(errors) == (result.exit_code == 2), f"not one sentence: {result.stderr[-500:]}")
    _check(len(lines) <= MOST_LINES, f"{len(lines)} lines on stderr: {lines[:1]}")
    _check("Traceback" not in result.stderr, result.stderr[-500:])
    if result.exit_code == 0 and "--json" in arguments:
        json.loads(result.stdout)


def table_command(path: Path, rng: Random) -> None:
    """Give a table to a command."""
    here = path.parents[1]
    way = rng.randrange(4)
    if way == 0:
        run("inspect", path, "--json")
    elif way == 1:
        run("predict", here / "model.rankfactor", path, "--force", "--out", here / "predicted.csv")
    elif way == 2:
        run("fit", path, *LABELS, *QUICK, "--max-iter", "2", "--force", "--out",
            here / "new.rankfactor")  # fmt: skip
    else:
        run("fit", here / "both.csv", "--labels", f"{path}:status", *QUICK, "--max-iter", "2",
            "--force", "--out", here / "new.rankfactor")  # fmt: skip


def gene_set_command(path: Path, rng: Random) -> None:
    """Give gene sets to a command."""
    here = path.parents[1]
    run("interpret", here / "model.rankfactor", "--gmt", path, "--force", "--out",
        here / "interpretation")  # fmt: skip


def model_command(path: Path, rng: Random) -> None:
    """Give a model to a command."""
    if rng.random() < 0.5:
        run("inspect", path)
    else:
        run("predict", path, path.parents[1] / "both.csv", "--force", "--out",
            path.parents[1] / "predicted.csv")  # fmt: skip


Target = Callable[[Path, Random], None]
READERS: dict[str, Target] = {
    "table": read_tables,
    "gmt": read_gene_sets,
    "model": read_model,
    "cv": read_cv,
    "stability": read_stability_folder,
    "draws": read_draws,
    "ascent": fit_again,
    "chains": fit_again,
    "pairs": resume_stability,
}
COMMANDS: dict[str, Target] = {
    "table": table_command,
    "gmt": gene_set_command,
    "model": model_command,
}


def outcome(target: Target, path: Path, rng: Random) -> str:
    """Call a target: "value", "sentence", or what is wrong, in words."""
    import traceback

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            target(path, rng)
            found = "value"
        except InputError as error:
            text = str(error)
            found = "sentence"
            if "\n" in text or not text.strip() or len(text) > 6000:
                return f"not one sentence: {text[:500]!r}"
        except Exception:
            return traceback.format_exc()
    if len(heard) > MOST_LINES:
        return f"{len(heard)} warnings, such as {heard[0].message}"
    return found
