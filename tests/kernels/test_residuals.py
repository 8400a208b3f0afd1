"""Noise precisions and sites of Gaussian features in one pass, against plain NumPy."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gamma, norm
from tests.laws.goodness import assert_fits

from rankfactor.kernels.residuals import draw_noise
from rankfactor.kernels.rng import Stream


def test_laws_and_sites():
    rng = np.random.default_rng(0)
    x, w, t = rng.standard_normal((4, 9)), rng.standard_normal((4, 9)), rng.gamma(1.0, size=4)
    x[0, 3] = x[2, :5] = x[3] = np.nan
    key = Stream.from_seed(1).word
    tau, rho, law, drawn, total = draw_noise(x, w, t, 0.3, 0.7, key, 5)
    seen = ~np.isnan(x)
    assert_allclose(law[0], 0.3 + 0.5 * seen.sum(axis=1))
    assert_allclose(law[1], 0.7 + 0.5 * np.nansum((x - w) ** 2, axis=1))
    assert_array_equal(tau, drawn[:, None] * seen)
    assert_allclose(rho, drawn[:, None] * np.nan_to_num(x))
    expected = norm.logpdf(x, w, t[:, None] ** -0.5)[seen].sum()
    assert_allclose(total, expected)
    later = draw_noise(x[2:], w[2:], t[2:], 0.3, 0.7, key, 7)
    assert_array_equal(later[3], drawn[2:])


def test_precisions_follow_their_law():
    x, n = np.array([0.4, -1.0, 2.2]), 4000
    given = np.tile(x, (n, 1)), np.zeros((n, 3)), np.ones(n), 0.3, 0.7
    drawn = draw_noise(*given, Stream.from_seed(2).word, 0)[3]
    law = gamma(0.3 + 1.5, scale=1 / (0.7 + 0.5 * (x**2).sum()))
    assert_fits(drawn, law.cdf, 1)
