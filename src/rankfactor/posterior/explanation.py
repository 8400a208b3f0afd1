r"""What the features of a sample add to its decisions.

At the encoder's fixed point the scores are a sum over features,

    z_n = V_n ( h_0n + sum_i s_in ),     s_in = rho_in E[a_i] - tau_in E[a_i c_i],
    V_n = ( P_0n + sum_i tau_in E[a_i a_i^T] )^-1,

with c_i a feature's mean where it has one, P_0n and h_0n those of the prior (I and 0, or a
mixture's). With g_n the gradient of a decision, averaged along the way from 0 to z_n,

    f_n = base_n + sum_i phi_in,     phi_in = g_n^T V_n s_in,

exactly where decisions are linear, whose gradient is beta everywhere. A decision of two parts
(`rankfactor.classifiers.two_part`) is linear in the scores and in the normal scores s,

    f_n = ( beta - sum_i known_in gamma_i l_i ) . z_n + sum_i gamma_i s_in + const,

so gamma_i s_in is added to phi_in, and g_n is the bracket. Behind gates the average is
taken at a few points (Gauss and Legendre), and what they leave out is part of the base, as is what
the encoder's tolerance leaves. A missing entry has tau = rho = 0, so it adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfactor.classifiers import Classifier, Residual
from rankfactor.classifiers.two_part import feature_tiles
from rankfactor.kernels.codes import is_known
from rankfactor.kernels.solve import solve_packed
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.model import Model
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import BLOCK, ObservedView, split_intercept, view_sums
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

POINTS = 5  # of the average gradient of a nonlinear decision


@dataclass(frozen=True)
class Explanation:
    """Contributions of the features to one decision of every sample.

    The names of the fields are those of ``shap.Explanation``, so that plotting functions written
    for it understand the result.

    Attributes
    ----------
    values : array, shape (N, D)
        What each feature adds to the decision; zero for missing entries and for features that did
        not vary in training.
    base_values : array, shape (N,)
        The decision less the sum of the values.
    data : array, shape (N, D)
        The table, NaN where missing.
    feature_names : list of str
    output_name : str
        The task, and the class that a positive decision means.
    """

    values: Floats
    base_values: Floats
    data: Floats
    feature_names: list[str]
    output_name: str


def contributions(
    model: Model,
    item: ObservedView,
    prior: ScorePrior,
    classifier: Classifier,
    pool: Workers,
    residual: Residual | None = None,
) -> tuple[Floats, Floats]:
    """Decisions (N, R), and what every feature in the model adds to them, shape (R, N, d)."""
    z = encode_samples(model, item, pool, prior=prior)
    rows = item.rows(kind=np.float64)
    n_rows = len(classifier.rows.mean)
    values = np.zeros((n_rows, len(z.mean), len(rows.mean)))
    gradients = [_mean_gradient(classifier, z, row, n_rows) for row in range(n_rows)]
    decisions = classifier.decide(z)[0]
    if residual is not None:
        decisions = decisions + residual.decide(model.data, item.observed, z, pool)[0]
        _add_residual(model, item, residual, gradients, values)

    def explain(samples: slice) -> None:
        near = z.take(samples)
        precision, _ = prior.assign(near).natural(*near.mean.shape)
        precision += view_sums(item, rows, near, samples).precision
        leads = [solve_packed(precision, one[samples])[0] for one in gradients]  # V_n g_n
        for where, part, tile in item.walk(rows, near, samples):
            tau, rho = item.view.likelihood.sites(tile)
            for row, lead in enumerate(leads):
                added = rho * (part.mean[:, : model.n_factors] @ lead.T)
                if item.view.has_intercept:
                    second = part.pairs[:, : near.with_one().cov.shape[1]]
                    added -= tau * (second[:, split_intercept(second.shape[1])[1]] @ lead.T)
                values[row, samples, where] += added.T

    pool.map(explain, slices(len(z.mean), BLOCK))
    return decisions, values


def _add_residual(
    model: Model, item: ObservedView, residual: Residual, gradients: list[Floats], values: Floats
) -> None:
    """Add gamma s to the values (R, N, d), and take gamma L from the gradients, in place."""
    ranked = model.data.normal_scores(item.observed, residual.levels)
    for tile in feature_tiles(item.observed):
        known = is_known(item.observed.tile(tile, slice(None)))
        s = ranked.tile(tile, slice(None))
        for row, gamma in enumerate(residual.weights[:, tile]):
            values[row, :, tile] += (gamma[:, None] * s).T
            gradients[row] -= (gamma[:, None] * known).T @ residual.loadings[tile]


def _mean_gradient(classifier: Classifier, z: Normal, row: int, n_rows: int) -> Floats:
    """Gradient of a row's decision averaged between 0 and the scores, shape (N, K)."""
    slope = np.zeros((n_rows, len(z.mean)))
    slope[row] = 1.0
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    total = np.zeros(z.mean.shape)
    for point, weight in zip(0.5 * (points + 1.0), 0.5 * weights, strict=True):
        at = Normal(point * z.mean, z.cov, z.log_det)
        total += weight * classifier.gradient(at, slope)
    return total


def explanations(
    values: Floats, decisions: Floats, data: Any, columns: Any, names: list[str], rows: list[str]
) -> dict[str, Explanation]:
    """Explanations by the names of the rows, of all features of the table.

    Parameters
    ----------
    values : array, shape (R, N, d)
    decisions : array, shape (N, R)
    data : array, shape (N, D)
    columns : int array, shape (d,)
        Where the features in the model stand in the table.
    names, rows : list of str
        Of the D features and of the R rows.
    """
    result = {}
    for number, name in enumerate(rows):
        full = np.zeros(data.shape)
        full[:, columns] = values[number]
        base = decisions[:, number] - full.sum(axis=1)
        result[name] = Explanation(full, base, data, names, name)
    return result
