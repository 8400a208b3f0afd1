"""Label-free encoding, and the classifier that is fitted on it.

A training score that has seen its label separates the classes by itself, and a classifier fitted to
such scores expects something no new sample has. So prediction, of training and of new samples
alike, encodes without the labels, and the coefficients that predict are fitted to label-free
encodings.
"""

from __future__ import annotations

import numpy as np

from rankfactor.classifiers.centres import class_aware_centres, label_groups
from rankfactor.classifiers.gated import Design, Experts, fit_gated
from rankfactor.classifiers.per_component import signed_of
from rankfactor.latent import Gates, MixedExperts, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import NoParameters, Observed
from rankfactor.model import Model, ViewState
from rankfactor.steps.acceleration import Momentum
from rankfactor.steps.encode import encode, lay_out
from rankfactor.steps.row import designs, update_view, view_bound
from rankfactor.steps.score import BLOCK, ObservedView
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

ENCODE_TOL = 1e-4  # in units of a score, whose prior standard deviation is 1
ENCODE_STEPS = 200
REFIT_TOL = 1e-7
REFIT_STEPS = 500
EXPERT_TOL = 1e-3  # in units of a decision, whose margin is 1


def encode_samples(
    model: Model,
    data: ObservedView,
    pool: Workers,
    block: int = BLOCK,
    prior: ScorePrior | None = None,
) -> Normal:
    """Label-free scores of all samples of ``data``, shape (N, K).

    ``prior`` is that of the fit; it can be left out where there is nothing to learn of it.
    """
    n = data.observed.shape[1]
    now = model.latent if prior is None else prior
    if not isinstance(now, ScorePrior):
        raise ValueError(f"{type(now).__name__} has a state: give that of the fit as prior.")
    if n == 0:
        return now.fresh(0).law(0, model.n_factors)

    rows = lay_out([data])

    def encode_block(samples: slice) -> Normal:
        return encode(
            [data],
            now,
            samples,
            model.n_factors,
            tol=ENCODE_TOL,
            max_steps=ENCODE_STEPS,
            rows=rows,
        )

    parts = pool.map(encode_block, slices(n, block))
    return Normal(
        np.concatenate([part.mean for part in parts]),
        np.concatenate([part.cov for part in parts]),
        np.concatenate([part.log_det for part in parts]),
    )


def refit_labels(
    model: Model, labels: Observed, z: Normal, pool: Workers, start: ViewState | None = None
) -> ViewState:
    """Fit the labels' rows and scales to fixed scores, to convergence."""
    view = model.label_view
    if start is None:
        rows = Normal.isotropic(np.zeros((labels.shape[0], model.n_factors + 1)), 0.01)
        scales = view.shrinkage.start(labels.shape[0], model.n_factors)
        start = ViewState(rows, NoParameters(), scales)
    item = ObservedView(view, labels, start.copy())
    previous, momentum, columns = -np.inf, Momentum(), designs(item, z)
    for step in range(REFIT_STEPS):
        before = view_bound(item, model.n_factors)
        bound = before + update_view(item, z, pool, columns=columns)
        if step > 1 and abs(bound - previous) < REFIT_TOL * max(abs(bound), 1.0):
            break
        momentum.carry((item.state.rows.mean,), bound)
        previous = bound
    return item.state


def place_gates(
    experts: MixedExperts, z: Normal, labels: Observed, rng: np.random.Generator
) -> Gates:
    """Gates on class-aware regions of label-free scores (N, K)."""
    signed = signed_of(labels)
    centres = class_aware_centres(z.mean, label_groups(signed), experts.n_components, rng)
    return experts.gates(z.mean, centres)


def fit_experts(model: Model, labels: Observed, z: Normal, rng: np.random.Generator) -> Experts:
    """Gates and local classifiers on fixed label-free scores (N, K)."""
    assert model.experts is not None
    assert model.label is not None
    gates = place_gates(model.experts, z, labels, rng)
    precision = model.experts.prior_precision(gates, model.label_view.intercept_precision)
    rows = fit_gated(
        model.label,
        signed_of(labels),
        Design.at(z, gates),
        precision,
        tol=EXPERT_TOL,
        max_steps=REFIT_STEPS,
    )
    return Experts(gates, rows)


def decisions(rows: Normal, z: Normal) -> tuple[Floats, Floats]:
    """Mean and variance of every row's decision for every sample, shape (N, rows)."""
    f, var_f = product_moments(rows, z.with_one(), True)
    return f.T, var_f.T
