"""Scales of the horseshoe drawn by one kernel, against the same draws one law at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.shrinkage.wrong import horseshoe_scales

from rankfactor.kernels.horseshoe import draw_horseshoe_scales, stretched_scales
from rankfactor.kernels.rng import Stream

SHAPES = {"columns": (7, 3, (1, 3), (1, 1)), "rows": (4, 3, (4, 1), (4, 1))}
SHAPES |= {"one row": (1, 3, (1, 1), (1, 1)), "one column": (5, 1, (1, 1), (1, 1))}


@pytest.mark.parametrize("case", SHAPES)
def test_the_kernel_is_its_slow_twin(case):
    n, order, *shared = SHAPES[case]
    rng = np.random.default_rng(0)
    for number in range(20):
        squares = np.exp(8 * rng.standard_normal((n, order)))
        phi, top = (np.exp(2 * rng.standard_normal(shape)) for shape in shared)
        given = squares, phi, top, 1e-14, Stream.from_seed(1).child(number).word
        for fast, slow in zip(draw_horseshoe_scales(*given), horseshoe_scales(*given), strict=True):
            assert_allclose(fast, slow, rtol=1e-9)


@pytest.mark.parametrize("axis", [0, 1])
def test_scales_of_stretched_rows(axis):
    rng = np.random.default_rng(2)
    xi, inv_xi, eta = rng.gamma(1.0, size=(3, 4, 2))
    u = rng.gamma(1.0, size=(2, 4)[axis])
    by = np.expand_dims(u, axis)
    found = stretched_scales(xi, inv_xi, eta, u, axis)
    for one, expected in zip(found, (xi * by, inv_xi / by, eta / by), strict=True):
        assert_allclose(one, expected, rtol=1e-14)
