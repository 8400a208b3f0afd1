"""A chain of the Gibbs sampler: its settings, its running moments and the draws it keeps.

Means and covariances are updated with every draw, so their memory does not grow; loadings,
parameters and scales are kept for as many draws as fit into `Gibbs.memory`, evenly spaced.
"""

from __future__ import annotations

import numbers
import os
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.vb import Fit
from rankfactor.errors import InputError, check_count, check_path, check_positive
from rankfactor.kernels.packed import packed_size
from rankfactor.latent import Mixture, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import RowArrays
from rankfactor.model import Model
from rankfactor.steps.score import BLOCK
from rankfactor.storage.draw_store import ChainRecord
from rankfactor.typing import Floats

OneDraw = dict[str, NDArray[np.float32]]
_SMALLEST, _LARGEST = np.finfo(np.float32).tiny, np.finfo(np.float32).max


@dataclass(frozen=True)
class Gibbs:
    """The Gibbs engine: how long to sample, and what to keep.

    Attributes
    ----------
    n_draws : int, default 2000
        Draws of a chain that count.
    burn_in : int, default 500
        Sweeps before the first of them.
    thin : int, default 1
        Sweeps from one of them to the next.
    n_chains : int, default 4
        Chains, each from a draw of its own from the variational posterior.
    target_ess : float, optional
        Go on beyond ``n_draws`` until the bulk effective sample size is as large, and R-hat at most
        ``target_r_hat``, for the decision function at all probes (without labels, for the log
        likelihood).
    target_r_hat : float, default 1.01
        The largest R-hat at which chains count as converged.
    max_minutes : float, default 10
        With ``target_ess``, the time after which the chains stop even if the target is not reached.
        The result then depends on the speed of the machine.
    n_predict : int, default 100
        Draws, spread over all chains, that predictions average over and that intervals are made of:
        with 100 the width of an interval has a relative standard error of 7 %.
    memory : float
        Megabytes for the draws kept of loadings, coefficients, parameters and scales. Where all
        would not fit, as many as do are kept, evenly spaced; means and covariances always use all
        of them.
    block : int
        Samples worked on together; changes the result by rounding only.
    checkpoint : path, optional
        Folder that the chains are written to as they run. A fit of the same problem with the same
        folder resumes there, and so does one that only asks for more draws.
    checkpoint_every : int
        Sweeps between two checkpoints; the end and Ctrl-C write one as well.
    store : path, optional
        Zarr group that every draw is written to, whatever the memory has room for
        (`rankfactor.open_draws` reads it). Needs the extra ``rankfactor[zarr]``.
    align : {"auto", "permute", "rotate"}
        How draws are matched to the starting point: by the order and the signs of the factors, or
        by a rotation of them. "auto" rotates where the priors of all rows are the same in every
        direction, and within groups of factors whose axes the priors hardly tell apart. Where
        anything is rotated, draws have no scales.
    """

    n_draws: int = 2000
    burn_in: int = 500
    thin: int = 1
    n_chains: int = 4
    target_ess: float | None = None
    target_r_hat: float = 1.01
    max_minutes: float = 10.0
    n_predict: int = 100
    memory: float = 500.0
    block: int = BLOCK
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: int = 50
    store: str | os.PathLike[str] | None = None
    align: Literal["auto", "permute", "rotate"] = "auto"

    def __post_init__(self) -> None:
        """Refuse settings that make no chain."""
        for name in ("n_draws", "thin", "n_chains", "n_predict", "block", "checkpoint_every"):
            check_count(name, getattr(self, name))
        if self.n_draws < 2:
            raise InputError(f"n_draws must be at least 2, not {self.n_draws!r}.")
        if isinstance(self.burn_in, bool) or self.burn_in != 0:
            check_count("burn_in", self.burn_in)
        if not (isinstance(self.memory, numbers.Real) and self.memory > 0):
            raise InputError(f"memory must be a positive number of megabytes, not {self.memory!r}.")
        if self.target_ess is not None:
            check_positive("target_ess", self.target_ess)
        check_positive("max_minutes", self.max_minutes)
        check_positive("target_r_hat", self.target_r_hat)
        if self.target_r_hat <= 1:
            raise InputError(f"target_r_hat must be above 1, not {self.target_r_hat!r}.")
        if self.store is not None and self.target_ess is not None:
            raise InputError(
                "a store has room for n_draws draws: leave target_ess out, or leave store out."
            )
        for name, what in (("checkpoint", "a folder"), ("store", "a Zarr group")):
            check_path(name, what, getattr(self, name))
        if self.align not in ("auto", "permute", "rotate"):
            raise InputError(f"align must be 'auto', 'permute' or 'rotate', not {self.align!r}.")

    @property
    def last(self) -> int:
        """Sweeps of a chain, burn-in included."""
        return self.burn_in + self.n_draws * self.thin

    def rotates(self, model: Model) -> bool:
        """Whether draws of a model are rotated."""
        if self.align != "auto":
            return self.align == "rotate"
        labelled = model.label is not None
        return model.loading_shrinkage.rotation_invariant and (
            not labelled or model.coefficient_shrinkage.rotation_invariant
        )

    def spacing(self, draw_bytes: int) -> int:
        """Every how many draws one is kept, so that all chains' fit into the memory.

        A power of two, so that a longer chain keeps none but draws that a shorter one kept and can
        continue it; two draws are kept in any case.
        """
        room = max(int(1e6 * self.memory / (draw_bytes * self.n_chains)), 1)
        power = (-(-self.n_draws // room) - 1).bit_length()
        return 1 << min(power, (self.n_draws // 2).bit_length() - 1)

    def longer(self) -> Gibbs:
        """The settings of chains half as long again."""
        return replace(self, n_draws=self.n_draws + (self.n_draws + 1) // 2)


@dataclass
class Moments:
    """Mean and second moment of rows, summed on line over draws."""

    count: int
    total: Floats  # (n, K)
    second: Floats  # (n, P)

    @classmethod
    def empty(cls, n: int, order: int) -> Moments:
        """Nothing summed yet."""
        return cls(0, np.zeros((n, order)), np.zeros((n, packed_size(order))))

    def add(self, draw: Normal) -> None:
        """Take one draw in."""
        self.count += 1
        self.total += draw.mean
        self.second += draw.second

    def law(self) -> Normal:
        """Normal law with the draws' mean and covariance."""
        mean = self.total / self.count
        outer = Normal(mean, np.zeros_like(self.second), np.zeros(len(mean))).second
        return Normal(mean, self.second / self.count - outer, np.zeros(len(mean)))


@dataclass(frozen=True)
class Draw:
    """One draw as it is kept, factors matched.

    Attributes
    ----------
    loadings : float32 array, shape (d, K) or (d, K + 1)
        Rows of the table's view.
    coefficients : float32 array, shape (R, K + 1) or (R, T, K + 1), or None
        Rows of the labels' view, where there are labels; with a mixture, of every component.
    params : RowArrays
        Parameters of the data likelihood.
    scales : dict of float32 arrays
        Shrinkage scales of both views (`kept_scales`).
    prior : ScorePrior
        Of the scores, without the training samples' components.
    decisions : float32 array, shape (R, probes), or None
        Label-free decisions at the probes (`rankfactor.engine.probes`), where there are labels.
    """

    loadings: NDArray[np.float32]
    coefficients: NDArray[np.float32] | None
    params: RowArrays
    scales: OneDraw
    prior: ScorePrior = StandardNormal()
    decisions: NDArray[np.float32] | None = None

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return _size(self)


def _size(value: object) -> int:
    """Bytes of all arrays within a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if is_dataclass(value):
        return sum(_size(getattr(value, one.name)) for one in fields(value))
    return 0


@dataclass
class Chain:
    """What a chain leaves, factors matched to the start.

    Attributes
    ----------
    rows, scores : Moments
        Of the rows, and of the scores that have seen the labels, over all draws.
    state : Fit
        The state after the last sweep.
    sweep : int
        Number of sweeps done.
    log_likelihood, sd_w : list of float
        One per sweep, burn-in included.
    draws : list of Draw
        The draws kept.
    kept : list of int
        Number of sweeps done at each of them.
    decided : int
        Number of the draws kept that have their decisions.
    saved : (int, int)
        Number of sweeps, and of the draws kept, that a checkpoint has.
    record : ChainRecord or None
        Where all draws go.
    """

    rows: Moments
    scores: Moments
    state: Fit
    sweep: int = 0
    log_likelihood: list[float] = field(default_factory=list)
    sd_w: list[float] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    decided: int = 0
    saved: tuple[int, int] = (0, 0)
    record: ChainRecord | None = None

    def keep_every(self, spacing: int, settings: Gibbs) -> None:
        """Keep only the draws that chains of this spacing keep."""
        step = spacing * settings.thin
        chosen = [i for i, at in enumerate(self.kept) if (at - settings.burn_in) % step == 0]
        if len(chosen) == len(self.kept):
            return
        written = sum(i < self.saved[1] for i in chosen)
        self.draws, self.kept = [self.draws[i] for i in chosen], [self.kept[i] for i in chosen]
        self.saved = self.saved[0], written


def draw_spacing(fit: Fit, settings: Gibbs) -> int:
    """Every how many draws one is kept."""
    rows, prior = fit.data.state.rows, fit.prior.fresh(0)
    return settings.spacing(as_draw(fit, rows, label_rows(fit), prior).nbytes)


def label_rows(fit: Fit) -> Normal | None:
    """Rows of the labels' view, where there are labels."""
    return None if fit.labels is None else fit.labels.state.rows


def as_draw(
    fit: Fit,
    loadings: Normal,
    coefficients: Normal | None,
    prior: ScorePrior,
    order: NDArray[np.int64] | None = None,
    rotated: bool = False,
) -> Draw:
    """What is kept of a state, given what was matched of it, and the order of the factors."""
    rows = None if coefficients is None else coefficients.mean.astype(np.float32)
    if rows is not None and isinstance(prior, Mixture):
        rows = rows.reshape(-1, prior.n_components, rows.shape[1])
    return Draw(
        loadings.mean.astype(np.float32),
        rows,
        # Some parameters are the sampler's own: a copy leaves them behind.
        fit.data.state.params.copy(),
        {} if rotated else kept_scales(fit, order),
        prior,
    )


def kept_scales(fit: Fit, order: NDArray[np.int64] | None = None) -> OneDraw:
    """The scales of a state, of the factors ``factor[order]``.

    Values out of the range of 32 bits take its end: a scale of 1e-38 switches its loading off as
    one of 1e-300 does. With a mixture, the rows of the labels are parted into those of its
    components.
    """
    result: OneDraw = {}
    for prefix, item in (("loading", fit.data), ("coefficient", fit.labels)):
        if item is None:
            continue
        prior = item.view.shrinkage
        for name, values in prior.kept(item.state.scales).items():
            if order is not None and "factor" in prior.kept_dims[name]:
                values = values[..., order]
            local = prefix == "coefficient" and prior.kept_dims[name][:1] == ("row",)
            if local and isinstance(fit.prior, Mixture):
                values = values.reshape(-1, fit.prior.n_components, *values.shape[1:])
            small = np.clip(values, _SMALLEST, _LARGEST).astype(np.float32)
            result[f"{prefix}_{name}"] = np.asarray(small)
    return result
