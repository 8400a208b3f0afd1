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
for any number of threads and any size of blocks, and a chain that was stopped goes on as if it
had not been.

Factors have no order or sign of their own; before draws are summarised each is matched to the
starting point (`rankfactor.engine.alignment`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np

from rankfactor.classifiers.per_component import assign_block
from rankfactor.engine.alignment import matching
from rankfactor.engine.chain import (
    Chain,
    Gibbs,
    Moments,
    as_draw,
    draw_spacing,
    label_rows,
)
from rankfactor.engine.expansion import draw_common_unit, draw_units
from rankfactor.engine.on_disk import quantities, resumed, save_chain
from rankfactor.engine.vb import Fit
from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.model import Model, ViewState
from rankfactor.steps.fused import update_fused
from rankfactor.steps.row import update_view
from rankfactor.steps.score import ObservedView, update_scores
from rankfactor.steps.workers import Workers, slices
from rankfactor.storage.checkpoint import Checkpoint
from rankfactor.storage.draw_store import ChainRecord
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)

Sweeps = Callable[[int, int], None]  # called with the sweeps done and those in all


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
    progress: Sweeps | None = None,
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
    whole = True  # does the chain count all that it has done, so that it can be gone on from?
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
                _keep(model, chain, reference, spacing, settings.rotates(model))
            whole = True
            if chain.sweep % settings.checkpoint_every == 0:
                save(chain)
            if progress is not None:
                progress(chain.sweep, settings.last)
        save(chain)
    except KeyboardInterrupt:
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
    views, blocks = fit.views, slices(len(fit.z.mean), settings.block)

    def assignment(samples: slice) -> ScorePrior:
        source = stream.child("components")
        z = fit.z.take(samples)
        return assign_block(fit.prior.take(samples), fit.labels, z, samples, source)

    # A sample's component first: the auxiliary variables of the labels, which it is drawn without,
    # are all drawn after it.
    fit.assign(pool.map(assignment, blocks))
    fused = fit.data.view.likelihood.has_fused_step
    if fused:
        source = stream.child("table")
        total, _ = update_fused(views, fit.prior, fit.z, pool, settings.block, _as_it_is, source)
    else:
        total = _update_apart(fit, pool, settings.block, stream)
    if fit.labels is not None:
        terms = update_view(fit.labels, fit.z, pool, settings.block, stream.child("global", 1))
        if not fused:
            total += terms
    fit.prior = fit.prior.update(fit.z, stream.child("prior"))
    if isinstance(fit.prior, Mixture):
        fit.prior = draw_common_unit(views, fit.z, fit.prior, stream.child("units"))
    else:
        draw_units(views, fit.z, stream.child("units"))
    return fit, total


def _as_it_is(prior: ScorePrior, z: Normal, samples: slice) -> ScorePrior:
    return prior


def _update_apart(fit: Fit, pool: Workers, block: int, stream: Stream) -> float:
    """Scores, then the table's view, each with auxiliary variables of its own; in place."""
    source, rows = stream.child("local"), [item.rows(variance=False) for item in fit.views]

    def local_step(samples: slice) -> None:
        prior, z = fit.prior.take(samples), fit.z.take(samples)
        fit.z.put(samples, update_scores(fit.views, prior, z, samples, source, rows))

    pool.map(local_step, slices(len(fit.z.mean), block))
    return update_view(fit.data, fit.z, pool, block, stream.child("global", 0))


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


def _keep(model: Model, chain: Chain, reference: Floats, spacing: int, rotate: bool) -> None:
    """Match the factors to the reference, count the draw and, every ``spacing`` draws, keep it."""
    fit = chain.state
    match = matching(fit.data.state.rows.mean[:, : fit.z.order], reference, rotate)
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
    draw = as_draw(fit, rows, coefficients, prior, match.order, rotated=rotate)
    if kept:
        chain.draws.append(draw)
        chain.kept.append(chain.sweep)
    if chain.record is not None:
        chain.record.add(chain.rows.count - 1, quantities(model, draw, chain.log_likelihood[-1]))


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

    Ctrl-C ends all chains after their present sweep. If each has at least two draws these are kept,
    with a warning; else it is raised. With a store, chains go on from where they were left; with
    records, one a chain, all draws go there.
    """
    reference = fit.data.state.rows.mean[:, : fit.z.order].copy()
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

    def run(number: int) -> None:
        def tell(sweep: int, last: int) -> None:
            done[number] = sweep
            if progress is not None:
                progress(sum(done), last * settings.n_chains)

        def save(chain: Chain) -> None:
            # First: a state that is gone on from counts draws that are on disk.
            if chain.record is not None:
                chain.record.flush()
            if store is not None:
                save_chain(store, number, chain)

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
        try:
            # Within the block: Ctrl-C may come when only some of the chains have begun.
            running = [threads.submit(run, number) for number in range(settings.n_chains)]
            for one in running:
                one.result()
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
    return chains
