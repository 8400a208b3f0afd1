"""The likelihood that CONTRIBUTING shows: it fits, by both engines, and can be saved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from examples.student_t import StudentT
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from tests.engine.test_vb import labels_of, run
from tests.likelihoods import test_all
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.errors import InputError
from rankfactor.interpret.sentences import methods
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import BareColumns
from rankfactor.likelihoods import DATA_LIKELIHOODS, DataLikelihood, Gaussian, Hinge, Tile
from rankfactor.likelihoods.gaussian import Noise
from rankfactor.model import Model
from rankfactor.steps.workers import Workers
from rankfactor.storage.model_file import load_model, save_model

# It joins the library's own when its file is imported, and stays there for these tests only: others
# go through all that there are.
del DataLikelihood.members["student_t"], DATA_LIKELIHOODS["student_t"]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for table in (DataLikelihood.members, DATA_LIKELIHOODS):
        monkeypatch.setitem(table, "student_t", StudentT)


@pytest.fixture(scope="module")
def data():
    """A table with outliers and missing values."""
    simulated = simulate(n=60, d=12, seed=3)
    X = with_holes(simulated.X)
    for i in range(0, 12, 3):  # other samples in every feature, so that no factor explains them
        X[[i + 2, i + 20, i + 40], i] += [25.0, -30.0, 40.0]
    return simulated, X


@pytest.fixture
def case():
    """As the tests of all likelihoods have it."""
    rng = np.random.default_rng(0)
    observed, params = test_all.observations("gaussian", rng)
    shape = observed.shape
    return StudentT(), observed, params, rng.standard_normal(shape), 0.1 + rng.random(shape)


@pytest.mark.parametrize(
    "check",
    [
        test_all.test_sites_are_the_gradient_of_the_bound,
        test_all.test_missing_entry_is_the_zero_site,
        test_all.test_statistics_are_additive_over_samples,
    ],
)
def test_it_keeps_the_contract_of_all_likelihoods(case, check):
    check(case)


def test_without_uncertainty_the_bound_is_the_density():
    x = np.array([[0.3, -4.0, np.nan]])
    w, t = np.array([[0.1, 0.2, 0.3]]), np.array([2.5])
    params = Noise(t, np.ones(1), t, np.log(t))
    likelihood = StudentT(freedom=3.0)
    design = BareColumns(np.ones((3, 1)), np.zeros((3, 1)))
    found = likelihood.bound(
        likelihood.statistics(Tile(x, w, np.zeros((1, 3)), params), design),
        Normal.isotropic(np.zeros((1, 1)), 1.0),
        params,
    )
    law = stats.t(3.0, loc=w[0, :2], scale=t**-0.5)
    assert_allclose(found, law.logpdf(x[0, :2]).sum())


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("labelled", [True, False])
def test_its_elbo_never_decreases(data, labelled):
    simulated, X = data
    model = Model(3, StudentT(), Hinge() if labelled else None)
    labels = labels_of(simulated, "binary") if labelled else None
    elbo = run(model, X, labels, max_iter=25, tol=0.0).history.elbo
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-10
    assert elbo[-1] > elbo[0]


def fitted(data, likelihood, engine="vb", **settings):
    simulated, X = data
    model = RankFactorClassifier(
        likelihood=likelihood, engine=engine, n_factors=3, max_iter=15, random_state=0, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, simulated.y)


@pytest.mark.slow
def test_the_engines_agree_and_outliers_weigh_less(data):
    by_vb = fitted(data, StudentT(), training="bayes").posterior_
    engine = Gibbs(n_draws=60, burn_in=20, n_chains=1)
    by_gibbs = fitted(data, StudentT(), engine, training="bayes").posterior_
    assert np.isfinite(by_gibbs.draws.log_likelihood).all()
    one, other = (p.params.precision for p in (by_vb, by_gibbs))
    assert np.corrcoef(np.log(one), np.log(other))[0, 1] > 0.9
    hit = np.zeros(12, bool)
    hit[::3] = True
    gaussian = fitted(data, Gaussian(), training="bayes").posterior_
    # Features with outliers have a larger precision than a Gaussian gives them.
    assert (one[hit] > 2 * gaussian.params.precision[hit]).all()


def test_one_file_is_enough_to_name_save_and_report_it(data, tmp_path):
    model = fitted(data, "student_t")  # predictive training
    assert_array_equal(fitted(data, StudentT()).loadings_, model.loadings_)
    assert DATA_LIKELIHOODS["student_t"] is StudentT
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    assert loaded.model.data == StudentT()
    X = data[1]
    found, expected = (p.decide(X, Workers())[0] for p in (loaded, model.posterior_))
    assert_array_equal(found, expected)
    assert "seen through a Student t likelihood with shape = 0.01" in methods(loaded, None)[0]


def test_its_draws_have_names_and_its_chains_checkpoints(data, tmp_path):
    draws = {"n_draws": 8, "burn_in": 4, "n_chains": 1}
    by_name = {"engine": Gibbs(**draws), "training": "bayes"}
    whole = fitted(data, "student_t", **by_name)
    assert set(whole.posterior_.draws.params[0].named()) == {"noise_precision"}
    folder = tmp_path / "chains"
    saving = Gibbs(**draws, checkpoint=str(folder), checkpoint_every=3)
    for _ in range(2):  # once from the start, once from the files
        again = fitted(data, "student_t", engine=saving, training="bayes")
        assert_array_equal(again.posterior_.draws.loadings, whole.posterior_.draws.loadings)


def test_hyper_parameters_out_of_range():
    with pytest.raises(InputError, match="freedom must be a positive number"):
        StudentT(freedom=0.0)
