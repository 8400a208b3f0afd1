r"""Scores at the fixed point of the local step: the encoder of new samples.

The local step (`rankfactor.steps.score`) maximises a quadratic that touches the bound from
below, of precision P_n. Where the bound is much flatter than that, its curvature H_n far below P_n,
the step is safe but short: samples of handwritten digits covered 3 % of the remaining distance per
step. So if a likelihood provides its curvature, the means are updated by Newton's method instead,

    m <- m + H_n^-1 g_n,     g_n = h_n - P_n m,     H_n = P_0n + sum_i k_in E[a_i a_i^T],

and the covariances become P_n^-1 as before: the fixed point is the same. At fixed variances the
bound is concave in m, so along a step its slope g . step only decreases, and a negative slope shows
that the step was too long. If it is steeper than half the initial slope, the step is shortened to
where the line through both slopes is zero. Variances follow the means, so near the end steps shrink
by a nearly constant factor r, often a negative one; a step is multiplied by 1 / (1 - r), the limit
of such a series (Aitken), which saves a third of the steps with 5,000 features. H_n weights the
loadings' variances by k instead of tau, which does not change the fixed point.

In wide tables of rare counts the hinges of many zeros meet in one point, where the bound is nearly
a cone: H_n is far too small beside its tip, and Newton's method jumps from side to side. So if more
than `PATIENCE` steps of a sample were too long, its short steps have a line search, too, and the
curvature is damped towards the local step's precision,

    H_n + d_n (P_n - H_n),     0 <= d_n <= 1,

which at d_n = 1 is the local step itself; d_n grows with every step that is too long and decays
with the others. Samples of 33,000 counts, 5 % of them above zero, do not arrive in 200 steps
without damping, and in about 30 with it (`benchmarks/encoding.py --of rare`). Samples of dense
tables have fewer long steps, so they are not damped.

Likelihoods without a curvature take the plain steps, combined by Anderson's method
(`rankfactor.steps.acceleration`).

A sample's scores must not depend on the samples encoded with it. A matrix product rounds a column
differently according to its position and to the number of columns, in ways that vary between
processors. In single precision such differences survive the remaining steps and reach 1e-6 of a
score, and more if they change the step at which a sample stops. So encoding is in double
precision regardless of that of the fit: differences stay near 1e-14, far below ``tol``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import times
from rankfactor.kernels.solve import solve_packed
from rankfactor.latent import InBasis, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal, dual
from rankfactor.laws.products import Rows
from rankfactor.model import Model
from rankfactor.steps.acceleration import Anderson
from rankfactor.steps.score import BLOCK, ObservedView, update_scores, view_sums
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Index, Reals

TOL, STEPS = 1e-4, 200  # in units of a score, whose prior standard deviation is 1
BACK = 0.5  # ratio of the slope after to that before a maximum above which a step was too long
SHORTER = 0.1, 0.7  # smallest and largest part kept of a step that was too long
# Steps shorter than this are accepted without a line search: variances move as well.
SMALL = 0.1
RATIOS = -1.0, 0.5  # ratios of successive Newton steps that are extrapolated
# Long steps of a sample before its steps are damped, and the part to which small ones may then be
# shortened.
PATIENCE, SHORTEST = 6, 0.2
# Damping: first value, growth after a step that was too long, decay after one that was not, and
# the least that is kept.
DAMPING, GROWTH, DECAY, LEAST_DAMPING = 0.05, 4.0, 0.5, 0.01


class Newton:
    """Newton's method for ``n`` concave functions in parallel, of ``order`` variables each.

    Each has its own line search, so its path does not depend on the others.
    """

    def __init__(self, n: int, order: int) -> None:
        self._begin, self._step = np.zeros((n, order)), np.zeros((n, order))
        self._slope, self._length = np.zeros(n), np.ones(n)
        self._last = np.zeros((n, order))  # Newton steps before
        self._damping, self._was_long = np.zeros(n), np.zeros(n, bool)
        self._count = np.zeros(n, np.int64)  # of steps that were too long

    def propose(
        self, x: Floats, gradient: Floats, curvature: Floats, precision: Floats
    ) -> tuple[Floats, Floats]:
        """Next points after ``x`` (n, K).

        Parameters
        ----------
        x, gradient : array, shape (n, K)
        curvature : array, shape (n, P)
            Packed; minus the second derivative.
        precision : array, shape (n, P)
            That of a quadratic which touches the function from below.

        Returns
        -------
        points : array, shape (n, K)
        moves : array, shape (n,)
            The largest change of a variable by an undamped step; infinite if the last step was too
            long.
        """
        slope = np.einsum("nk,nk->n", gradient, self._step)
        reach = self._length * np.abs(self._step).max(axis=1)
        is_long = slope < -BACK * self._slope
        self._count += is_long
        is_hard = self._count > PATIENCE
        too_far = is_long & ((reach > SMALL) | (is_hard & (self._length > SHORTEST)))
        fall = np.where(too_far, self._slope - slope, 1.0)
        share = np.where(too_far, np.clip(self._slope / fall, *SHORTER), 1.0)
        self._length = np.where(too_far, share * self._length, 1.0)
        fresh = ~too_far[:, None]
        self._damp(is_hard & (is_long | self._was_long), too_far)
        newton = solve_packed(curvature, gradient)[0]
        moves = np.where(too_far, np.inf, np.abs(newton).max(axis=1))
        if self._damping.any():
            damped = curvature + self._damping[:, None] * (precision - curvature)
            newton = solve_packed(damped, gradient)[0]
        step = newton * self._gain(newton)[:, None]
        self._last = np.where(fresh, newton, 0.0)
        self._begin = np.where(fresh, x, self._begin)
        self._step = np.where(fresh, step, self._step)
        self._slope = np.where(too_far, self._slope, np.einsum("nk,nk->n", gradient, step))
        return self._begin + self._length[:, None] * self._step, moves

    def _damp(self, grows: NDArray[np.bool_], too_far: NDArray[np.bool_]) -> None:
        """Update the damping of new directions; a step that is only shortened keeps its own."""
        more = np.clip(GROWTH * self._damping, DAMPING, 1.0)
        less = DECAY * self._damping
        less[less < LEAST_DAMPING] = 0.0
        self._damping = np.where(too_far, self._damping, np.where(grows, more, less))
        self._was_long = too_far

    def _gain(self, newton: Reals) -> Floats:
        """Factors of the Newton steps from those before (Aitken), shape (n,)."""
        length = np.einsum("nk,nk->n", self._last, self._last)
        along = np.einsum("nk,nk->n", newton, self._last)
        ratio = along / np.where(length > 0, length, 1.0)
        return np.asarray(1.0 / (1.0 - np.clip(ratio, *RATIOS)))

    def keep(self, some: Index) -> None:
        """Continue with some of the functions."""
        self._last, self._damping = self._last[some], self._damping[some]
        self._was_long, self._count = self._was_long[some], self._count[some]
        self._begin, self._step = self._begin[some], self._step[some]
        self._slope, self._length = self._slope[some], self._length[some]


def lay_out(views: Sequence[ObservedView]) -> list[Rows]:
    """The rows of every view in double precision, for `encode`."""
    return [item.rows(kind=np.float64) for item in views]


def encode(
    views: Sequence[ObservedView],
    prior: ScorePrior,
    samples: slice | NDArray[np.int64],
    n_factors: int,
    *,
    tol: float,
    max_steps: int,
    rows: Sequence[Rows] | None = None,
    start: Normal | None = None,
) -> Normal:
    """Scores of the samples, from the prior to the fixed point of `update_scores`.

    A sample stops once a step would move no score by more than ``tol``, so its result does not
    depend on the others. A mixture's responsibilities are computed at the scores of the step
    before; at the first step a sample may belong to any component. ``rows`` come from `lay_out`,
    for callers that encode several blocks; ``start`` are initial scores.
    """
    index = np.arange(samples.start, samples.stop) if isinstance(samples, slice) else samples
    n = len(index)
    z = prior.fresh(n).law(n, n_factors) if start is None else start.copy()
    if rows is None:
        rows = lay_out(views)
    if _is_linear(views, prior):
        return update_scores(views, prior, z, index, rows=rows)
    curved = all(item.view.likelihood.has_curvature for item in views)
    active = np.arange(n)
    path = (Newton if curved else Anderson)(n, n_factors)
    for step in range(max_steps):
        old = z.take(active)
        near = prior.assign(old) if step else prior.fresh(len(active))
        if isinstance(path, Newton):
            plain, *ascent = _ascent(views, near, old, index[active], rows)
            points, moves = path.propose(old.mean, *ascent)
            # A step that is too short to be checked counts as arrived.
            plain.mean[moves <= tol] = points[moves <= tol]
        else:
            plain = update_scores(views, near, old, index[active], rows=rows)
            moves = np.abs(plain.mean - old.mean).max(axis=1)
            points = path.propose(old.mean, plain.mean)
        z.put(active, plain)
        going = np.flatnonzero(moves > tol)
        if not len(going):
            return z
        path.keep(going)
        active = active[going]
        last, z.mean[active] = plain.mean[going], points[going]
    z.mean[active] = last
    return z


def _is_linear(views: Sequence[ObservedView], prior: ScorePrior) -> bool:
    """Whether one update of the scores is exact, wherever it starts."""
    fixed = all(item.view.likelihood.has_fixed_sites for item in views)
    return fixed and isinstance(prior, StandardNormal)


def _ascent(
    views: Sequence[ObservedView],
    prior: ScorePrior,
    z: Normal,
    samples: NDArray[np.int64],
    rows: Sequence[Rows],
) -> tuple[Normal, Floats, Floats, Floats]:
    """Result of `update_scores`; gradient (n, K) and curvature (n, P) of the bound; P_n (n, P)."""
    precision, shift = prior.natural(*z.mean.shape)
    curvature = precision.copy()
    for item, laid_out in zip(views, rows, strict=True):
        added = view_sums(item, laid_out, z, samples, curved=True)
        precision += added.precision
        shift += added.shift
        curvature += added.curvature
    gradient = shift - times(precision, z.mean)
    return Normal.from_natural(precision, shift), gradient, curvature, precision


def encode_samples(
    model: Model,
    data: ObservedView,
    pool: Workers,
    block: int = BLOCK,
    prior: ScorePrior | None = None,
    kind: type[np.floating[Any]] = np.float64,
) -> Normal:
    """Label-free scores of all samples of ``data``, shape (N, K), with covariances of ``kind``.

    ``prior`` is that of the fit; it can be omitted if it has no learned state. Scores in other
    coordinates than their prior's are computed in the prior's, in which the tolerance is defined.
    """
    n = data.observed.shape[1]
    now = model.latent if prior is None else prior
    if isinstance(now, InBasis):
        state, inverse = data.state, np.asarray(np.linalg.inv(now.basis), np.float64)
        rows = state.rows.transformed(dual(now.basis, state.rows.order))
        inner = ObservedView(data.view, data.observed, replace(state, rows=rows))
        return encode_samples(model, inner, pool, block, now.inner, kind).transformed(inverse)
    if not isinstance(now, ScorePrior):
        raise ValueError(f"{type(now).__name__} has a state: give that of the fit as prior.")
    if n == 0:
        return now.fresh(0).law(0, model.n_factors)
    laid_out, k = lay_out([data]), model.n_factors
    scores = Normal.isotropic(np.zeros((n, k)), 1.0, kind)

    def encode_block(samples: slice) -> None:
        found = encode([data], now, samples, k, tol=TOL, max_steps=STEPS, rows=laid_out)
        scores.put(samples, found)

    pool.map(encode_block, slices(n, block))
    return scores
