"""Linear classifiers: rows of coefficients and an intercept, under the labels' shrinkage prior.

A training score that depends on its label separates the classes by itself, and a classifier fitted
to such scores would not fit new samples. So the coefficients used for prediction are fitted to
label-free encodings, by the row step of the labels' view (`rankfactor.steps.row`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal, dual
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import NoParameters, Observed
from rankfactor.model import Model, ViewState
from rankfactor.steps.acceleration import Momentum
from rankfactor.steps.row import laid_out_scores, update_view, view_bound
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats

BLOCK = 8192  # samples processed together: rows are few
TOL, STEPS = 1e-7, 500  # relative change of the bound at which the coefficients have converged


@dataclass(frozen=True)
class Linear:
    """Fitted linear classifiers.

    Attributes
    ----------
    rows : Normal, shape (R, K + 1)
        Coefficients and intercept.
    scales : object
        Shrinkage scales, from which a further fit starts; None if unknown.
    """

    rows: Normal
    scales: Any = None

    def decide(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision at scores (N, K), each (N, R)."""
        f, var_f = product_moments(self.rows, z.with_one(), True)
        return f.T, var_f.T

    def gradient(self, z: Normal, slope: Floats) -> Floats:
        """``sum_r slope_rn beta_r``, shape (N, K), of slopes (R, N)."""
        return np.asarray(slope.T @ self.rows.mean[:, : z.order])

    def draw(self, stream: Stream) -> Linear:
        """The classifier with coefficients drawn from their law."""
        return replace(self, rows=self.rows.draw(stream))

    def average(self, z: Normal) -> Normal:
        """The coefficients, which are the same for all samples."""
        return self.rows

    def transformed(self, matrix: Floats) -> Linear:
        """The classifiers on the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        return Linear(self.rows.transformed(dual(matrix, self.rows.order)))

    def flipped(self, sign: Floats) -> Linear:
        """The classifiers whose decisions are ``sign`` (R,) times these."""
        return replace(self, rows=self.rows.flipped(sign))


def begin_linear(model: Model, n_rows: int) -> Linear:
    """Initial coefficients."""
    rows = Normal.isotropic(np.zeros((n_rows, model.n_factors + 1)), 0.01)
    return Linear(rows, model.label_view.shrinkage.start(n_rows, model.n_factors))


def fit_linear(
    model: Model,
    labels: Observed,
    z: Normal,
    pool: Workers,
    start: Linear | None = None,
    *,
    tol: float = TOL,
    max_steps: int = STEPS,
) -> Linear:
    """Linear classifiers of fixed scores (N, K).

    Parameters
    ----------
    model : Model
    labels : Observed, shape (R, N)
        Signed weights.
    z : Normal, shape (N, K)
    pool : Workers
    start : Linear, optional
        Fitted classifiers to start from.
    tol : float
        Relative change of the bound at which to stop; 0 takes exactly ``max_steps`` plain steps.
    max_steps : int
    """
    if start is None:
        start = begin_linear(model, labels.shape[0])
    state = ViewState(start.rows.copy(), NoParameters(), start.scales)
    item = ObservedView(model.label_view, labels, state)
    previous, momentum, columns = -np.inf, Momentum(), laid_out_scores(item, z, BLOCK)
    for step in range(max_steps):
        before = view_bound(item, model.n_factors) if tol else 0.0
        bound = before + update_view(item, z, pool, BLOCK, columns=columns)
        if tol:
            if step > 1 and abs(bound - previous) < tol * max(abs(bound), 1.0):
                break
            momentum.carry((state.rows.mean,), bound)
            previous = bound
    return Linear(state.rows, state.scales)
