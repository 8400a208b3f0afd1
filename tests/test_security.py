"""Guarantees of SECURITY.md on the code and the files it writes."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor import RankFactorAnalysis, save_model
from rankfactor.storage.scratch import Scratch

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Between the processes of one cluster, over connections that Dask makes (SECURITY.md).
CLUSTER = {"engine/large/cluster.py", "engine/large/on_worker.py"}
PICKLERS = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle"}
CALLS = {"eval", "exec", "compile", "__import__", "mktemp", "read_pickle", "to_pickle", "Memory"}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
@pytest.mark.filterwarnings("error")
def test_nothing_is_unpickled_or_evaluated(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    name = path.relative_to(ROOT / "src" / "rankfactor").as_posix()
    imported = {
        one.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for one in (
            [ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names
        )
    }
    if name == "kernels/cache.py":  # names the error of numba's own cache
        used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert {one for one in used if one.startswith("pickle.")} == {"pickle.UnpicklingError"}
        imported -= {"pickle"}
    assert not imported & PICKLERS or name in CLUSTER
    for function, call in calls(tree):
        last = function.rpartition(".")[2]
        if name == "cli/start.py" and ast.unparse(call) == "exec('')":
            continue  # runs nothing: see there
        assert function.startswith("re.") or last not in CALLS, ast.unparse(call)
        options = {one.arg: ast.unparse(one.value) for one in call.keywords}
        assert options.get("allow_pickle", "False") == "False"
        assert options.get("shell", "False") == "False"
        if function in ("np.load", "np.save", "np.savez"):
            assert options.get("allow_pickle") == "False"
        assert not re.fullmatch(r"joblib\.(dump|load|Memory)", function)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o027, 0o640)])
def test_outputs_have_the_permissions_of_umask(tmp_path: Path, mask: int, mode: int) -> None:
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 4)))
    model = RankFactorAnalysis(n_factors=1, max_iter=2, tol=1.0, random_state=0).fit(table)
    path = tmp_path / "model.rankfactor"
    before = os.umask(mask)
    try:
        save_model(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.chmod(0o600)
        save_model(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600  # a private file stays private
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_scratch_files_have_no_name(tmp_path: Path) -> None:
    array = Scratch(tmp_path).empty((3, 4), np.float64)
    assert array.shape == (3, 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_files_of_parallel_fits_are_private(tmp_path: Path) -> None:
    """joblib hands large arrays to its processes in files that only their user can read."""
    code = """
import os, stat, sys
from pathlib import Path
import joblib, numpy as np

def look(array):
    base = array
    while not isinstance(base, np.memmap) and base is not None:
        base = base.base
    path = Path(base.filename)
    return [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)]

os.umask(0o022)
modes = joblib.Parallel(n_jobs=2)(joblib.delayed(look)(np.zeros(10**6)) for _ in range(2))
assert all(file & 0o077 == 0 and folder & 0o022 == 0 for file, folder in modes), modes
"""
    path = tmp_path / "look.py"
    path.write_text(code)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_lock_has_every_dependency_in_a_version_that_will_do() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "requirements" / "ci.lock").read_text("utf-8").splitlines()
    pinned = dict(line.split("  #")[0].split("==") for line in lines if not line.startswith("#"))
    assert all("://" not in line for line in lines)
    groups = [about["dependencies"], *about["optional-dependencies"].values()]
    for need in map(requirements.Requirement, chain.from_iterable(groups)):
        if need.name != "rankfactor":
            name = re.sub(r"[-_.]+", "-", need.name).lower()
            assert need.specifier.contains(pinned[name]), str(need)
