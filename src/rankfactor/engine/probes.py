"""Decisions at a few training samples, draw by draw, used to judge convergence.

A probe is a training sample that is encoded without its label by the rows and parameters of a draw,
as a prediction would encode it, and decided by the draw's coefficients. Unlike single loadings or
coefficients such a decision does not depend on the order, sign, rotation or unit of the factors.
Draws are decided by the batch, which for small tables takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.chain import Draw
from rankfactor.latent import Mixture, StandardNormal
from rankfactor.likelihoods import Observed
from rankfactor.model import Model, ViewState
from rankfactor.posterior.draws import certain
from rankfactor.posterior.samples import evenly_spaced
from rankfactor.steps.encode import encode
from rankfactor.steps.encode_draws import encode_draws
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import slices

MOST = 20  # probes
TOL, STEPS = 1e-3, 200  # of the encoding, in units of a score
# Draws encoded together, and entries of their tables, at most.
LARGEST, ENTRIES = 50, 2**16


def choose_probes(n_samples: int) -> NDArray[np.int64]:
    """Indices of the training samples used as probes."""
    return evenly_spaced(n_samples, MOST)


def batch_size(observed: Observed) -> int:
    """How many draws are worked on together."""
    n_rows, n_samples = observed.shape
    return min(LARGEST, max(ENTRIES // (n_rows * len(choose_probes(n_samples))), 1))


def probe_decisions(
    model: Model, observed: Observed, draws: Sequence[Draw]
) -> list[NDArray[np.float32]]:
    """Decisions of every label row of some draws at the probes, each of shape (R, probes)."""
    found, size = [], batch_size(observed)
    for some in slices(len(draws), size):
        found += _decisions(model, observed, draws[some])
    return found


def _decisions(
    model: Model, observed: Observed, draws: Sequence[Draw]
) -> list[NDArray[np.float32]]:
    """`probe_decisions` of one batch."""
    probes, order, view = choose_probes(observed.shape[1]), model.n_factors, model.data_view
    states = [ViewState(certain(draw.loadings), draw.params, None) for draw in draws]
    if isinstance(draws[0].prior, StandardNormal):
        scores = encode_draws(view, observed, states, probes, order, tol=TOL, max_steps=STEPS)
    rows, found = [np.asarray(draw.coefficients, np.float64) for draw in draws], []
    for number, draw in enumerate(draws):
        if isinstance(draw.prior, StandardNormal):
            f = rows[number][:, :-1] @ scores[number].T + rows[number][:, -1:]
        else:
            item = ObservedView(view, observed, states[number])
            z = encode([item], draw.prior, probes, order, tol=TOL, max_steps=STEPS)
            f = rows[number][..., :-1] @ z.mean.T + rows[number][..., -1:]
        if isinstance(draw.prior, Mixture):  # (R, T, probes)
            f = np.einsum("rtn,nt->rn", f, draw.prior.gates(z).responsibilities(z.mean))
        found.append(np.asarray(f, np.float32))
    return found
