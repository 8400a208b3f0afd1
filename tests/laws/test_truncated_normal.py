import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import norm, truncnorm

from rankfactor.laws.truncated_normal import OneSidedNormal


def test_mean_and_normaliser():
    m = np.array([-3.0, -0.5, 0.0, 2.0])
    above = OneSidedNormal(m, np.ones(4))
    assert_allclose(above.mean, truncnorm(-m, np.inf, loc=m).mean(), rtol=1e-9)
    assert_allclose(above.log_normaliser, norm.logcdf(m))
    below = OneSidedNormal(m, -np.ones(4))
    assert_allclose(below.mean, truncnorm(-np.inf, -m, loc=m).mean(), rtol=1e-9)


def test_far_tail_stays_right():
    # For m -> -inf the mean of the positive side is -1/m + 2/m^3 + O(m^-5).
    m = np.array([-1e3, -30.0])
    law = OneSidedNormal(m, np.ones(2))
    assert_allclose(law.mean, -1 / m + 2 / m**3, rtol=2e-5)
    assert (law.mean > 0).all()
