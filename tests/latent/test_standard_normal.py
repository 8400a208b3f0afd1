import numpy as np
from numpy.testing import assert_allclose

from rankfactor.kernels.packed import pack, unpack
from rankfactor.latent import StandardNormal
from rankfactor.laws.normal import Normal


def test_bound_is_minus_the_divergence():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 2, 5))
    z = Normal.from_natural(pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((3, 2)))
    cov = unpack(z.cov)
    divergence = 0.5 * sum(
        np.trace(c) + m @ m - 2 - np.linalg.slogdet(c)[1] for c, m in zip(cov, z.mean, strict=True)
    )
    assert_allclose(StandardNormal().bound(z), -divergence)


def test_natural_form_is_the_prior():
    prior = StandardNormal()
    law, whole = Normal.from_natural(*prior.natural(4, 3)), prior.law(4, 3)
    assert_allclose(law.mean, whole.mean)
    assert_allclose(law.cov, whole.cov)
    assert_allclose(prior.bound(law), 0, atol=1e-12)
