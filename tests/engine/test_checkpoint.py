"""Resumed chains equal uninterrupted ones, bit for bit."""

from __future__ import annotations

import dataclasses
import json
import shutil
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from tests.engine.damage import flip, truncate
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, InputError, RankFactorAnalysis, RankFactorClassifier
from rankfactor.likelihoods import DATA_LIKELIHOODS
from rankfactor.shrinkage import SHRINKAGE, TPBN
from rankfactor.storage.archive import Format, write_tree

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_draws": 12, "burn_in": 6, "n_chains": 2, "n_predict": 3, "checkpoint_every": 5}
FORMAT = Format("rankfactor checkpoint 3", "checkpoint", "write it again")
SIMULATED = simulate(n=40, d=9)
X, Y = with_holes(SIMULATED.X), SIMULATED.y


class Watch:
    """Counts the sweeps of all chains and stops them after some, like a user with Ctrl-C."""

    def __init__(self, after=np.inf, error=KeyboardInterrupt):
        self.after, self.error, self.sweeps = after, error, 0

    def __call__(self, iteration, elbo, change):
        # The iterations of the variational start come first; they have an ELBO.
        self.sweeps += np.isnan(elbo)
        if self.sweeps >= self.after:
            raise self.error


def estimator(folder=None, *, supervised=True, progress=None, engine=None, **arguments):
    usual = {"n_factors": 2, "margin": 0.05, "max_iter": 3, "random_state": 0, "n_threads": 1}
    settings = usual | arguments
    engine = Gibbs(**SHORT | (engine or {}), checkpoint=folder)
    kind = RankFactorClassifier if supervised else RankFactorAnalysis
    return kind(engine=engine, progress=progress, **settings)


def fitted(folder=None, **arguments):
    model = estimator(folder, **arguments)
    return model.fit(X, Y) if isinstance(model, RankFactorClassifier) else model.fit(X)


def interrupted(folder, after, **arguments):
    """A fit that is stopped, with or without enough draws for a result."""
    try:
        with pytest.warns(UserWarning, match="interrupted"):
            return fitted(folder, progress=Watch(after), **arguments)
    except KeyboardInterrupt:
        return None


def leaves(value, path="posterior"):
    """All arrays and plain values of nested dataclasses and dictionaries, by path."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, tuple | list):
        for number, one in enumerate(value):
            yield from leaves(one, f"{path}[{number}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{path}[{key!r}]")
    else:
        yield path, value


def assert_same(one, other):
    one, other = dict(leaves(one.posterior_)), dict(leaves(other.posterior_))
    assert one.keys() == other.keys()
    for path, value in one.items():
        assert_array_equal(value, other[path], err_msg=path)


@pytest.fixture(scope="module")
def plain():
    """A fit without a checkpoint."""
    return fitted()


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """The checkpoint folder of a finished fit."""
    folder = tmp_path_factory.mktemp("used")
    fitted(folder)
    return folder


CASES = {
    **{f"likelihood {name}": {"likelihood": name} for name in DATA_LIKELIHOODS},
    **{f"shrinkage {name}": {"shrinkage": name} for name in SHRINKAGE},
    "no labels": {"supervised": False},
    "one chain, thinned": {"engine": {"n_chains": 1, "thin": 2}},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick_cases("likelihood margin_rank", "no labels", "one chain, thinned")
def test_an_interrupted_chain_goes_on(case, tmp_path):
    folder = tmp_path / "chains"
    stopped = interrupted(folder, 13, **CASES[case])
    whole = fitted(**CASES[case])
    if stopped is not None:  # one that stopped late enough to answer, but not at the end
        assert len(stopped.posterior_.draws.chain) < len(whole.posterior_.draws.chain)
    watch = Watch()
    resumed = fitted(folder, progress=watch, **CASES[case])
    assert_same(resumed, whole)
    n_chains, thin = (1, 2) if case.startswith("one") else (2, 1)
    sweeps = n_chains * (SHORT["burn_in"] + thin * SHORT["n_draws"])
    assert watch.sweeps <= sweeps - 13  # it did not begin again


@pytest.mark.parametrize("after", [1, 8, 20])
def test_wherever_it_stops(after, plain, tmp_path):
    """In the burn-in, between two checkpoints, and again after it was resumed."""
    interrupted(tmp_path, after)
    interrupted(tmp_path, 3)
    assert_same(fitted(tmp_path), plain)


def test_a_run_that_dies_goes_on_from_the_last_checkpoint(tmp_path):
    engine = {"n_chains": 1, "n_draws": 30}
    with pytest.raises(MemoryError):
        fitted(tmp_path, progress=Watch(28, MemoryError), engine=engine)
    with zipfile.ZipFile(tmp_path / "chain-0.zip") as file:
        state = json.loads(file.read("header.json"))["tree"]["dict"]
    assert state["sweep"] == 25
    # A piece that was written, but that no state counts.
    (tmp_path / f"chain-0-draws-{state['pieces']}.zip").write_bytes(b"half")
    assert_same(fitted(tmp_path, engine=engine), fitted(engine=engine))


def test_more_draws_continue_the_chain(tmp_path):
    fitted(tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.glob("*-draws-*")}
    more = fitted(tmp_path, engine={"n_draws": 20})
    assert_same(more, fitted(engine={"n_draws": 20}))
    assert all(path.read_bytes() == content for path, content in files.items())
    watch = Watch()
    assert_same(fitted(tmp_path, engine={"n_draws": 20}, progress=watch), more)
    assert watch.sweeps == 0
    with pytest.raises(InputError, match="already contains 20 draws per chain: set n_draws to at"):
        fitted(tmp_path)


@pytest.mark.slow
def test_more_draws_than_memory_has_room_for(tmp_path):
    """A longer chain keeps fewer of the draws that a shorter one kept; twice, from its own file."""
    tight = {"memory": 0.03, "n_chains": 1}
    sizes = []
    for n_draws in (8, 20, 60):
        engine = {"n_draws": n_draws, **tight}
        resumed = fitted(tmp_path, engine=engine)
        assert_same(resumed, fitted(engine=engine))
        sizes.append(len(resumed.posterior_.draws.chain) / n_draws)
    assert sizes[0] == 1 > sizes[1] > sizes[2]
    with pytest.raises(InputError, match="fewer draws than memory=500 has room for"):
        fitted(tmp_path, engine={"n_draws": 60, "n_chains": 1})


OTHER = {
    "seed": ({"random_state": 1}, "random_state differs"),
    "factors": ({"n_factors": 3}, "n_factors is 2 there and 3 here"),
    "part": ({"likelihood": "gaussian"}, "part of data is 'margin_rank' there and 'gaussian' here"),
    "margin": ({"margin": 0.1}, "margin of data is 0.05 there and 0.1 here"),
    "prior": ({"shrinkage": TPBN(r=1.0)}, "r of loading_shrinkage is 0.5 there and 1.0 here"),
    "weights": ({"class_weight": "balanced"}, "the labels or their weights differ"),
    "no labels": ({"supervised": False}, "label differs"),
    "chains": ({"engine": {"n_chains": 3}}, "n_chains is 2 there and 3 here"),
    "burn-in": ({"engine": {"burn_in": 7}}, "burn_in is 6 there and 7 here"),
    "thin": ({"engine": {"thin": 2}}, "thin is 1 there and 2 here"),
}


@pytest.mark.parametrize("case", OTHER)
def test_another_problem_is_refused(case, used):
    arguments, message = OTHER[case]
    before = {path.name: path.read_bytes() for path in used.iterdir()}
    with pytest.raises(InputError, match="contains a checkpoint of another problem") as caught:
        fitted(used, **arguments)
    assert f"({message})" in str(caught.value)
    assert "choose another folder, or remove it" in str(caught.value)
    assert before == {path.name: path.read_bytes() for path in used.iterdir()}


def test_another_table_is_refused_before_any_work(used, plain):
    changed = X.copy()
    changed[3, 4] = 1e6
    done = []
    model = estimator(used, progress=lambda *told: done.append(told))
    with pytest.raises(InputError, match=r"\(the table differs\)"):
        model.fit(changed, Y)
    with pytest.raises(InputError, match=r"\(the labels or their weights differ\)"):
        model.fit(X, 1 - Y)
    assert not done
    # Ranks are all that is seen of this table.
    increasing = X**3 + X
    assert_array_equal(model.fit(increasing, Y).loadings_, plain.loadings_)


@pytest.mark.parametrize("name", ["problem.zip", "chain-1.zip", "chain-0-draws-0.zip"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "missing"])
def test_damaged_files_are_refused(name, damage, used, plain, tmp_path):
    shutil.copytree(used, tmp_path, dirs_exist_ok=True)
    path = tmp_path / name
    if damage == "truncated":
        truncate(path)
    elif damage == "flipped":
        flip(path)
    elif damage == "foreign":
        write_tree(path, FORMAT, {"something": "else"})
    else:
        path.unlink()
        if name == "chain-1.zip":  # a chain that was not begun when the run ended: not a fault
            assert_same(fitted(tmp_path), plain)
            return
    with pytest.raises(InputError, match="is damaged") as caught:
        fitted(tmp_path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings(tmp_path):
    for arguments, message in [
        ({"checkpoint": 3}, "checkpoint must be the path of a folder or None, not 3"),
        ({"checkpoint": ""}, "checkpoint must be the path of a folder or None, not ''"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number"),
    ]:
        with pytest.raises(InputError, match=message):
            Gibbs(**arguments)
    with pytest.raises(InputError, match="set random_state to a whole number"):
        fitted(tmp_path, random_state=None)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        fitted(file)
    assert clone(estimator(tmp_path)).engine == estimator(tmp_path).engine
