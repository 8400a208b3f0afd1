"""Gibbs sampling: the same conditionals as variational Bayes, drawn from instead of averaged.

A sweep draws, in blocks, all scores given the rows; then for every view the auxiliary variables,
the likelihood's own parameters, the rows and the scales. Everything is the code of the local and
the global step with a `Stream`: variances are zero, and a law is replaced by a draw of it. The
units of the factors come last (`rankfactor.engine.expansion`), for the sake of mixing.

With a mixture a sweep begins with the samples' components and ends with the mixture's parameters
and one unit for all factors. Components may change their numbers from draw to draw: nothing is
averaged over draws that would need them matched, and a prediction is made with one draw's own
components.

Every number is a function of (seed, chain, sweep, variable, row, sample), so the chain is the same
for any number of threads and any size of blocks, and a resumed chain equals an uninterrupted one.

Factors have no order or sign of their own; before draws are summarised each is matched to the
starting point (`rankfactor.engine.alignment`).
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers.per_component import assign_block
from rankfactor.engine.alignment import Groups, free_groups, matching
from rankfactor.engine.axes import angle_spread, draw_axes
from rankfactor.engine.binary_rows import as_label_rows, choose_binary_rows, put_back
from rankfactor.engine.chain import (
    Chain,
    Gibbs,
    Moments,
    as_draw,
    draw_spacing,
    label_rows,
)
from rankfactor.engine.column_scales import draw_column_scales
from rankfactor.engine.expansion import draw_common_unit, draw_units
from rankfactor.engine.label_rows import LabelRows, draw_label_rows, integrates
from rankfactor.engine.location import draw_location
from rankfactor.engine.on_disk import quantities, resumed, save_chain
from rankfactor.engine.probes import batch_size, probe_decisions
from rankfactor.engine.row_scales import draw_row_scales
from rankfactor.engine.vb import Fit
from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture, ScorePrior
from rankfactor.model import Model, ViewState
from rankfactor.posterior.diagnostics import MIN_DRAWS
from rankfactor.posterior.mixing import ess_bulk, r_hat
from rankfactor.steps.fused import label_sums, update_rows
from rankfactor.steps.row import update_scales, update_view
from rankfactor.steps.score import ObservedView, Sums, sample_law, view_sums
from rankfactor.steps.workers import Workers, slices
from rankfactor.storage.checkpoint import Checkpoint
from rankfactor.storage.draw_store import ChainRecord
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)

# Called with the sweeps done, those in all, and what is known of convergence.
Sweeps = Callable[[int, int, str], None]
OneChain = Callable[[int, int], None]


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
        prior=fit.prior.draw(beginning.child("prior")),
    )
    rows = Moments.empty(*fit.data.state.rows.mean.shape)
    return Chain(rows, Moments.empty(*fit.z.mean.shape), state)


def run_chain(
    model: Model,
    chain: Chain,
    reference: Floats,
    settings: Gibbs,
    stream: Stream,
    pool: Workers,
    progress: OneChain | None = None,
    stop: Callable[[], bool] = lambda: False,
    save: Callable[[Chain], None] = lambda chain: None,
    groups: Groups = (),
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
    groups : sequence of int arrays
        Factors that are matched by a rotation of each group.
    """
    spacing = draw_spacing(chain.state, settings)
    chain.keep_every(spacing, settings)
    chain.decided, batch = len(chain.draws), batch_size(chain.state.data.observed)
    whole = True  # is the chain complete up to its last sweep, so that it can be resumed?
    try:
        while chain.sweep < settings.last and not stop():
            source = stream.child("sweep", chain.sweep)
            state, log_likelihood = _sweep(model, chain.state, settings, source, pool)
            # All that takes time is done, and nothing of it is in the chain yet: an interrupt up to
            # here costs the present sweep and no more.
            whole = False
            _advance(chain, state, log_likelihood)
            past = chain.sweep - settings.burn_in
            if past > 0 and past % settings.thin == 0:
                _keep(model, chain, reference, spacing, groups)
            whole = True
            saving = chain.sweep % settings.checkpoint_every == 0
            if saving or len(chain.draws) - chain.decided >= batch:
                _decide(model, chain)
            if saving:
                save(chain)
            if progress is not None:
                progress(chain.sweep, settings.last)
        _decide(model, chain)
        save(chain)
    except KeyboardInterrupt:
        _decide(model, chain)
        if whole:
            save(chain)
        if len(chain.draws) < 2:
            raise
        warnings.warn(
            f"interrupted after {len(chain.draws)} of {settings.n_draws} draws; these are kept.",
            UserWarning,
            stacklevel=2,
        )
    return chain


def _sweep(
    model: Model, state: Fit, settings: Gibbs, stream: Stream, pool: Workers
) -> tuple[Fit, float]:
    """Everything drawn once: the next state, in arrays of its own, and the log likelihood.

    The log likelihood is that of the state before or, where scores come first, of the new scores
    with the old rows.
    """
    fit = _duplicate(state)
    views, everyone, block = fit.views, slice(0, len(fit.z.mean)), settings.block

    def assignment(samples: slice) -> ScorePrior:
        source = stream.child("components")
        z = fit.z.take(samples)
        return assign_block(fit.prior.take(samples), fit.labels, z, samples, source)

    # A sample's component first: the auxiliary variables of the labels, which it is drawn without,
    # are all drawn after it.
    fit.assign(pool.map(assignment, slices(everyone.stop, block)))
    fused = fit.data.view.likelihood.has_fused_draw
    chosen, left_out = choose_binary_rows(fit.data, stream.child("binary"))
    if fused:
        source = stream.child("table")
        total, second, first = update_rows(fit.data, fit.z, pool, source, left_out)
    else:
        total, second, first = 0.0, *_table_sums(fit, pool, block, stream.child("local"), left_out)
    precision, shift = fit.prior.natural(*fit.z.mean.shape)
    precision, shift = precision + second, shift + first
    labels, source = fit.labels, stream.child("labels")
    collapsed = labels is not None and integrates(labels)
    parts = []
    if labels is not None and collapsed:
        parts.append(LabelRows.of(labels))
    elif labels is not None:
        rows = labels.rows(variance=False)
        more, push, terms = label_sums(labels, rows, fit.z, everyone, source)
        precision, shift, total = precision + more, shift + push, total + terms
    if len(chosen):
        parts.append(as_label_rows(fit.data, chosen))
    if parts:
        found, before = draw_label_rows(parts, precision, shift, fit.z, source)
        for more, push in found:
            precision, shift = precision + more, shift + push
        total += before[0] if collapsed else 0.0
    if len(chosen):
        put_back(parts[-1])
        second, first = second + found[-1][0], first + found[-1][1]
    fit.z.put(everyone, sample_law(precision, shift, stream, everyone))
    draw_column_scales(fit.data, fit.z, second, first, stream.child("columns"))
    if not fused:
        total += update_view(fit.data, fit.z, pool, block, stream.child("global"))
    if labels is not None and not collapsed:
        update_view(labels, fit.z, pool, block, source.child("rows"))
    fit.prior = fit.prior.update(fit.z, stream.child("prior"))
    _move(fit, views, stream)
    return fit, total


def _move(fit: Fit, views: Sequence[ObservedView], stream: Stream) -> None:
    """Draw what no likelihood depends on, and the scales, in place."""
    draw_row_scales(fit.data, fit.z, stream.child("rows"))
    fit.prior = draw_axes(views, fit.z, fit.prior, stream.child("axes"))
    for number, item in enumerate(views):
        update_scales(item, fit.z.order, stream.child("scales", number))
    if isinstance(fit.prior, Mixture):
        fit.prior = draw_common_unit(views, fit.z, fit.prior, stream.child("units"))
    else:
        draw_units(views, fit.z, stream.child("units"))
    fit.prior = draw_location(views, fit.z, fit.prior, stream.child("location"))


def _table_sums(
    fit: Fit, pool: Workers, block: int, stream: Stream, left_out: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    """What the table says of the scores, with auxiliary variables of its own: (N, P), (N, K)."""
    rows = fit.data.rows(variance=False)

    def sums(samples: slice) -> Sums:
        z = fit.z.take(samples)
        return view_sums(fit.data, rows, z, samples, stream, left_out=left_out)

    parts = pool.map(sums, slices(len(fit.z.mean), block))
    precision = np.concatenate([part.precision for part in parts])
    return precision, np.concatenate([part.shift for part in parts])


def _advance(chain: Chain, state: Fit, log_likelihood: float) -> None:
    """Take a sweep into account."""
    loadings, z = state.data.state.rows.mean[:, : state.z.order], state.z.mean
    variance = np.vdot(loadings @ (z.T @ z / len(z)), loadings) / len(loadings)
    chain.state = state
    chain.log_likelihood.append(log_likelihood)
    chain.sd_w.append(float(np.sqrt(variance)))
    chain.sweep += 1
    logger.debug("sweep %d: log likelihood %.6g", chain.sweep, log_likelihood)


def _duplicate(fit: Fit) -> Fit:
    """A state whose arrays can be written to without a change of the old one's."""

    def view(item: ObservedView) -> ObservedView:
        state = item.state
        # Not `copy`, which leaves behind what is the sampler's own.
        params = state.params.take(np.arange(len(state.rows.mean)))
        return ObservedView(
            item.view, item.observed, ViewState(state.rows.copy(), params, state.scales)
        )

    labels = None if fit.labels is None else view(fit.labels)
    return Fit(view(fit.data), labels, fit.z.copy(), fit.history, fit.prior)


def _keep(model: Model, chain: Chain, reference: Floats, spacing: int, groups: Groups) -> None:
    """Match the factors to the reference, count the draw and, every ``spacing`` draws, keep it."""
    fit = chain.state
    match = matching(fit.data.state.rows.mean[:, : fit.z.order], reference, groups)
    rows = match.rows(fit.data.state.rows)
    chain.rows.add(rows)
    chain.scores.add(match.rows(fit.z))
    kept = chain.rows.count % spacing == 0
    if not kept and chain.record is None:
        return
    labels = label_rows(fit)
    coefficients = None if labels is None else match.rows(labels)
    prior = fit.prior.fresh(0)
    if isinstance(prior, Mixture):
        prior = replace(prior, centres=match.rows(prior.centres))
    draw = as_draw(fit, rows, coefficients, prior, match.order, rotated=bool(groups))
    if kept:
        chain.draws.append(draw)
        chain.kept.append(chain.sweep)
    if chain.record is not None:
        chain.record.add(chain.rows.count - 1, quantities(model, draw, chain.log_likelihood[-1]))


def _decide(model: Model, chain: Chain) -> None:
    """Give the draws that have none their decisions at the probes."""
    waiting = chain.draws[chain.decided :]
    if waiting and waiting[0].coefficients is not None:
        decisions = probe_decisions(model, chain.state.data.observed, waiting)
        chain.draws[chain.decided :] = [
            replace(draw, decisions=one) for draw, one in zip(waiting, decisions, strict=True)
        ]
    chain.decided = len(chain.draws)


def sample(
    model: Model,
    fit: Fit,
    settings: Gibbs,
    stream: Stream,
    n_threads: int,
    progress: Sweeps | None = None,
    store: Checkpoint | None = None,
    records: Sequence[ChainRecord] | None = None,
) -> list[Chain]:
    """Run all chains side by side, each on a thread of its own.

    With a target, chains are made half as long again until they reach it or the time is up. Ctrl-C
    ends all chains after their present sweep. If each has at least two draws these are kept,
    with a warning; else it is raised. With a store, chains go on from where they were left; with
    records, one a chain, all draws go there.
    """
    reference = fit.data.state.rows.mean[:, : fit.z.order].copy()
    groups = _rotated_groups(model, fit, settings)
    streams = [stream.child("chain", number) for number in range(settings.n_chains)]
    chains = [start_chain(model, fit, one) for one in streams]
    if store is not None:
        reference = store.reference(reference)
        chains = [resumed(store, *one, settings) for one in enumerate(chains)]
    if records is not None:
        for chain, record in zip(chains, records, strict=True):
            record.begin(chain.rows.count)
            chain.record = record
    ending = Event()
    done = [chain.sweep for chain in chains]
    late = Deadline(settings, chains)
    told = ""

    def run(number: int) -> None:
        def tell(sweep: int, last: int) -> None:
            done[number] = sweep
            if progress is not None:
                # Chains with a target may go on after their last sweep.
                more = settings.target_ess is not None
                progress(sum(done), last * settings.n_chains + more, told)

        def save(chain: Chain) -> None:
            # First: a resumed state counts draws that must be on disk.
            if chain.record is not None:
                chain.record.flush()
            if store is not None:
                save_chain(store, number, chain)

        run_chain(
            model,
            chains[number],
            reference,
            reached,
            streams[number],
            Workers(),
            tell,
            lambda: ending.is_set() or late.passed,
            save,
            groups,
        )

    reached = settings
    with ThreadPoolExecutor(min(n_threads, settings.n_chains)) as threads:
        try:
            while True:
                # Within the block: Ctrl-C may come when only some of the chains have begun.
                running = [threads.submit(run, number) for number in range(settings.n_chains)]
                for one in running:
                    one.result()
                if settings.target_ess is None or late.passed:
                    break
                ratio, size = mixing_so_far(chains)
                if ratio <= settings.target_r_hat and size >= settings.target_ess:
                    break
                told = f"R-hat {ratio:.3f}, {size:.0f} of {settings.target_ess:.0f} effective draws"
                logger.info("%d draws a chain: %s", reached.n_draws, told)
                reached = reached.longer()
        except KeyboardInterrupt:
            ending.set()
            threads.shutdown()
            if min(len(chain.draws) for chain in chains) < 2:
                raise
            kept = sum(len(chain.draws) for chain in chains)
            warnings.warn(
                f"interrupted: the {kept} draws so far are kept.", UserWarning, stacklevel=2
            )
        except BaseException:
            ending.set()
            raise
    if progress is not None and settings.target_ess is not None:
        progress(sum(done), sum(done), told)
    return chains


def _rotated_groups(model: Model, fit: Fit, settings: Gibbs) -> Groups:
    """Groups of factors whose draws are rotated, judged at the variational fit."""
    if settings.rotates(model):
        return [np.arange(fit.z.order)]
    return free_groups(angle_spread(fit.views, fit.z.order)) if settings.align == "auto" else ()


class Deadline:
    """Whether chains with a target have run for as long as they may.

    Chains run on until each has a few draws.
    """

    def __init__(self, settings: Gibbs, chains: Sequence[Chain]) -> None:
        limited = settings.target_ess is not None
        self._end = time.monotonic() + 60.0 * settings.max_minutes if limited else math.inf
        self._chains = chains

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        if time.monotonic() < self._end:
            return False
        return min(len(chain.draws) for chain in self._chains) >= MIN_DRAWS


def mixing_so_far(chains: Sequence[Chain]) -> tuple[float, float]:
    """R-hat and bulk effective sample size: of the decisions or, without labels, the likelihood."""
    length = min(len(chain.draws) for chain in chains)
    found = []
    for chain in chains:
        decisions = [one.decisions for one in chain.draws[:length] if one.decisions is not None]
        lines = np.array(chain.log_likelihood)[np.array(chain.kept[:length]) - 1]
        found.append(np.array(decisions).reshape(length, -1) if decisions else lines[:, None])
    if length < MIN_DRAWS:
        return math.inf, 0.0
    draws = np.stack(found).astype(np.float64)
    return float(np.fmax.reduce(r_hat(draws))), float(ess_bulk(draws).min())
