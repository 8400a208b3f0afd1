"""Deliberate bugs that the tests of the samplers must find, and how they are injected."""

from __future__ import annotations

import numpy as np

from rankfactor.kernels.rng import Stream, derive
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.horseshoe import HorseshoePrecision
from rankfactor.laws.point import settle
from rankfactor.shrinkage import tpbn

SOURCES = {"eta": 0, "xi": 1, "phi": 2, "top": 3}  # items of the horseshoe's key


def replace_settle(patch, module, other):
    """Draw the scales of a module's priors by another `settle`, one law after another."""
    patch.setattr(module, "settle", other)
    if module is tpbn:
        patch.setattr(tpbn, "draw_horseshoe_scales", horseshoe_scales)


def horseshoe_scales(squares, phi, top, floor, key):
    """Slow reference of `rankfactor.kernels.horseshoe.draw_horseshoe_scales`, by `tpbn.settle`."""

    class Source(Stream):
        def child(self, label):
            return Stream(int(derive(key, SOURCES[label])))

    def drawn(law, name):
        return tpbn.settle(law, Source(int(key)), name).mean

    axis = 0 if len(phi) < len(squares) or phi.shape[1] == squares.shape[1] else 1
    inv_xi = drawn(HorseshoePrecision(0.5 * np.maximum(squares, floor) / phi), "xi") / phi
    eta = drawn(Gamma(1.0, 1.0 / inv_xi + phi), "eta")
    summed = eta.sum(axis=axis, keepdims=True)
    phi = drawn(Gamma(0.5 + 0.5 * squares.shape[axis], top + summed), "phi")
    top = drawn(Gamma(0.5 + 0.5 * phi.shape[1], 1.0 + phi.sum(axis=1, keepdims=True)), "top")
    return 1.0 / inv_xi, inv_xi, eta, phi, top


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
