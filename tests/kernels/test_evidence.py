"""Evidence of labels with an uncertain decision, against quadrature and differences."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import log_ndtr

from rankfactor.kernels.evidence import (
    HINGE,
    PROBIT,
    evidence_slopes,
    log_evidence,
    log_lower,
    scaled_evidence,
    total_evidence,
)
from rankfactor.kernels.evidence import log_likelihood as certain_likelihood

KINDS = [(PROBIT, 1.0), (HINGE, 1.0), (HINGE, 0.3), (HINGE, 2.5)]  # and the label's weight
MEANS, VARIANCES = [-3.0, -0.4, 0.0, 0.95, 1.0, 2.0, 6.0], [1e-6, 0.04, 1.0, 9.0]
CASES = [
    (kind, side * weight, m, v)
    for (kind, weight), side, m, v in product(KINDS, (1.0, -1.0), MEANS, VARIANCES)
]


def log_likelihood(kind, signed, f):
    """Log likelihood of a label given its decision, as the model has it."""
    y = np.sign(signed)
    return log_ndtr(y * f) if kind == PROBIT else -2 * np.abs(signed) * np.maximum(0.0, 1.0 - y * f)


def integral(kind, signed, m, v):
    """Log evidence by quadrature; the hinge's corner is an end of an interval."""
    top = log_likelihood(kind, signed, m)

    def integrand(x):
        return np.exp(log_likelihood(kind, signed, m + np.sqrt(v) * x) - 0.5 * x * x - top)

    # Steep slopes shift the mass by slope sqrt(v), 15 at the most.
    corner = float(np.clip((np.sign(signed) - m) / np.sqrt(v), -30, 30))
    ends = sorted({-30.0, -10.0, 0.0, 10.0, corner, 30.0})
    parts = [
        quad(integrand, *pair, epsabs=0.0, epsrel=1e-11, limit=400)[0] for pair in pairwise(ends)
    ]
    return top + np.log(sum(parts) / np.sqrt(2 * np.pi))


@pytest.mark.parametrize(("kind", "weight"), KINDS)
def test_evidence_is_the_integral(kind, weight):
    for one, signed, m, v in CASES:
        if (one, abs(signed)) == (kind, weight):
            expected = integral(kind, signed, m, v)
            assert_allclose(log_evidence(kind, signed, m, v), expected, rtol=1e-8, atol=1e-9)


def test_slopes_are_derivatives():
    """In the mean and, by way of the heat equation, in the variance."""
    for kind, signed, m, v in CASES:
        if v < 1e-3:  # differences have no digits there
            continue
        step = 1e-3 * np.sqrt(v)
        less, here, more = (log_evidence(kind, signed, m + x, v) for x in (-step, 0.0, step))
        slope, curvature = evidence_slopes(kind, signed, m, v)
        assert_allclose(slope, (more - less) / (2 * step), rtol=1e-4, atol=1e-6)
        assert_allclose(curvature, (2 * here - less - more) / step**2, rtol=1e-3, atol=1e-5)
        ends = [log_evidence(kind, signed, m, v * x) for x in (1 - 1e-4, 1 + 1e-4)]
        in_variance = (ends[1] - ends[0]) / (2e-4 * v)
        assert_allclose(0.5 * (slope**2 - curvature), in_variance, rtol=1e-4, atol=1e-6)


def test_sides_are_mirror_images():
    for kind, signed, m, v in CASES:
        assert log_evidence(kind, signed, m, v) == log_evidence(kind, -signed, -m, v)
        one, other = evidence_slopes(kind, signed, m, v), evidence_slopes(kind, -signed, -m, v)
        assert one == (-other[0], other[1])


@pytest.mark.parametrize("v", [1e-12, 1e-4, 1.0, 1e6])
def test_far_tails(v):
    for m in (-1e4, -300.0, -30.0, 30.0, 300.0, 1e4):
        expected = log_ndtr(m / np.sqrt(1 + v))
        assert_allclose(log_evidence(PROBIT, 1.0, m, v), expected, rtol=1e-10)
        for weight in (0.3, 1.0, 2.5):
            found = log_evidence(HINGE, weight, m, v)
            assert -np.inf < found <= 1e-12
            if m + 2 * weight * v < -100 * np.sqrt(v):
                # All mass is on the slope, where the integral is that of an exponential.
                assert_allclose(found, 2 * weight * (m - 1 + weight * v), rtol=1e-9)
            if m > 100 * np.sqrt(v):
                assert_allclose(found, 0.0, atol=1e-12)


@pytest.mark.parametrize("v", [1e-4, 1.0, 1e4])
def test_slopes_are_finite_in_far_tails(v):
    for (kind, weight), m in product(KINDS, (-1e3, -30.0, 0.0, 30.0, 1e3)):
        slope, curvature = evidence_slopes(kind, weight, m, v)
        assert np.isfinite([slope, curvature]).all()
        assert 0.0 <= slope <= (np.inf if kind == PROBIT else 2 * weight)
    assert_allclose(evidence_slopes(HINGE, 0.7, -1e3, 1e-4), (1.4, 0.0), atol=1e-9)


def test_log_lower_near_and_far():
    x = np.array([-1e5, -40.0, -6.0, -1.0, -1e-9, 0.0, 1e-9, 0.7, 3.0, 9.0, 40.0])
    assert_allclose([log_lower(one) for one in x], log_ndtr(x), rtol=1e-10, atol=1e-300)


def test_total_is_the_sum():
    rng = np.random.default_rng(0)
    m, v = 2 * rng.standard_normal(40), rng.gamma(1.0, size=40)
    for kind, weight in KINDS:
        signed = weight * np.sign(rng.standard_normal(40))
        expected = sum(map(log_evidence, [kind] * 40, signed, m, v))
        assert_allclose(total_evidence(kind, signed, m, v), expected, rtol=1e-12)
    assert total_evidence(PROBIT, np.empty(0), np.empty(0), np.empty(0)) == 0.0


@pytest.mark.parametrize("kind", [PROBIT, HINGE])
def test_sums_of_many_labels_far_in_both_tails(kind):
    """Products of probabilities end in time: 400 labels of 1e-9 each, and beyond."""
    m = np.concatenate([np.linspace(-40.0, 40.0, 300), np.full(400, -5.99)])
    signed, v = np.ones(len(m)), np.full(len(m), 1e-9)
    for u in (0.7, 1.0, 2.5):
        at = [log_evidence(kind, 1.0, np.sqrt(u) * x, u * 1e-9) for x in m]
        assert_allclose(scaled_evidence(kind, signed, m, v, u), np.sum(at), rtol=1e-12)


@pytest.mark.parametrize(("kind", "weight"), KINDS)
def test_likelihood_of_certain_decisions(kind, weight):
    rng = np.random.default_rng(3)
    f, signed = 3 * rng.standard_normal((2, 30)), weight * np.sign(rng.standard_normal((2, 30)))
    signed[0, :4] = 0.0  # no labels
    seen = signed != 0
    expected = log_likelihood(kind, signed, f)[seen].sum()
    assert_allclose(certain_likelihood(kind, signed, f), expected, rtol=1e-12)
