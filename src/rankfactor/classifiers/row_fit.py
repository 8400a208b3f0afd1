r"""Mean field of one label row under a normal prior of fixed precisions.

With features X (N, P) and coefficients w ~ N(0, diag(prior)^-1) the distribution of w given the
labels' sites is ``P = diag(prior) + X^T diag(tau) X``, mean ``P^-1 X^T rho``; the sites are those
of the decisions' mean and variance. Both are updated in turn until no decision moves.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from rankfactor.likelihoods import LabelLikelihood
from rankfactor.typing import Floats


def fit_row(
    label: LabelLikelihood,
    signed: Floats,
    X: Floats,
    prior: Floats,
    f: Floats,
    var_f: Floats,
    tol: float,
    max_steps: int,
) -> tuple[Floats, Floats, float]:
    """Mean (P,), covariance (P, P) and its log determinant.

    Parameters
    ----------
    label : LabelLikelihood
    signed : array, shape (N,)
        Signed weights; samples of weight zero do not count.
    X : array, shape (N, P)
    prior : array, shape (P,)
        Precisions.
    f, var_f : array, shape (N,)
        Mean and variance of the decisions to start from.
    tol : float
        Largest change of a decision at which the fit stops.
    max_steps : int
    """
    known = signed != 0
    given, X, f, var_f = signed[None, known], X[known], f[known], var_f[known]
    factor = (np.diag(np.sqrt(prior)), True)
    mean = np.zeros(len(prior))
    for _ in range(max_steps):
        (tau, rho), _ = label.label_sites(given, f[None], var_f[None])
        P = (X * tau.T).T @ X
        P[np.diag_indices(len(prior))] += prior
        factor = cho_factor(P, lower=True)
        mean = cho_solve(factor, X.T @ rho[0])
        var_f = (solve_triangular(factor[0], X.T, lower=True) ** 2).sum(axis=0)
        old, f = f, X @ mean
        if np.abs(f - old).max(initial=0.0) < tol:
            break
    log_det = -2.0 * float(np.log(np.diag(factor[0])).sum())
    return mean, np.asarray(cho_solve(factor, np.eye(len(prior)))), log_det
