"""Starting is light: names are imported on first use, and are none the worse for it."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import rankfactor

SOURCE = Path(__file__).parents[1] / "src"
HEAVY = ("numba", "sklearn", "matplotlib", "scipy.stats", "pandas")


def printed_by(code: str) -> str:
    """What a Python of its own prints."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
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
    # An estimator needs most of them: a misspelt name above would be missing here, too.
    found = printed_by(
        "from rankfactor import RankFactorClassifier; import rankfactor.plots, sys; "
        f"print([n for n in {HEAVY} if n not in sys.modules])"
    )
    assert found == "[]"


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
