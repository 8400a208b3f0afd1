r"""Coefficients of the labels, drawn with the scores integrated out.

Given the table (its sites) and the other labels' sites, the scores of a sample are
``z_n ~ N(m_n, V_n)``, so the decision ``f_n = beta . z_n + c`` of a label row is normal with mean
``mu_n = beta . m_n + c`` and variance ``v_n = beta^T V_n beta``, and its label has the evidence

    E[p(y_n | f_n)],    f_n ~ N(mu_n, v_n),

in closed form (`rankfactor.kernels.evidence`). A row (beta, c) is drawn
under its prior times the evidence of all its labels, then every f_n, then the auxiliary variables
at these. Scores are drawn last of all, so that (row, auxiliary variables, scores) is one block.

Drawn given the scores instead, a row cannot leave them: they have seen the labels, so they and the
row hold each other in place, along the scale of the decision most of all. A factor that the table
does not need shows it best. Its scores are whatever the labels like, and a large coefficient
on it makes all other coefficients larger, at the same probabilities.

Two steps, both exact:

1. The row by elliptical slice sampling (Murray, Adams and MacKay 2010) around a normal
   approximation N(centre, P^-1) of its law: with target p(b), b moves along an ellipse through
   itself and a draw of the approximation, to a point where ``p(b) / N(b; centre, P^-1)`` is above a
   random level. The approximation is a few Newton steps from zero, with the row's own uncertainty
   added to v_n. It depends on all but the row itself, so the step leaves p as it is; were it
   poor, steps would be short.
2. The scale of the row, with its shrinkage scales moved along (`rankfactor.engine.expansion` has
   the argument): row and intercept become sqrt(u) times what they were, and log u is drawn by slice
   sampling (Neal 2003) from

       sum_n log E[p(y_n | f_n)] at (sqrt(u) mu_n, u v_n)
       + the shrinkage prior's part + (log u - p_0 c^2 u) / 2,

   p_0 being the prior precision of the intercept.

Rows of several labels, classes or components follow one another, each with the newest sites of
the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.label_rows import TINY, decision_means, decision_products, draw_label_row
from rankfactor.kernels.noise import fill_normal
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.slices import slice_scale
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import Rows
from rankfactor.likelihoods import LabelLikelihood
from rankfactor.likelihoods.base import Chance, Sites
from rankfactor.steps.row import row_prior
from rankfactor.steps.score import ObservedView, tile_chance, tile_sums
from rankfactor.typing import Floats


def draw_label_rows(
    item: ObservedView, precision: Floats, shift: Floats, z: Normal, stream: Stream
) -> tuple[Floats, Floats, float]:
    """Draw the rows of the labels' view, in place, with the scores integrated out.

    Parameters
    ----------
    item : ObservedView
        The labels' view.
    precision, shift : array, shape (N, P) and (N, K)
        What prior and table say of the scores.
    z : Normal, shape (N, K)
        The scores, which nothing but the first auxiliary variables depends on.
    stream : Stream

    Returns
    -------
    precision, shift : array
        With what the labels say of the scores.
    log_likelihood : float
        Of the labels, before.
    """
    label, state = item.view.likelihood, item.state
    assert isinstance(label, LabelLikelihood)
    rows, prior = state.rows.mean, row_prior(item)  # (R, K + 1)
    n_rows, n_samples = item.observed.shape
    everything, everyone = slice(0, n_rows), slice(0, n_samples)
    signed = item.observed.tile(everything, everyone)
    kind = label.evidence_kind(signed)
    assert kind is not None
    f = rows @ item.columns(z, variance=False).mean.T
    chance = tile_chance(stream, 1, everything, everyone)
    sites, terms = label.label_sites(signed, f, np.zeros(f.shape), chance)
    sites = Sites(np.array(sites.tau), np.array(sites.rho))
    for r in range(n_rows):
        seen, source = np.flatnonzero(signed[r]), stream.child("row", r)
        others = np.flatnonzero(np.arange(n_rows) != r)
        law = Normal.from_natural(
            *_with_sites(precision[seen], shift[seen], rows, sites, others, seen)
        )
        X, cov = np.vstack([law.mean.T, np.ones(len(seen))]), np.ascontiguousarray(law.cov.T)
        labels, noise = np.ascontiguousarray(signed[r, seen]), np.empty(z.order + 1)
        fill_normal(source.child("ellipse").word, 0, noise)
        key = source.child("angle").word
        rows[r] = draw_label_row(kind, labels, X, cov, prior[r], rows[r].copy(), noise, key)
        mean, variance = decision_means(X, rows[r]), decision_products(cov, rows[r], rows[r])
        given = kind, labels, mean, np.maximum(variance, TINY)
        u = _draw_scale(item, r, float(prior[r, -1]), given, source.child("scale"))
        mean, variance = np.sqrt(u) * mean, u * np.maximum(variance, TINY)
        drawn = label.draw_decision(labels, mean, variance, source)
        again = Chance(source.child("sites"), 0, 0)
        nothing = np.zeros((1, len(seen)))
        (tau, rho), _ = label.label_sites(labels[None], drawn[None], nothing, again)
        sites.tau[r, seen], sites.rho[r, seen] = tau[0], rho[0]
    every = np.arange(n_rows)
    return *_with_sites(precision, shift, rows, sites, every, everyone), float(terms.sum())


def _with_sites(
    precision: Floats,
    shift: Floats,
    rows: Floats,
    sites: Sites,
    some: NDArray[np.int64],
    samples: NDArray[np.int64] | slice,
) -> tuple[Floats, Floats]:
    """Natural parameters of samples' scores with the sites of some label rows."""
    if not len(some):
        return precision, shift
    laid_out = Rows.of(Normal.certain(rows[some]), np.float64, variance=False)
    chosen = Sites(sites.tau[some][:, samples], sites.rho[some][:, samples])
    second, first = tile_sums(laid_out, chosen, True)
    return precision + second, shift + first


def _draw_scale(
    item: ObservedView, r: int, intercept: float, given: tuple[object, ...], stream: Stream
) -> float:
    """Draw the u of row r and multiply the row, with its shrinkage scales, in place.

    ``intercept`` is the prior precision of the row's intercept, ``given`` are kind, labels and
    their decisions' means and variances.
    """
    state, prior = item.state, item.view.shrinkage
    rows, order = state.rows.mean, state.rows.order - 1
    power, rate, inverse = prior.stretch(state.scales, rows[:, :order] ** 2, axis=1)
    own = float(rate[r]) + 0.5 * intercept * rows[r, order] ** 2
    t = slice_scale(stream.word, power + 0.5, own, float(inverse[r]), 0.0, *given)
    u = np.ones(len(rows))
    u[r] = np.exp(t)
    rows[r] *= np.sqrt(u[r])
    state.scales = prior.stretched(state.scales, u, axis=1)
    return float(u[r])


def integrates(item: ObservedView) -> bool:
    """Whether the scores can be integrated out of the law of the labels' rows."""
    label, (n_rows, n_samples) = item.view.likelihood, item.observed.shape
    assert isinstance(label, LabelLikelihood)
    signed = item.observed.tile(slice(0, n_rows), slice(0, n_samples))
    return label.evidence_kind(signed) is not None
