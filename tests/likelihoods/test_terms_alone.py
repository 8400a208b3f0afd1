"""The least that a data likelihood needs: a name, a coding and its terms."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.likelihoods import test_all
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, RankFactorClassifier, load_model, save_model
from rankfactor.laws.inverse_gaussian import InverseGaussian
from rankfactor.likelihoods.base import DataLikelihood, Sites
from rankfactor.likelihoods.gaussian import Scaling, StandardisedLikelihood
from rankfactor.likelihoods.row_arrays import FixedNoise


@pytest.fixture(scope="module")
def laplace():
    @dataclass(frozen=True)
    class Laplace(DataLikelihood[FixedNoise]):
        """Absolute deviations of unit scale: the hinge's augmentation at a margin of zero."""

        name: ClassVar[str] = "laplace"
        coding: ClassVar[type] = Scaling
        has_intercept: ClassVar[bool] = True
        uses_values: ClassVar[bool] = True

        learn = StandardisedLikelihood.learn
        normal_scores = StandardisedLikelihood.normal_scores

        def terms(self, tile):
            x, seen = np.nan_to_num(tile.observed), ~np.isnan(tile.observed)
            if tile.chance is None:
                root = np.sqrt((x - tile.w) ** 2 + tile.var_w + 1e-10)
                tau = seen / root
            else:
                root = np.abs(x - tile.w)
                tau = seen * tile.chance.draw(InverseGaussian, root)
            return Sites(tau, tau * x), -(seen * (root + np.log(2)))

    yield Laplace
    del DataLikelihood.members["laplace"], DataLikelihood.choices["laplace"]


def test_it_keeps_the_contract_of_all_likelihoods(laplace):
    rng = np.random.default_rng(0)
    observed, _ = test_all.observations("gaussian", rng)
    w, var_w = rng.standard_normal(observed.shape), 0.1 + rng.random(observed.shape)
    case = laplace(), observed, FixedNoise(np.ones(len(observed))), w, var_w
    test_all.test_sites_are_the_gradient_of_the_bound(case)
    test_all.test_missing_entry_is_the_zero_site(case)
    test_all.test_statistics_are_additive_over_samples(case)


@pytest.mark.usefixtures("laplace")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "engine", ["vb", Gibbs(n_draws=6, burn_in=3, n_chains=1)], ids=["vb", "gibbs"]
)
def test_it_is_fitted_saved_and_loaded(tmp_path, engine):
    simulated = simulate(n=40, d=8, k=2)
    model = RankFactorClassifier(
        likelihood="laplace", n_factors=2, max_iter=8, random_state=0, engine=engine
    ).fit(with_holes(simulated.X), simulated.y)
    elbo = model.posterior_.elbo
    assert elbo[-1] > elbo[0]
    loaded = load_model(save_model(model.posterior_, tmp_path / "model"))
    assert loaded.model == model.posterior_.model
    assert_array_equal(loaded.standardised_loadings, model.posterior_.standardised_loadings)
