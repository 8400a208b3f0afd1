import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from tests import reference

from rankfactor.kernels.packed import pack, unpack
from rankfactor.laws.normal import Normal, product_moments


def law(n, order, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, order, order + 2))
    return Normal.from_natural(pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((n, order)))


def test_entropy():
    rows = law(3, 4)
    expected = sum(multivariate_normal(cov=c).entropy() for c in unpack(rows.cov))
    assert_allclose(rows.entropy(), expected)


def test_product_moments_agree_with_the_definition():
    a, z = law(6, 4, 1), law(5, 4, 2)
    w, var_w = product_moments(a, z, True)
    slow = reference.product_moments(a.mean, unpack(a.cov), z.mean, unpack(z.cov))
    assert_allclose(w, slow[0])
    assert_allclose(var_w, slow[1], rtol=1e-9)


def test_reordered_permutes_and_flips_moments():
    rows = law(3, 4)
    order, sign = np.array([2, 0, 3, 1]), np.array([1.0, -1.0, -1.0, 1.0])
    turned = rows.reordered(order, sign)
    assert_allclose(turned.mean, rows.mean[:, order] * sign)
    full = unpack(rows.cov)[:, order][:, :, order] * np.outer(sign, sign)
    assert_allclose(unpack(turned.cov), full)


def test_nearly_singular_precision_still_gives_a_law():
    column = np.array([[1.0, 1e-3, 1e-6]])
    precision = pack(column[:, :, None] * column[:, None, :] * 1e8)
    rows = Normal.from_natural(precision, np.zeros((1, 3)))
    assert np.isfinite(rows.cov).all()
    assert np.isfinite(rows.log_det).all()
