import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.simulate import simulate, with_holes

from rankfactor.engine import start
from rankfactor.likelihoods import Gaussian, MarginRank
from rankfactor.steps.workers import Workers


def scores_of(X, part):
    return part.normal_scores(part.learn(X).observe(X))


@pytest.mark.parametrize("part", [MarginRank(), Gaussian()])
@pytest.mark.parametrize(("n", "d"), [(60, 25), (25, 60)])
@pytest.mark.parametrize("exact_side", [1000, 1])
def test_components_are_those_of_the_singular_values(part, n, d, exact_side, monkeypatch):
    monkeypatch.setattr(start, "EXACT_SIDE", exact_side)
    scores = scores_of(with_holes(simulate(n, d, k=3, noise=0.2).X), part)
    dense = scores.tile(slice(0, d), slice(0, n))
    loadings, factors = start.principal_components(scores, 3, np.random.default_rng(0), Workers())
    u, s, vt = np.linalg.svd(dense, full_matrices=False)
    assert_allclose(loadings @ factors.T, (u[:, :3] * s[:3]) @ vt[:3], atol=1e-5)
    assert_allclose(factors.T @ factors / n, np.eye(3), atol=1e-6)


def test_more_factors_than_features_start_as_noise():
    scores = scores_of(simulate(30, 4).X, MarginRank())
    loadings, factors = start.principal_components(scores, 7, np.random.default_rng(0), Workers())
    assert loadings.shape == (4, 7)
    assert factors.shape == (30, 7)
    assert np.abs(loadings[:, 4:]).max() < 0.1
    assert np.isfinite(factors).all()


def test_start_follows_a_permutation():
    X = simulate(80, 20, k=3, noise=0.2).X
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(80), rng.permutation(20)
    one = start.principal_components(scores_of(X, MarginRank()), 3, rng, Workers())
    two = start.principal_components(
        scores_of(X[rows][:, columns], MarginRank()), 3, rng, Workers()
    )
    assert_allclose(two[0], one[0][columns], atol=1e-8)
    assert_allclose(two[1], one[1][rows], atol=1e-8)
