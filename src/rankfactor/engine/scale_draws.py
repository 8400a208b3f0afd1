"""Draws of the shrinkage scales, by name.

What a prior keeps of a draw it says itself (`rankfactor.shrinkage.base.Shrinkage.kept`). Names say
the view: ``loading_xi`` belongs to the table, ``coefficient_xi`` to the labels. Scales have no
sign, so only the order of the factors concerns them; and they belong to axes, so rows that were
rotated have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.vb import Fit
from rankfactor.latent import DPMixture, Mixture
from rankfactor.model import Model

OneDraw = dict[str, NDArray[np.float32]]
_SMALLEST, _LARGEST = np.finfo(np.float32).tiny, np.finfo(np.float32).max


@dataclass(frozen=True)
class ScaleDraws:
    """Scales at all draws that are kept.

    Attributes
    ----------
    values : dict of float32 arrays
        By name; the first dimension is the draws.
    dims : dict of tuples of str
        What the other dimensions are: ``"feature"`` or ``"row"`` (and ``"component"``),
        ``"factor"``.
    """

    values: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, values: Mapping[str, NDArray[np.float32]]) -> ScaleDraws:
        """The arrays of a model's scales, with their dimensions; there may be none."""
        dims = scale_dims(model)
        return cls(dict(values), {name: dims[name] for name in values})

    def reordered(self, order: NDArray[np.int64]) -> ScaleDraws:
        """Draws of the factors ``factor[order]``."""
        values = {
            name: value[..., order] if "factor" in self.dims[name] else value
            for name, value in self.values.items()
        }
        return ScaleDraws(values, self.dims)


def scale_dims(model: Model) -> dict[str, tuple[str, ...]]:
    """Dimensions of all scales that a model's priors keep, by name."""
    rows: tuple[str, ...] = ("feature",)
    priors = [("loading", rows, model.loading_shrinkage)]
    if model.label is not None:
        rows = ("row", "component") if isinstance(model.latent, DPMixture) else ("row",)
        priors.append(("coefficient", rows, model.coefficient_shrinkage))
    return {
        f"{prefix}_{name}": (*(rows if dims[:1] == ("row",) else dims[:1]), *dims[1:])
        for prefix, rows, prior in priors
        for name, dims in prior.kept_dims.items()
    }


def kept_scales(fit: Fit, order: NDArray[np.int64] | None = None) -> OneDraw:
    """The scales of a state, of the factors ``factor[order]``.

    Values out of the range of 32 bits take its end: a scale of 1e-38 switches its loading off as
    one of 1e-300 does. With a mixture, the rows of the labels are parted into those of its
    components.
    """
    result: OneDraw = {}
    for prefix, item in (("loading", fit.data), ("coefficient", fit.labels)):
        if item is None:
            continue
        prior = item.view.shrinkage
        for name, values in prior.kept(item.state.scales).items():
            if order is not None and "factor" in prior.kept_dims[name]:
                values = values[..., order]
            local = prefix == "coefficient" and prior.kept_dims[name][:1] == ("row",)
            if local and isinstance(fit.prior, Mixture):
                values = values.reshape(-1, fit.prior.n_components, *values.shape[1:])
            small = np.clip(values, _SMALLEST, _LARGEST).astype(np.float32)
            result[f"{prefix}_{name}"] = np.asarray(small)
    return result
