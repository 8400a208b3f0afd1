"""Decisions at a few training samples, draw by draw: what convergence is judged by.

A probe is a training sample that is encoded without its label by the rows and parameters of a draw,
as a prediction would encode it, and decided by the draw's coefficients. Unlike single loadings or
coefficients such a decision does not depend on the order, sign, rotation or unit of the factors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.chain import Draw
from rankfactor.latent import Mixture
from rankfactor.likelihoods import Observed
from rankfactor.model import Model, ViewState
from rankfactor.posterior.draws import certain
from rankfactor.posterior.samples import evenly_spaced
from rankfactor.steps.encode import encode
from rankfactor.steps.score import ObservedView

MOST = 20  # probes
TOL, STEPS = 1e-3, 200  # of the encoding, in units of a score


def choose_probes(n_samples: int) -> NDArray[np.int64]:
    """Numbers of the training samples that are probes."""
    return evenly_spaced(n_samples, MOST)


def probe_decisions(model: Model, observed: Observed, draw: Draw) -> NDArray[np.float32] | None:
    """Decisions of every label row at the probes, shape (R, probes); None without labels."""
    if draw.coefficients is None:
        return None
    probes = choose_probes(observed.shape[1])
    item = ObservedView(
        model.data_view, observed, ViewState(certain(draw.loadings), draw.params, None)
    )
    z = encode([item], draw.prior, probes, model.n_factors, tol=TOL, max_steps=STEPS)
    rows = draw.coefficients.astype(np.float64)
    f = rows[..., :-1] @ z.mean.T + rows[..., -1:]  # (R, probes) or (R, T, probes)
    if isinstance(draw.prior, Mixture):
        f = np.einsum("rtn,nt->rn", f, draw.prior.gates(z).responsibilities(z.mean))
    return np.asarray(f, np.float32)
