"""Every law that scales are drawn from is the conditional of the joint density: no draws compared.

A law p(x | rest) is right if and only if log p(x | rest) - log p(x' | rest) equals the difference
of the log joint density at x and x', all else the same. That is checked to rounding, for every step
of an update in its order, at states over many orders of magnitude.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.engine.test_expansion import K, draw_scales, log_density
from tests.shrinkage import wrong
from tests.shrinkage.test_tpbn import log_without_eta

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.horseshoe import HorseshoePrecision
from rankfactor.laws.point import Point, settle
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD, multiplicative_gamma, tpbn
from rankfactor.shrinkage import normal as normal_ard

ROWS = 4
CASES = {
    "horseshoe": (tpbn, TPBN(), ("xi", "eta", "phi", "top")),
    "horseshoe by row": (tpbn, TPBN(scope="row"), ("xi", "eta", "phi", "top")),
    "horseshoe with a slab": (tpbn, TPBN(slab=0.7), ("xi", "eta", "phi", "top")),
    "other shapes": (tpbn, TPBN(1.3, 0.7), ("xi", "eta", "phi", "top")),
    "other shapes by row": (tpbn, TPBN(0.8, 1.5, "row"), ("xi", "eta", "phi", "top")),
    "multiplicative gamma": (multiplicative_gamma, MultiplicativeGamma(), ("phi", "delta")),
    "normal": (normal_ard, NormalARD(2.0, 3.0), ("alpha",)),
    "normal by row": (normal_ard, NormalARD(2.0, 3.0, "row"), ("alpha",)),
}


def widened(scales, power):
    """Scales to a power: values that lie many orders of magnitude apart."""
    changed = {}
    for one in fields(scales):
        value = getattr(scales, one.name)
        if isinstance(value, Point):
            changed[one.name] = Point(value.mean**power)
        elif isinstance(value, np.ndarray):
            changed[one.name] = value**power
    return replace(scales, **changed)


def log_law(law, x):
    """Log density of a law, up to a constant."""
    if isinstance(law, Gamma):
        return (law.shape - 1) * np.log(x) - law.rate * x
    if isinstance(law, HorseshoePrecision):
        return -law.x * x - np.log1p(x)
    return (law.p - 1) * np.log(x) - 0.5 * (law.a * x + law.b / x)


def with_value(scales, name, value):
    """Scales with new values of one variable."""
    if name == "xi":
        return replace(scales, xi=value, inv_xi=1.0 / value)
    return replace(scales, **{name: Point(value)})


def departures(case, power, fault=None, seed=0):
    """By variable: largest difference of log ratios, law against joint density."""
    module, prior, _ = CASES[case]
    rng = np.random.default_rng(seed)
    start = widened(draw_scales(rng, prior, ROWS), power)
    a = rng.standard_normal((ROWS, K)) * np.exp(rng.standard_normal((ROWS, K))) ** power
    now, found = start, {}

    def record(law, stream, *labels):
        nonlocal now
        name = labels[0]
        drawn = settle(law, stream, *labels)
        # The horseshoe draws t = phi / xi, without eta.
        precisions = name == "xi" and prior.is_horseshoe
        phi = now.phi.mean if precisions else 1.0

        def log_joint(values):
            if precisions:
                given = {"xi": phi / values, "phi": phi, "top": now.top.mean}
                return log_without_eta(prior, a, given) + np.log(phi / values**2).sum()
            if name == "delta":
                values = np.where(np.arange(K) == labels[1], values, now.delta.mean)
            return log_density(prior, a, with_value(now, name, values))

        x = drawn.mean
        for index in {(0,) * x.ndim, (-1,) * x.ndim}:
            for factor in (0.3, 4.0):
                other = x.copy()
                other[index] *= factor
                by_law = (log_law(law, other) - log_law(law, x))[index]
                joint = log_joint(other), log_joint(x)
                error = abs(by_law - (joint[0] - joint[1])) / (1.0 + 1e-7 * abs(joint[1]))
                found[name] = max(error, found.get(name, 0.0))
        if precisions:
            now = with_value(now, name, phi / x)
        elif name == "delta":
            now = with_value(now, name, np.where(np.arange(K) == labels[1], x, now.delta.mean))
        else:
            now = with_value(now, name, x)
        return drawn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrong, "settle", record)
        wrong.replace_settle(patch, module, wrong.off_by_half(fault))
        prior.update(start, a**2, Stream.from_seed(seed))
    return found


@pytest.mark.parametrize("power", [1.0, 3.0])
@pytest.mark.parametrize("case", CASES)
def test_laws_are_conditionals_of_the_joint_density(case, power):
    found = departures(case, power)
    assert set(found) == set(CASES[case][2])
    assert max(found.values()) < 1e-6


@pytest.mark.parametrize(("case", "fault"), [(c, name) for c in CASES for name in CASES[c][2]])
def test_a_shape_off_by_half_is_found(case, fault):
    found = departures(case, 1.0, fault)
    assert [name for name, error in found.items() if error > 1e-6] == [fault]
