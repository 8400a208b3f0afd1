import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import gamma

from rankfactor import InputError
from rankfactor.shrinkage import NormalARD


@pytest.mark.parametrize("scope", ["factor", "row"])
def test_one_update_is_the_optimum(scope):
    """Conjugate: a second update at the same squares changes nothing."""
    squares = np.random.default_rng(0).exponential(size=(9, 4)) ** 4
    prior = NormalARD(0.7, 0.3, scope)
    scales = prior.update(prior.start(9, 4), squares)
    again = prior.update(scales, squares)
    assert_array_equal(prior.precision(scales), prior.precision(again))
    best = prior.bound(scales, squares)
    assert best > prior.bound(prior.start(9, 4), squares)
    for factor in (0.9, 1.1):
        assert prior.bound(prior.update(scales, factor * squares), squares) < best


@pytest.mark.parametrize("scope", ["factor", "row"])
def test_bound_is_the_log_evidence_of_the_squares(scope):
    """At the optimum the bound is log int p(alpha) prod_i N(a_i; 0, 1/alpha), with a^2 = E[a^2]."""
    squares = np.array([[0.8, 0.1], [0.3, 2.0], [1.7, 0.02]])
    prior = NormalARD(0.7, 0.3, scope)
    bound = prior.bound(prior.update(prior.start(3, 2), squares), squares)
    groups = squares.T if scope == "factor" else squares

    def evidence(group):
        def joint(alpha):
            likelihood = np.prod(np.sqrt(alpha / (2 * np.pi)) * np.exp(-0.5 * alpha * group))
            return gamma.pdf(alpha, 0.7, scale=1 / 0.3) * likelihood

        return quad(joint, 0, np.inf, limit=400)[0]

    assert_allclose(bound, sum(np.log(evidence(group)) for group in groups), rtol=1e-7)


def test_precision_belongs_to_columns_or_rows():
    squares = np.random.default_rng(0).exponential(size=(5, 3))
    by_factor, by_row = NormalARD(), NormalARD(scope="row")
    columns = by_factor.precision(by_factor.update(by_factor.start(5, 3), squares))
    rows = by_row.precision(by_row.update(by_row.start(5, 3), squares))
    assert columns.shape == rows.shape == (5, 3)
    assert_array_equal(columns, columns[:1].repeat(5, axis=0))
    assert_array_equal(rows, rows[:, :1].repeat(3, axis=1))
    assert_allclose(columns[0], 1 / squares.mean(axis=0), rtol=0.01)
    assert_allclose(rows[:, 0], 1 / squares.mean(axis=1), rtol=0.01)


@pytest.mark.parametrize("bad", [{"shape": 0.0}, {"rate": "much"}, {"scope": "column"}])
def test_hyper_parameters_out_of_range(bad):
    with pytest.raises(InputError, match="of NormalARD must be"):
        NormalARD(**bad)
