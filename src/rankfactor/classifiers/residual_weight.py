r"""The weight of the residual in the prior of a decision of two parts.

The decisions of n labelled samples have the prior covariance

    (1 - v) C C^T + v R,

C the columns of the scores and R the kernel of the residuals, both of the same mean diagonal
(`rankfactor.classifiers.two_part`). How much of a class is outside the factors differs from table
to table: a fixed v costs up to 0.04 of AUC if the factors tell everything, and v = 0 as much as 0.1
if they do not (docs/notes/decisions.md). So v is estimated from the labels y = +-1, as variance
components are:

    y = c + f + e,     f ~ N(0, h s^2 ((1 - v) C C^T + v R)),     e ~ N(0, s^2 I).

With c and s^2 integrated out (the restricted likelihood of Patterson and Thompson 1971) and y, C
and R centred,

    log L(v, h) = - 1/2 log|Q| - (n - 1)/2 log y^T Q^-1 y,     Q = I + h v R + h (1 - v) C C^T.

In the eigenvectors of R the first two terms of Q are a diagonal M, and with few columns

    |Q| = |M| |B|,     y^T Q^-1 y = y^T M^-1 y - h (1 - v) b^T B^-1 b,
    B = I + h (1 - v) C^T M^-1 C,     b = C^T M^-1 y.

v is its posterior mean over `WEIGHTS`, with h uniform over `RATIOS`. A mean changes little if the
data change little; a maximum may jump.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp

from rankfactor.typing import Floats

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75)
RATIOS = np.geomspace(0.01, 100.0, 13)  # variance of the decisions over that of the noise


def residual_weight(columns: Floats, kernel: Floats, signs: Floats) -> float:
    """Posterior mean of v.

    Parameters
    ----------
    columns : array, shape (n, P)
        C; if it is zero, all factors being switched off, v is 1.
    kernel : array, shape (n, n)
        R.
    signs : array, shape (n,)
        y; if all are equal, the result is the mean of the prior.
    """
    if not columns.any():
        return 1.0
    if np.ptp(signs) == 0:
        return float(np.mean(WEIGHTS))
    centred = kernel - kernel.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred)
    values = np.maximum(values, 0.0)
    C, y = vectors.T @ (columns - columns.mean(axis=0)), vectors.T @ (signs - signs.mean())
    unit = float((C**2).sum()) / len(y)
    by_weight = [
        logsumexp([_log_likelihood(C, values, y, v, h / unit) for h in RATIOS]) for v in WEIGHTS
    ]
    posterior = np.exp(by_weight - np.max(by_weight))
    return float(np.dot(WEIGHTS, posterior / posterior.sum()))


def _log_likelihood(C: Floats, values: Floats, y: Floats, v: float, h: float) -> float:
    """The logarithm of L(v, h) up to a constant, in the eigenvectors of R."""
    M = 1.0 + h * v * values
    scaled = C / M[:, None]
    B = np.eye(C.shape[1]) + h * (1.0 - v) * (scaled.T @ C)
    factor = cho_factor(B, lower=True)
    b = scaled.T @ y
    square = y @ (y / M) - h * (1.0 - v) * (b @ cho_solve(factor, b))
    log_det = np.log(M).sum() + 2.0 * np.log(np.diag(factor[0])).sum()
    square = max(square, np.finfo(float).tiny)
    return float(-0.5 * log_det - 0.5 * (len(y) - 1) * np.log(square))
