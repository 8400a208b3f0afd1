"""The experts that predict after the fit of a mixture: gates, and rows of label-free scores.

As for the linear model (`rankfactor.classifiers.linear`), coefficients fitted to scores and
responsibilities that have seen the labels expect what no new sample has. So all samples are encoded
without labels, their responsibilities are taken there, and the R x T rows of the labels' view are
fitted to them once more. The decision is ``sum_t R_t(z) beta_t . (z, 1)``, with R at a sample's
mean score (`rankfactor.latent.gates`): it differs from the responsibilities of the encoding only in
that the spread of a sample's own scores is not in it.

Components have no names: the experts of a draw of the sampler belong to that draw's own mixture, so
predictions are averaged over draws without matching components.
"""

from __future__ import annotations

import numpy as np

from rankfactor.classifiers.gated import Experts
from rankfactor.classifiers.linear import refit_labels
from rankfactor.classifiers.per_component import ComponentLabels, signed_of
from rankfactor.kernels.packed import pack, unpack
from rankfactor.latent import Mixture
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.model import Model
from rankfactor.steps.workers import Workers


def fit_rows(model: Model, labels: Observed, z: Normal, mixture: Mixture, pool: Workers) -> Experts:
    """Experts on given label-free scores (N, K): gates, and rows (R, T (K + 1)).

    ``labels`` are signed weights (R, N), shared out among components or not.
    """
    signed = signed_of(labels)
    local = ComponentLabels(signed, mixture.assign(z).responsibilities)
    state = refit_labels(model, local, z, pool)
    return Experts(mixture.gates(z), gate_major(state.rows, len(signed)))


def gate_major(rows: Normal, n_labels: int) -> Normal:
    """Rows (R T, K + 1) of the labels' view, r T + t, as rows (R, T (K + 1)) of all gates.

    Components' rows are independent, so the covariances are block-diagonal.
    """
    order = rows.order
    T = len(rows.mean) // n_labels
    blocks = unpack(rows.cov).reshape(n_labels, T, order, order)
    full = np.zeros((n_labels, T, order, T, order))
    full[:, np.arange(T), :, np.arange(T)] = blocks.transpose(1, 0, 2, 3)
    return Normal(
        rows.mean.reshape(n_labels, T * order),
        pack(full.reshape(n_labels, T * order, T * order)),
        rows.log_det.reshape(n_labels, T).sum(axis=1),
    )
