"""Gibbs sampling: the same conditionals as variational Bayes, drawn from instead of averaged.

A sweep draws, in blocks, all scores given the rows; then for every view the auxiliary variables,
the likelihood's own parameters, the rows and the scales. Everything is the code of the local and
the global step with a `Stream`: variances are zero, and a law is replaced by a draw of it.

Every number is a function of (seed, chain, sweep, variable, row, sample), so the chain is the same
for any number of threads and any size of blocks, and a chain that was stopped goes on as if it
had not been.

Factors have no order or sign of their own; before draws are summarised each is matched to the
starting point (`rankfactor.inference.align`).
"""

from __future__ import annotations

import logging
import numbers
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields
from threading import Event
from typing import Protocol

import numpy as np

from rankfactor.errors import InputError
from rankfactor.inference.align import match_factors
from rankfactor.inference.globals import update_view
from rankfactor.inference.local import BLOCK, ObservedView, update_scores
from rankfactor.inference.threads import Workers, slices
from rankfactor.inference.vb import Fit
from rankfactor.kernels.packed import Floats, packed_size
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import RowArrays
from rankfactor.model import Model, ViewState, check_count

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]  # sweeps done, sweeps in all


@dataclass(frozen=True)
class Gibbs:
    """The Gibbs engine: how long to sample, and what to keep.

    Attributes
    ----------
    n_draws : int
        Draws of a chain that count.
    burn_in : int
        Sweeps before the first of them.
    thin : int
        Sweeps from one of them to the next.
    n_chains : int
        Chains, each from a draw of its own from the variational posterior.
    n_predict : int
        Draws, spread over all chains, that predictions average over.
    memory : float
        Megabytes for the draws kept of loadings and parameters. Where all would not fit, as many
        as do are kept, evenly spaced; means and covariances always use all of them.
    block : int
        Samples worked on together; changes the result by rounding only.
    checkpoint : path, optional
        Folder that the chains are written to as they run. A fit of the same problem with the same
        folder goes on from there, and so does one that only asks for more draws.
    checkpoint_every : int
        Sweeps from one such writing to the next; the end and Ctrl-C write, too.
    """

    n_draws: int = 500
    burn_in: int = 500
    thin: int = 1
    n_chains: int = 2
    n_predict: int = 20
    memory: float = 500.0
    block: int = BLOCK
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: int = 50

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
        if self.checkpoint is not None and not (
            isinstance(self.checkpoint, str | os.PathLike) and os.fspath(self.checkpoint)
        ):
            raise InputError(
                f"checkpoint must be the path of a folder or None, not {self.checkpoint!r}."
            )

    @property
    def last(self) -> int:
        """Sweeps of a chain, burn-in included."""
        return self.burn_in + self.n_draws * self.thin

    def spacing(self, draw_bytes: int) -> int:
        """Every how many draws one is kept, so that all chains' fit into the memory.

        A power of two, so that a longer chain keeps none but draws that a shorter one kept and can
        continue it; two draws are kept in any case.
        """
        room = max(int(1e6 * self.memory / (draw_bytes * self.n_chains)), 1)
        power = (-(-self.n_draws // room) - 1).bit_length()
        return 1 << min(power, (self.n_draws // 2).bit_length() - 1)


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


@dataclass
class Chain:
    """What a chain leaves, factors matched to the start.

    Attributes
    ----------
    loadings : list of float32 arrays, shape (d, K) or (d, K + 1)
        Rows of the table's view, at the draws kept.
    coefficients : list of float32 arrays, shape (R, K + 1)
        Rows of the labels' view, at scores that have seen the labels; empty without labels.
    params : list of RowArrays
        Parameters of the data likelihood, at the draws kept.
    rows, scores : Moments
        Of the rows, and of the scores that have seen the labels, over all draws.
    log_likelihood, sd_w : list of float
        One per sweep, burn-in included.
    state : Fit
        The state after the last sweep.
    sweep : int
        Number of sweeps done.
    kept : list of int
        Number of sweeps done at each of the draws kept.
    """

    loadings: list[Floats]
    coefficients: list[Floats]
    params: list[RowArrays]
    rows: Moments
    scores: Moments
    state: Fit
    sweep: int = 0
    log_likelihood: list[float] = field(default_factory=list)
    sd_w: list[float] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)


class Store(Protocol):
    """Where chains are kept from one run to the next (`rankfactor.inference.checkpoint`)."""

    def reference(self, loadings: Floats) -> Floats:
        """The loadings that draws are matched to: those of the first run."""
        ...

    def load(self, number: int, fit: Fit, settings: Gibbs, spacing: int) -> Chain | None:
        """A chain as it was left, None if it has not been begun."""
        ...

    def save(self, number: int, chain: Chain) -> None:
        """Write what is new of a chain."""
        ...


def draw_spacing(fit: Fit, settings: Gibbs) -> int:
    """Every how many draws one is kept."""
    # A copy holds what a kept draw would: some parameters are the sampler's own and stay behind.
    rows, params = fit.data.state.rows, fit.data.state.params.copy()
    arrays = [rows.mean.astype(np.float32), *(getattr(params, f.name) for f in fields(params))]
    return settings.spacing(sum(array.nbytes for array in arrays))


def start_chain(model: Model, fit: Fit, stream: Stream) -> Chain:
    """A chain that begins at a draw from the variational posterior."""
    beginning = stream.child("start")

    def drawn(item: ObservedView, label: str) -> ObservedView:
        source = beginning.child(label)
        state = item.state
        rows = state.rows.draw(source.child("rows"))
        params = state.params.draw(source.child("params"))
        return ObservedView(item.view, item.observed, ViewState(rows, params.copy(), state.scales))

    state = Fit(
        drawn(fit.data, "data"),
        None if fit.labels is None else drawn(fit.labels, "labels"),
        fit.z.draw(beginning.child("scores")),
        fit.history,
        converged=True,
    )
    rows = Moments.empty(*fit.data.state.rows.mean.shape)
    return Chain([], [], [], rows, Moments.empty(*fit.z.mean.shape), state)


def run_chain(
    model: Model,
    chain: Chain,
    reference: Floats,
    settings: Gibbs,
    stream: Stream,
    pool: Workers,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
    save: Callable[[Chain], None] = lambda chain: None,
) -> Chain:
    """Sweep until the chain has all its draws; Ctrl-C keeps those it has.

    Parameters
    ----------
    model : Model
    chain : Chain
        Taken on in place.
    reference : array, shape (d, K)
        Loadings that the draws' factors are matched to.
    settings : Gibbs
    stream : Stream
        The chain's own.
    pool : Workers
    progress : callable, optional
    stop : callable
        Asked before every sweep; the chain ends where it says so.
    save : callable
        Called every ``settings.checkpoint_every`` sweeps and when the chain ends.
    """
    spacing = draw_spacing(chain.state, settings)
    whole = True  # is the state that of the end of a sweep, so that it can be gone on from?
    try:
        while chain.sweep < settings.last and not stop():
            whole = False
            _sweep(model, chain, settings, stream.child("sweep", chain.sweep), pool)
            past = chain.sweep - settings.burn_in
            if past > 0 and past % settings.thin == 0:
                _keep(chain, reference, spacing)
            whole = True
            if chain.sweep % settings.checkpoint_every == 0:
                save(chain)
            if progress is not None:
                progress(chain.sweep, settings.last)
        save(chain)
    except KeyboardInterrupt:
        if whole:
            save(chain)
        if len(chain.loadings) < 2:
            raise
        warnings.warn(
            f"interrupted after {len(chain.loadings)} of {settings.n_draws} draws; these are kept.",
            UserWarning,
            stacklevel=2,
        )
    return chain


def _sweep(model: Model, chain: Chain, settings: Gibbs, stream: Stream, pool: Workers) -> None:
    """Draw everything once, in place."""
    fit = chain.state
    views = [fit.data] if fit.labels is None else [fit.data, fit.labels]

    def local_step(samples: slice) -> None:
        z = update_scores(views, model.latent, fit.z.take(samples), samples, stream.child("local"))
        fit.z.put(samples, z)

    pool.map(local_step, slices(len(fit.z.mean), settings.block))
    total = 0.0
    for number, item in enumerate(views):
        total += update_view(item, fit.z, pool, settings.block, stream.child("global", number))
    loadings = fit.data.state.rows.mean[:, : fit.z.order]
    moment = fit.z.mean.T @ fit.z.mean / len(fit.z.mean)
    variance = np.einsum("ik,kl,il->i", loadings, moment, loadings, optimize=True).mean()
    chain.log_likelihood.append(total)
    chain.sd_w.append(float(np.sqrt(variance)))
    chain.sweep += 1
    logger.debug("sweep %d: log likelihood %.6g", chain.sweep, total)


def _keep(chain: Chain, reference: Floats, spacing: int) -> None:
    """Match the factors to the reference, count the draw and, every ``spacing`` draws, keep it."""
    fit = chain.state
    n_factors = fit.z.order
    order, sign = match_factors(fit.data.state.rows.mean[:, :n_factors], reference)

    def matched(rows: Normal) -> Normal:
        extra = rows.order - n_factors
        full = np.append(order, np.arange(n_factors, n_factors + extra))
        return rows.reordered(full, np.append(sign, np.ones(extra)))

    rows = matched(fit.data.state.rows)
    chain.rows.add(rows)
    chain.scores.add(fit.z.reordered(order, sign))
    if chain.rows.count % spacing == 0 or spacing == 1:
        chain.loadings.append(rows.mean.astype(np.float32))
        chain.params.append(fit.data.state.params.copy())
        chain.kept.append(chain.sweep)
        if fit.labels is not None:
            chain.coefficients.append(matched(fit.labels.state.rows).mean.astype(np.float32))


def pooled(moments: Sequence[Moments]) -> Normal:
    """Normal laws with the mean and the covariance over the draws of all chains."""
    return Moments(
        sum(one.count for one in moments),
        np.sum([one.total for one in moments], axis=0),
        np.sum([one.second for one in moments], axis=0),
    ).law()


def sample(
    model: Model,
    fit: Fit,
    settings: Gibbs,
    stream: Stream,
    n_threads: int,
    progress: Progress | None = None,
    store: Store | None = None,
) -> list[Chain]:
    """Run all chains side by side, each on a thread of its own.

    Ctrl-C ends all chains after their present sweep. If each has at least two draws these are kept,
    with a warning; else it is raised. With a store, chains go on from where they were left.
    """
    reference = fit.data.state.rows.mean[:, : fit.z.order].copy()
    streams = [stream.child("chain", number) for number in range(settings.n_chains)]
    chains = [start_chain(model, fit, one) for one in streams]
    if store is not None:
        reference = store.reference(reference)
        spacing = draw_spacing(fit, settings)
        for number in range(settings.n_chains):
            chains[number] = store.load(number, fit, settings, spacing) or chains[number]
    ending = Event()
    done = [chain.sweep for chain in chains]

    def run(number: int) -> None:
        def tell(sweep: int, last: int) -> None:
            done[number] = sweep
            if progress is not None:
                progress(sum(done), last * settings.n_chains)

        def save(chain: Chain) -> None:
            if store is not None:
                store.save(number, chain)

        run_chain(
            model,
            chains[number],
            reference,
            settings,
            streams[number],
            Workers(),
            tell,
            ending.is_set,
            save,
        )

    with ThreadPoolExecutor(min(n_threads, settings.n_chains)) as threads:
        running = [threads.submit(run, number) for number in range(settings.n_chains)]
        try:
            for one in running:
                one.result()
        except KeyboardInterrupt:
            ending.set()
            wait(running)
            if min(len(chain.loadings) for chain in chains) < 2:
                raise
            kept = sum(len(chain.loadings) for chain in chains)
            warnings.warn(
                f"interrupted: the {kept} draws so far are kept.", UserWarning, stacklevel=2
            )
        except BaseException:
            ending.set()
            raise
    return chains
