"""Draws of a decision given its label, where scores are integrated out."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.kernels.test_evidence import log_likelihood
from tests.laws.goodness import N, assert_fits, integrated_cdf

from rankfactor.errors import InputError
from rankfactor.kernels.evidence import HINGE, PROBIT
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Hinge, Probit
from rankfactor.likelihoods.base import LabelLikelihood

PARTS = {PROBIT: Probit(), HINGE: Hinge()}
CASES = [
    (PROBIT, 1.0, 0.3, 1.0),
    (PROBIT, -1.0, 0.3, 4.0),
    (PROBIT, -1.0, 6.0, 0.2),
    (PROBIT, 1.0, -30.0, 9.0),
    (PROBIT, 1.0, 2.0, 1e-8),
    (HINGE, 1.0, 0.8, 1.0),
    (HINGE, -0.4, 0.8, 1.0),
    (HINGE, 2.5, -1.0, 0.5),
    (HINGE, -1.0, 9.0, 4.0),
    (HINGE, 1.0, 4.0, 0.3),
    (HINGE, 3.0, -5.0, 25.0),
    (HINGE, -1.0, 0.5, 1e-8),
]


def draw_decision(part, signed, mean, variance, stream):
    """Decisions; of a probit, whose sampler draws f* alone, from their law given f*."""
    if isinstance(part, Hinge):
        return part.draw_decision(signed, mean, variance, stream)
    tau, rho = part.draw_sites(signed, mean, variance, stream)
    assert_array_equal(tau, 1.0)
    assert (signed * rho > 0).all()
    q, noise = variance / (1 + variance), np.random.default_rng(6).standard_normal(len(mean))
    return mean + q * (rho - mean) + np.sqrt(q) * noise


@pytest.mark.parametrize(("kind", "signed", "m", "v"), CASES)
def test_draws_fit(kind, signed, m, v):
    def log_density(x):  # of x = (f - m) / sqrt(v)
        return log_likelihood(kind, signed, m + np.sqrt(v) * x) - 0.5 * x**2

    given = np.full(N, signed), np.full(N, m), np.full(N, v)
    drawn = draw_decision(PARTS[kind], *given, Stream.from_seed(1))
    cdf = integrated_cdf(log_density, np.linspace(-45.0, 45.0, 400_001))
    assert_fits((drawn - m) / np.sqrt(v), cdf, len(CASES))


@pytest.mark.parametrize("part", PARTS.values(), ids=["probit", "hinge"])
def test_far_tails_are_finite(part):
    mean = np.array([-1e4, -50.0, 50.0, 1e4, 0.0, 0.0])
    variance = np.array([1e-12, 1e-4, 1e4, 1e-12, 1e6, 1e-12])
    for side in (1.0, -1.0):
        drawn = draw_decision(part, np.full(6, side), mean, variance, Stream.from_seed(2))
        assert np.isfinite(drawn).all()


@pytest.mark.parametrize("part", PARTS.values(), ids=["probit", "hinge"])
def test_sides_are_mirror_images_in_law(part):
    """The mean decision given y and m is minus that given -y and -m, within its error."""
    found = []
    for side in (1.0, -1.0):
        given = np.full(N, side), np.full(N, 0.4 * side), np.full(N, 2.0)
        found.append(side * draw_decision(part, *given, Stream.from_seed(3).child(int(side))))
    error = np.sqrt(sum(np.var(one) for one in found) / N)
    assert abs(found[0].mean() - found[1].mean()) < 4.5 * error


def test_which_labels_have_evidence():
    whole, parts = np.array([[1.0, -1.0, 0.0]]), np.array([[1.0, -0.5, 0.0]])
    assert Probit().evidence_kind(whole) == PROBIT
    assert Probit().evidence_kind(parts) is None
    assert Hinge().evidence_kind(whole) == Hinge().evidence_kind(parts) == HINGE


class Bare(Probit):
    """A likelihood whose author wrote no evidence."""

    evidence_kind = LabelLikelihood.evidence_kind
    draw_sites = LabelLikelihood.draw_sites


def test_without_evidence_nothing_is_integrated_out():
    assert Bare().evidence_kind(np.ones((1, 2))) is None
    with pytest.raises(InputError, match="no evidence"):
        Bare().draw_sites(np.ones(2), np.zeros(2), np.ones(2), Stream.from_seed(0))


def test_draws_are_a_function_of_the_stream():
    given = np.array([1.0, -1.0, 1.0]), np.zeros(3), np.ones(3)
    for part in PARTS.values():
        one, again, other = (part.draw_sites(*given, Stream.from_seed(i)).rho for i in (4, 4, 5))
        assert_array_equal(one, again)
        assert not (one == other).any()
