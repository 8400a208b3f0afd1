"""Labels of a mixture: every component has its own row of coefficients for every label.

The labels' view has R x T rows, label r of component t weighted by the responsibilities
(`rankfactor.classifiers.labels`).

The evidence of a label on its sample's component is its term at full weight, with the augmentation
at its optimum in mean field and integrated out of a draw: ``-2 c max(0, 1 - y f_t)`` or ``c log
Phi(y f_t)``. The sampler draws t_n under this evidence, then all auxiliary variables again, so that
(t, lam) is one block.

Components have no identity: the classifiers of a draw belong to that draw's own mixture, so
predictions are averaged over draws without matching components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankfactor.classifiers.gated import Gated
from rankfactor.classifiers.labels import ComponentLabels, signed_of
from rankfactor.classifiers.linear import fit_linear
from rankfactor.kernels.packed import pack, unpack
from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import LabelLikelihood, Observed
from rankfactor.model import Model
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats


def label_evidence(labels: ObservedView, z: Normal, samples: slice) -> Floats:
    """Evidence of the labels of samples with scores z (n, K) on their components, shape (n, T)."""
    likelihood, observed = labels.view.likelihood, labels.observed
    assert isinstance(likelihood, LabelLikelihood)
    assert isinstance(observed, ComponentLabels)
    T = observed.responsibilities.shape[1]
    f, var_f = product_moments(labels.state.rows, z.with_one(), True)
    signed = np.repeat(observed.signed[:, samples], T, axis=0)
    _, terms = likelihood.label_sites(signed, f, var_f)
    return np.asarray(terms.reshape(-1, T, len(z.mean)).sum(axis=0).T)


def assign_block(
    prior: ScorePrior,
    labels: ObservedView | None,
    z: Normal,
    samples: slice,
    stream: Stream | None = None,
) -> ScorePrior:
    """The prior of some samples after they have been assigned to components."""
    if not isinstance(prior, Mixture):
        return prior
    evidence = None if labels is None else label_evidence(labels, z, samples)
    return prior.assign(z, evidence, stream, samples.start)


def joined(prior: ScorePrior, parts: Sequence[ScorePrior]) -> ScorePrior:
    """The prior of all samples from those of consecutive blocks."""
    if not isinstance(prior, Mixture):
        return prior
    found = [part.responsibilities for part in parts if isinstance(part, Mixture)]
    return replace(prior, responsibilities=np.concatenate(found))


def fit_per_component(
    model: Model, labels: Observed, z: Normal, mixture: Mixture, pool: Workers
) -> Gated:
    """One classifier per component, on label-free scores (N, K).

    The responsibilities are those of the scores alone, and the R x T rows of the labels' view are
    refitted to both; the components are then gates at a sample's mean score
    (`rankfactor.latent.gates`). ``labels`` are signed weights (R, N), divided among components or
    not.
    """
    signed = signed_of(labels)
    local = ComponentLabels(signed, mixture.assign(z).responsibilities)
    rows = fit_linear(model, local, z, pool).rows
    return Gated(mixture.gates(z), gate_major(rows, len(signed)))


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
