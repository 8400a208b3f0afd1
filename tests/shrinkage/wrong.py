"""Faults that tests of the samplers have to find."""

from __future__ import annotations

from rankfactor.laws.gamma import Gamma
from rankfactor.laws.horseshoe import HorseshoePrecision
from rankfactor.laws.point import settle


def off_by_half(name):
    """A `settle` that draws one variable from a law whose shape, or order, is 1/2 too large.

    The horseshoe's law of 1/xi has neither; there the factor 1 / (1 + t) is forgotten.
    """

    def wrong(law, stream, *labels):
        if labels[0] == name:
            if isinstance(law, Gamma):
                law = Gamma(law.shape + 0.5, law.rate)
            elif isinstance(law, HorseshoePrecision):
                law = Gamma(1.0, law.x)
            else:
                law = type(law)(law.p + 0.5, law.a, law.b)
        return settle(law, stream, *labels)

    return wrong
