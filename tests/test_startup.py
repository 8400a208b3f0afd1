"""Startup is light: names are imported on first use, with the same result."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import rankfactor
import rankfactor.estimators
import rankfactor.interpret

SOURCE = Path(__file__).parents[1] / "src"
HEAVY = ("numba", "sklearn", "matplotlib", "scipy.stats", "pandas")
# What a fit or a prediction of a small table on the command line has no use for.
UNUSED = (
    "sklearn",
    "joblib",
    "matplotlib",
    "scipy.stats",
    "scipy.optimize",
    "scipy.fft",
    "asyncio",
)


def printed_by(code: str, **variables: str) -> str:
    """Output of a separate Python process with the given environment variables."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return run.stdout.strip()


HELP = (
    "from typer.testing import CliRunner; from rankfactor.cli import app; "
    "assert all(CliRunner().invoke(app, [*c, '--help']).exit_code == 0 "
    "for c in ([], ['demo'], ['fit'], ['predict'])); "
)


@pytest.mark.parametrize("action", ["import rankfactor; ", "import rankfactor.cli; ", HELP])
def test_nothing_heavy_is_imported(action: str) -> None:
    found = printed_by(f"{action}import sys; print([n for n in {HEAVY} if n in sys.modules])")
    assert found == "[]"


@pytest.mark.slow
def test_the_check_would_find_them() -> None:
    # An estimator and the figures need all of them: a misspelt name would be missing here, too.
    found = printed_by(
        "from rankfactor import RankFactorClassifier; import rankfactor.plots, sys; "
        f"print([n for n in {HEAVY + UNUSED} if n not in sys.modules])"
    )
    assert found == "[]"


@pytest.fixture
def small_table(tmp_path: Path) -> Path:
    """A table of 24 samples and 4 features in whole and other numbers, with a label column."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((24, 4)), columns=list("abcd"))
    table["d"] = rng.integers(9, size=24)
    table["status"] = np.where(table["a"] > 0, "ill", "well")
    table.to_csv(tmp_path / "table.csv", index_label="sample")
    return tmp_path / "table.csv"


def run(*arguments: str | Path) -> str:
    """Code that runs the command line with stderr redirected to stdout."""
    words = [str(one) for one in arguments]
    return (
        "import sys; from typer.testing import CliRunner; from rankfactor.cli import app; "
        f"result = CliRunner().invoke(app, {words}); "
        "assert result.exit_code == 0, result.output; print(result.stderr); "
    )


@pytest.mark.slow
def test_a_small_fit_and_its_predictions_import_what_they_use(small_table: Path) -> None:
    model, predicted = small_table.with_name("model.rankfactor"), small_table.with_name("out.csv")
    fit = run("fit", small_table, "--labels", "status", "--out", model, "--max-iter", "300")
    predict = run("predict", model, small_table, "--out", predicted)
    inspect = run("inspect", model) + run("inspect", small_table)
    for code in (fit, predict, inspect):
        found = printed_by(f"{code} print([n for n in {UNUSED} if n in sys.modules])")
        assert found.splitlines()[-1] == "[]", code


def test_a_table_is_inspected_without_compiled_code(small_table: Path) -> None:
    unused = (*UNUSED, "numba", "rankfactor.kernels")
    code = f"{run('inspect', small_table)} print([n for n in {unused} if n in sys.modules])"
    assert printed_by(code).splitlines()[-1] == "[]"


@pytest.mark.slow
def test_compiling_is_said_once_and_not_beside_json(small_table: Path) -> None:
    out, cache = small_table.with_name("model.rankfactor"), small_table.with_name("cache")
    fit = ("fit", small_table, "--labels", "status", "--out", out, "--n-factors", "2", "--force")
    text = "Compiling kernels, once on this machine"
    assert printed_by(run(*fit), NUMBA_CACHE_DIR=str(cache)).count(text) == 1
    assert text not in printed_by(run(*fit), NUMBA_CACHE_DIR=str(cache))
    other = small_table.with_name("other")
    assert text not in printed_by(run(*fit, "--json"), NUMBA_CACHE_DIR=str(other))


def test_every_public_name_can_be_had_and_is_listed() -> None:
    assert set(rankfactor.__all__) <= set(dir(rankfactor))
    for name in rankfactor.__all__:
        space: dict[str, object] = {}
        exec(f"from rankfactor import {name}", space)
        assert space[name] is getattr(rankfactor, name)


def test_type_checkers_see_the_same_names_from_the_same_places() -> None:
    tree = ast.parse((SOURCE / "rankfactor" / "__init__.py").read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: f"rankfactor.{home}" for name, home in rankfactor._HOMES.items()}
    assert seen == homes
    assert {*homes, "__version__"} == set(rankfactor.__all__)


@pytest.mark.parametrize("package", [rankfactor.estimators, rankfactor.interpret])
def test_packages_know_the_homes_of_their_names(package: ModuleType) -> None:
    assert set(package._HOMES) == set(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_a_wrong_name_is_refused_in_the_usual_words() -> None:
    with pytest.raises(AttributeError, match=r"^module 'rankfactor' has no attribute 'Nothing'$"):
        _ = rankfactor.Nothing
    assert not hasattr(rankfactor, "numba")
    with pytest.raises(ImportError, match="cannot import name 'Nothing' from 'rankfactor'"):
        exec("from rankfactor import Nothing")


@pytest.mark.slow
def test_a_pickled_estimator_opens_where_nothing_has_been_imported() -> None:
    text = pickle.dumps(rankfactor.RankFactorClassifier(n_factors=3))
    assert printed_by(f"import pickle; print(pickle.loads({text!r}).n_factors)") == "3"
