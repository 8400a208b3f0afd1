r"""Coefficients of the labels, drawn with the scores integrated out.

Given the table (its sites) and the other labels' sites, the scores of a sample are
``z_n ~ N(m_n, V_n)``, so the decision ``f_n = beta . z_n + c`` of a label row is normal with mean
``mu_n = beta . m_n + c`` and variance ``v_n = beta^T V_n beta``, and its label has the evidence

    E[p(y_n | f_n)],    f_n ~ N(mu_n, v_n),

in closed form (`rankfactor.kernels.evidence`). A row (beta, c) is drawn
under its prior times the evidence of all its labels, then the auxiliary variables, with f_n
integrated out or drawn before them. Scores are drawn last of all, so that (row, auxiliary
variables, scores) is one block.

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.evidence import log_likelihood
from rankfactor.kernels.label_rows import decisions, draw_label_row, row_sums
from rankfactor.kernels.noise import fill_normal
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.slices import slice_scale
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import LabelLikelihood
from rankfactor.likelihoods.base import Sites
from rankfactor.steps.row import row_prior
from rankfactor.steps.score import ObservedView, tile_chance
from rankfactor.typing import Floats, Reals


@dataclass
class LabelRows:
    """Rows of a view that meet their samples as labels do.

    Attributes
    ----------
    item : ObservedView
    label : LabelLikelihood
    signed : array, shape (R, N)
        Labels with their weights; zero where there is none.
    where : array, shape (R,)
        The rows' numbers within the view.
    rows, prior : array, shape (R, K + 1)
        Coefficients with an intercept, and their prior precisions.
    unit : array, shape (R,)
        The view's loadings over these coefficients.
    """

    item: ObservedView
    label: LabelLikelihood
    signed: Floats
    where: NDArray[np.int64]
    rows: Floats
    prior: Floats
    unit: Floats

    @cached_property
    def kind(self) -> int:
        """The number of the labels' evidence."""
        kind = self.label.evidence_kind(self.signed)
        assert kind is not None
        return kind

    @classmethod
    def of(cls, item: ObservedView) -> LabelRows:
        """The labels' view."""
        label, (n_rows, n_samples) = item.view.likelihood, item.observed.shape
        assert isinstance(label, LabelLikelihood)
        signed = item.observed.tile(slice(0, n_rows), slice(0, n_samples))
        rows = item.state.rows.mean
        return cls(item, label, signed, np.arange(n_rows), rows, row_prior(item), np.ones(n_rows))


def draw_label_rows(
    parts: Sequence[LabelRows], precision: Floats, shift: Floats, z: Normal, stream: Stream
) -> tuple[list[tuple[Reals, Reals]], list[float]]:
    """Draw the rows of some views, in place, with the scores integrated out.

    Parameters
    ----------
    parts : sequence of LabelRows
    precision, shift : array, shape (N, P) and (N, K)
        What prior and table say of the scores, without these rows.
    z : Normal, shape (N, K)
        The scores, which nothing but the first auxiliary variables depends on.
    stream : Stream

    Returns
    -------
    sums : list of (precision, shift)
        What the rows of every part say of the scores.
    log_likelihoods : list of float
        Of the parts, before.
    """
    n, ends = len(z.mean), np.cumsum([len(part.rows) for part in parts])
    rows = np.concatenate([part.rows for part in parts])
    tau, rho = np.zeros((2, len(rows), n))
    terms = []
    for number, (part, end) in enumerate(zip(parts, ends, strict=True)):
        f = part.rows[:, :-1] @ z.mean.T + part.rows[:, -1:]
        terms.append(float(log_likelihood(part.kind, part.signed, f)))
        if len(rows) > 1:  # a row's own sites are drawn again before anything depends on them
            chance = tile_chance(stream, number + 1, slice(0, len(f)), slice(0, n))
            sites, _ = part.label.label_sites(part.signed, f, np.zeros(f.shape), chance)
            tau[end - len(f) : end], rho[end - len(f) : end] = sites
    columns = np.ascontiguousarray(precision.T)
    for part, end in zip(parts, ends, strict=True):
        for r in range(len(part.rows)):
            place = int(end) - len(part.rows) + r
            seen = np.flatnonzero(part.signed[r])
            law = Normal.from_natural(*_without_row(columns, shift, rows, tau, rho, place, seen))
            source = stream.child("row", place)
            tau[place, seen], rho[place, seen] = _draw_row(part, r, law, seen, source)
            rows[place] = part.rows[r]
    sums = []
    for part, end in zip(parts, ends, strict=True):
        own = slice(int(end) - len(part.rows), int(end))
        second, first = row_sums(rows[own], tau[own], rho[own])
        sums.append((second.T, first))
    return sums, terms


def _draw_row(
    part: LabelRows, r: int, law: Normal, seen: NDArray[np.int64], stream: Stream
) -> Sites:
    """Draw one row, in place, given the law of its samples' scores; its sites, each (n,)."""
    label, row, prior, kind = part.label, part.rows[r], part.prior[r], part.kind
    X, cov = np.ones((len(row), len(seen))), np.ascontiguousarray(law.cov.T)
    X[:-1] = law.mean.T
    labels, noise = part.signed[r, seen], np.empty(len(row))
    fill_normal(stream.child("ellipse").word, 0, noise)
    key = stream.child("angle").word
    row[:] = draw_label_row(kind, labels, X, cov, prior, row.copy(), noise, key)
    mean, variance = decisions(X, cov, row)
    u = _draw_scale(part, r, (kind, labels, mean, variance), stream.child("scale"))
    return label.draw_sites(labels, np.sqrt(u) * mean, u * variance, stream)


def _without_row(
    precision: Floats,
    shift: Floats,
    rows: Floats,
    tau: Floats,
    rho: Floats,
    place: int,
    seen: NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """Natural parameters (n, P) and (n, K) of samples' scores with the sites of all other rows."""
    if len(seen) < precision.shape[1]:
        precision, shift = np.ascontiguousarray(precision[:, seen]), shift[seen]
        tau, rho = tau[:, seen], rho[:, seen]
    if len(rows) > 1:
        others = np.arange(len(rows)) != place
        second, first = row_sums(rows[others], tau[others], rho[others])
        precision, shift = precision + second, shift + first
    return precision.T, shift


def _draw_scale(part: LabelRows, r: int, given: tuple[object, ...], stream: Stream) -> float:
    """Draw the u of a part's row r and multiply it, with its shrinkage scales, in place.

    ``given`` are kind, labels and their decisions' means and variances.
    """
    item, row, place = part.item, part.rows[r], part.where[r]
    state, prior, order = item.state, item.view.shrinkage, len(row) - 1
    state.rows.mean[place, :order] = part.unit[r] * row[:order]
    power, rate, inverse = prior.stretch(state.scales, state.rows.mean[:, :order] ** 2, axis=1)
    own = float(rate[place]) + 0.5 * float(part.prior[r, order]) * row[order] ** 2
    t = slice_scale(stream.word, power + 0.5, own, float(inverse[place]), 0.0, *given)
    u = np.ones(len(state.rows.mean))
    u[place] = np.exp(t)
    row *= np.sqrt(u[place])
    state.rows.mean[place, :order] = part.unit[r] * row[:order]
    state.scales = prior.stretched(state.scales, u, axis=1)
    return float(u[place])


def integrates(item: ObservedView) -> bool:
    """Whether the scores can be integrated out of the law of the labels' rows."""
    label, (n_rows, n_samples) = item.view.likelihood, item.observed.shape
    assert isinstance(label, LabelLikelihood)
    signed = item.observed.tile(slice(0, n_rows), slice(0, n_samples))
    return label.evidence_kind(signed) is not None
