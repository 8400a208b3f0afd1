"""Every method finds the factors of an easy table, from any initial axes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankfactor.experiments.factor_methods import METHODS, How, standardised, varimax
from rankfactor.experiments.simulated import Size, cosine, simulate

HOW = How(n_threads=1)
EASY = Size(n=400, d=24, n_factors=2, noise=0.4)


def test_names_have_no_comma_and_labels_differ() -> None:
    assert not any("," in name for name in METHODS)  # --models is a list with commas
    assert len({one.label for one in METHODS.values()}) == len(METHODS)
    assert {one.name for one in METHODS.values() if one.ours} == {"ranks", "gaussian", "ordinal"}
    assert {one.package for one in METHODS.values() if one.ours} == {""}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.quick_cases("ranks", "fa-varimax", "fa-oblimin", "mofa-ard")
def test_factors_are_found(name: str) -> None:
    method = METHODS[name]
    if not method.installed:
        pytest.skip(f"{method.package} is not installed")
    X, loadings = simulate(EASY, "values", 0)
    found = method.loadings(X, 2, HOW)
    assert found.shape == (24, 2)
    assert np.abs(found).max() <= 1.1  # standardised
    # Up to a rotation, which some methods leave to chance. Ranks shrink small loadings most.
    turn, *_ = np.linalg.lstsq(found, loadings)
    assert cosine(found @ turn, loadings) > (0.96 if name == "ranks" else 0.98)
    assert cosine(found, loadings) > 0.7
    if method.count is not None:
        assert method.count(X, 6, HOW) >= 2


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.quick_cases("gaussian", "fa-varimax", "mofa-ard-rotated")
def test_missing_values_are_taken(name: str) -> None:
    method = METHODS[name]
    if not method.installed:
        pytest.skip(f"{method.package} is not installed")
    X, loadings = simulate(EASY, "missing", 0)
    assert cosine(method.loadings(X, 2, HOW), loadings) > 0.7


def test_scale_does_not_matter_to_methods_that_standardise() -> None:
    X, _ = simulate(EASY, "values", 0)
    find = METHODS["fa-varimax"].loadings
    assert_allclose(find(3 + X * np.arange(1, 25), 2, HOW), find(X, 2, HOW), atol=1e-6)


def test_standardised_by_known_values() -> None:
    X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    assert_allclose(standardised(X), [[-1, 0], [1, 0], [np.nan, 0]])


def test_varimax_finds_sparse_axes_again() -> None:
    _, loadings = simulate(EASY._replace(d=100, n_factors=4), "values", 0)
    rng = np.random.default_rng(0)
    turned = loadings @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert cosine(turned, loadings) < 0.9
    back = varimax(turned)
    assert_allclose(back.T @ back, np.eye(4), atol=1e-12)
    assert cosine(turned @ back, loadings) > 0.98
