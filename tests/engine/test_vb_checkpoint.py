"""Variational fits that were killed and resumed agree with uninterrupted ones, to tolerance.

The ELBO of the ascent agrees to five times the tolerance at which it ends (2e-4 of itself), that of
predictive training to 1 %: leaving out one iteration of its start changes it by 0.1 %.
"""

from __future__ import annotations

import errno
import os
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.damage import flip, truncate
from tests.engine.test_checkpoint import Watch, assert_same
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, InputError, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine import fitting as whole_fit
from rankfactor.engine import vb
from rankfactor.evaluation import cross_validate
from rankfactor.likelihoods import DATA_LIKELIHOODS
from rankfactor.shrinkage import SHRINKAGE, TPBN
from rankfactor.storage import stages
from rankfactor.storage.archive import Format, write_tree

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SIMULATED = simulate(n=120, d=45)
X, Y = with_holes(SIMULATED.X), SIMULATED.y
FORMAT = Format("rankfactor stage 1", "checkpoint", "write it again")
ASCENT, PREDICTIVE = 1e-3, 1e-2  # agreement of the ELBO, of itself


class KilledError(Exception):
    """In place of kill -9."""


@pytest.fixture
def dies(monkeypatch):
    """A function that sets after how many writes, one per iteration, a fit dies."""
    write, after = stages.StageFile.write, [np.inf]

    def writing(self):
        pending = self._pending is not None
        write(self)
        after[0] -= pending
        if after[0] <= 0:
            raise KilledError

    monkeypatch.setattr(stages, "ITERATIONS", 1)
    monkeypatch.setattr(stages, "SHARE", 0.0)
    monkeypatch.setattr(stages.StageFile, "write", writing)

    def set_death(writes=np.inf):
        after[0] = writes

    return set_death


def estimator(folder=None, *, supervised=True, **arguments):
    usual = {"n_factors": 3, "margin": 0.05, "random_state": 0, "n_threads": 1}
    if not supervised:
        return RankFactorAnalysis(checkpoint=folder, **usual | arguments)
    return RankFactorClassifier(checkpoint=folder, **usual | {"training": "bayes"} | arguments)


def fitted(folder=None, **arguments):
    model = estimator(folder, **arguments)
    return model.fit(X, Y) if isinstance(model, RankFactorClassifier) else model.fit(X)


def answers(model):
    """Decisions, or scores on the first factor without labels."""
    return model.decision_function(X) if hasattr(model, "coef_") else model.transform(X)[:, 0]


class Count:
    """Counts the iterations of a fit."""

    def __init__(self):
        self.done = []

    def __call__(self, iteration, elbo, change):
        self.done.append(iteration)


BLOCKS = ["a"] * 20 + ["b"] * 25
CASES = {
    **{f"likelihood {name}": {"likelihood": name} for name in DATA_LIKELIHOODS},
    **{f"shrinkage {name}": {"shrinkage": name} for name in SHRINKAGE},
    "label-free": {"training": "label-free"},
    "no labels": {"supervised": False},
    "blocks": {"blocks": BLOCKS, "likelihood": {"a": "gaussian", "b": "ordinary_rank"}},
    "mixture": {"model": "R-NL-BSVM", "experts": "per_component", "n_components": 3},
    "restarts": {"n_restarts": 3},
    "predictive": {"training": "predictive"},
    "mixed": {"training": "predictive", "model": "R-NL-BSVM", "experts": "mixed"},
}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick_cases("likelihood margin_rank-0.5", "mixture-0.1", "predictive-0.9")
def test_a_fit_that_dies_is_resumed(case, share, dies, tmp_path):
    arguments, count = CASES[case], Count()
    whole = fitted(progress=count, **arguments)
    total = len(count.done)
    dies(max(int(share * total), 2))
    with pytest.raises(KilledError):
        fitted(tmp_path, **arguments)
    dies()
    count = Count()
    resumed = fitted(tmp_path, progress=count, **arguments)
    predictive = arguments.get("training") == "predictive"
    # It does not begin again; it may need some iterations more than it had left.
    assert len(count.done) < total * (1 - share) + (12 if predictive else 6)
    if case != "restarts":
        assert count.done[0] > 1 or share < 0.9
    assert_allclose(resumed.elbo_, whole.elbo_, rtol=PREDICTIVE if predictive else ASCENT)
    if case == "likelihood neighbour_rank":
        return  # its scores collapse, and decisions are zero but for rounding
    one, other = answers(resumed), answers(whole)
    assert abs(np.corrcoef(one, other)[0, 1]) > (0.998 if predictive else 0.999)


@pytest.mark.parametrize("case", ["shrinkage tpbn", "mixture", "predictive", "restarts"])
@pytest.mark.quick_cases("shrinkage tpbn", "predictive")
def test_a_fit_that_has_ended_is_not_repeated(case, tmp_path):
    first = fitted(tmp_path, **CASES[case])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    count = Count()
    again = fitted(tmp_path, progress=count, **CASES[case])
    assert count.done == []
    assert_array_equal(again.posterior_.elbo, first.posterior_.elbo)
    assert str(again.convergence_) == str(first.convergence_)
    assert_allclose(again.loadings_, first.loadings_, rtol=1e-6, atol=1e-9)
    assert_allclose(answers(again), answers(first), rtol=1e-6, atol=1e-6)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_the_checkpoint_changes_nothing(tmp_path):
    plain, kept = fitted(), fitted(tmp_path)
    assert_array_equal(kept.loadings_, plain.loadings_)
    assert_array_equal(answers(kept), answers(plain))


def test_scores_are_not_written(tmp_path):
    fitted(tmp_path, model="R-NL-BSVM", experts="per_component", n_components=4)
    with zipfile.ZipFile(tmp_path / "stage-ascent.zip") as file:
        shapes = [np.load(file.open(name)).shape for name in file.namelist() if ".npy" in name]
    assert max(map(np.size, [np.empty(shape) for shape in shapes])) > 0
    assert not any(len(X) in shape for shape in shapes)


def test_more_iterations_go_on(tmp_path):
    fitted(tmp_path, max_iter=5)
    count = Count()
    longer = fitted(tmp_path, progress=count)
    assert count.done[0] == 6
    assert_allclose(longer.elbo_, fitted().elbo_, rtol=ASCENT)
    count = Count()
    finer = fitted(tmp_path, progress=count, tol=1e-6)
    assert count.done[0] == longer.n_iter_ + 1
    assert finer.elbo_ > longer.elbo_


@pytest.mark.parametrize("after", [4, 12])
def test_ctrl_c_writes_the_last_complete_iteration(after, tmp_path):
    def stop(iteration, elbo, change):
        if iteration == after:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        kept = fitted(tmp_path, progress=stop)
    assert kept.n_iter_ == after
    count = Count()
    resumed = fitted(tmp_path, progress=count)
    assert count.done[0] == after + 1
    assert_array_equal(resumed.posterior_.elbo[: after + 1], kept.posterior_.elbo)
    assert resumed.converged_
    assert_allclose(resumed.elbo_, fitted().elbo_, rtol=ASCENT)


@pytest.mark.parametrize("writes", [3, 40])
def test_large_tables_begin_small(writes, dies, tmp_path, monkeypatch):
    monkeypatch.setattr(vb, "LARGE", 100)
    monkeypatch.setattr(vb, "SMALL", 60)
    whole, starts = fitted(), []
    begin = vb._begin_small
    monkeypatch.setattr(vb, "_begin_small", lambda *given: starts.append(1) or begin(*given))
    dies(writes)
    with pytest.raises(KilledError):
        fitted(tmp_path)
    dies()
    resumed = fitted(tmp_path)
    assert_allclose(resumed.elbo_, whole.elbo_, rtol=ASCENT)
    assert np.corrcoef(answers(resumed), answers(whole))[0, 1] > 0.999
    assert len(starts) == (2 if writes == 3 else 1)


def test_a_kernel_that_is_not_kept_has_a_second_ascent(dies, tmp_path, monkeypatch):
    monkeypatch.setattr(whole_fit, "gains", lambda *given: False)
    few = X[:, :30]  # so few features are fitted jointly with the labels

    def model(folder=None, **more):
        given = {"model": "R-NL-BSVM", "training": "auto", **more}
        return estimator(folder, **given).fit(few, Y)

    whole, count = model(), Count()
    dies(60)
    with pytest.raises(KilledError):
        model(tmp_path)
    assert (tmp_path / "stage-linear-ascent.zip").exists()
    dies()
    resumed = model(tmp_path, progress=count)
    assert count.done[0] > 1
    assert resumed.posterior_.training == whole.posterior_.training == "bayes"
    assert_allclose(resumed.elbo_, whole.elbo_, rtol=ASCENT)
    assert np.corrcoef(resumed.decision_function(few), whole.decision_function(few))[0, 1] > 0.999


SHORT = Gibbs(n_draws=10, burn_in=4, n_chains=2, n_predict=3, checkpoint_every=5)


@pytest.mark.parametrize("after", [1, 8, 20])
@pytest.mark.quick_cases("8")
def test_gibbs_sampling_resumes_start_and_chains(after, tmp_path):
    whole = fitted(tmp_path / "whole", engine=SHORT)
    with pytest.raises(MemoryError):
        fitted(tmp_path / "a", engine=SHORT, progress=Watch(after, MemoryError))
    count = Count()
    resumed = fitted(tmp_path / "a", engine=SHORT, progress=count)
    # One thread runs one chain after another, so some chains had not begun.
    assert len(count.done) <= 28
    assert_same(resumed, whole)
    assert (tmp_path / "a" / "problem.zip").exists()


def test_chains_can_have_a_folder_of_their_own(tmp_path):
    engine = Gibbs(n_draws=3, burn_in=1, n_chains=1, checkpoint=tmp_path / "chains")
    fitted(tmp_path / "start", engine=engine)
    assert {path.name for path in (tmp_path / "start").iterdir()} == {"stage-ascent.zip"}
    assert not list((tmp_path / "chains").glob("stage-*"))


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """The checkpoint folder of a finished fit."""
    folder = tmp_path_factory.mktemp("used")
    fitted(folder, training="predictive")
    return folder


OTHER = {
    "seed": ({"random_state": 1}, "random_state differs"),
    "factors": ({"n_factors": 4}, "n_factors is 3 there and 4 here"),
    "part": ({"likelihood": "gaussian"}, "part of data is 'margin_rank' there and 'gaussian' here"),
    "prior": ({"shrinkage": TPBN(r=1.0)}, "r of loading_shrinkage is 0.5 there and 1.0 here"),
    "weights": ({"class_weight": "balanced"}, "the labels or their weights differ"),
    "training": ({"training": "bayes"}, "training is 'predictive' there and 'bayes' here"),
    "restarts": ({"n_restarts": 2}, "n_restarts is 1 there and 2 here"),
    "weight": ({"label_weight": 1.0}, "label_weight is 3.0 there and 1.0 here"),
}


@pytest.mark.parametrize("case", OTHER)
def test_another_problem_is_refused(case, used):
    arguments, message = OTHER[case]
    before = {path.name: path.read_bytes() for path in used.iterdir()}
    with pytest.raises(InputError, match="contains a checkpoint of another problem") as caught:
        fitted(used, **{"training": "predictive", **arguments})
    assert f"({message})" in str(caught.value)
    assert "choose another folder, or remove it" in str(caught.value)
    assert before == {path.name: path.read_bytes() for path in used.iterdir()}


def test_another_table_is_refused_before_any_work(used):
    changed, count = X.copy(), Count()
    changed[3, 4] = 1e6
    model = estimator(used, training="predictive", progress=count)
    with pytest.raises(InputError, match=r"\(the table differs\)"):
        model.fit(changed, Y)
    with pytest.raises(InputError, match=r"\(the labels or their weights differ\)"):
        model.fit(X, 1 - Y)
    assert not count.done


@pytest.mark.parametrize("name", ["stage-ascent.zip", "stage-predictive.zip"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "empty"])
def test_damaged_files_are_refused(name, damage, used, tmp_path):
    shutil.copytree(used, tmp_path, dirs_exist_ok=True)
    path = tmp_path / name
    if damage == "truncated":
        truncate(path)
    elif damage == "flipped":
        flip(path)
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        problem = stages.read_header(path, FORMAT)["problem"]
        write_tree(path, FORMAT, {"something": "else"}, problem=problem)
    with pytest.raises(InputError, match=r"is damaged|is not a rankfactor stage") as caught:
        fitted(tmp_path, training="predictive")
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_a_disk_that_fills_costs_the_checkpoint_and_not_the_fit(training, tmp_path, monkeypatch):
    plain = fitted(training=training)

    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stages, "ITERATIONS", 1)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.warns(UserWarning, match="the fit continues without it") as told:
            kept = fitted(tmp_path, training=training)
    ours = [str(one.message) for one in told if "checkpoint" in str(one.message)]
    assert len(ours) == (1 if training == "bayes" else 2)  # once a stage
    assert str(tmp_path) in ours[0]
    assert "No space left on device" in ours[0]
    assert not list(tmp_path.iterdir())
    assert_array_equal(kept.loadings_, plain.loadings_)


def test_settings(tmp_path):
    with pytest.raises(InputError, match="checkpoint must be the path of a folder or None, not 3"):
        fitted(3)
    for engine in ("vb", "gibbs"):
        with pytest.raises(InputError, match="set random_state to a whole number"):
            fitted(tmp_path, random_state=None, engine=engine)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        fitted(file)


def test_fits_to_some_of_the_samples_have_no_checkpoint(tmp_path):
    model = estimator(tmp_path / "a", n_factors=2, max_iter=3, calibration="none")
    cross_validate({"it": model}, pd.DataFrame(X), pd.DataFrame({"y": Y}), n_folds=2)
    assert not (tmp_path / "a").exists()


@pytest.mark.slow
def test_a_label_weight_is_chosen_without_the_checkpoint(tmp_path):
    given = {"training": "predictive", "label_weight": "auto", "calibration": "none"}
    first = fitted(tmp_path, **given)
    again = fitted(tmp_path, **given)
    assert_array_equal(again.posterior_.elbo, first.posterior_.elbo)
