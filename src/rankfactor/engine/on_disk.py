"""Output of chains on disk: checkpoints, and all draws.

`rankfactor.storage.checkpoint` and `rankfactor.storage.draw_store` define the files; this module
defines the content of a problem, the state of a chain and a draw. A resumed chain continues as if
it had not been stopped.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankfactor.__about__ import __version__
from rankfactor.engine.chain import Chain, Draw, Gibbs, as_draw, draw_spacing, label_rows
from rankfactor.errors import InputError
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Observed
from rankfactor.model import Model
from rankfactor.posterior.draws import scale_dims, scale_powers
from rankfactor.steps.score import TILE, ObservedView
from rankfactor.steps.workers import slices
from rankfactor.storage.archive import kinds_of, plain, stacked, unstacked
from rankfactor.storage.checkpoint import Checkpoint
from rankfactor.storage.draw_store import DrawStore, Quantity
from rankfactor.storage.forms import check_form

logger = logging.getLogger(__name__)

_STACKED = ("loadings", "params", "scales")  # one array for several draws


def describe(
    model: Model, observed: Observed, labels: Observed | None, stream: Stream
) -> dict[str, Any]:
    """Identity of a problem: model, data and seed."""
    return {
        "library": __version__,
        "model": plain(model.to_dict()),
        "table": _digest(observed),
        "labels": None if labels is None else _digest(labels),
        "seed": f"{stream.key:016x}",
    }


def _describe_chains(problem: dict[str, Any], model: Model, settings: Gibbs) -> dict[str, Any]:
    """Identity of chains: the problem and the settings of the sampler."""
    names = ("n_chains", "burn_in", "thin", "block")
    return {
        **problem,
        **{name: int(getattr(settings, name)) for name in names},
        "align": "rotate" if settings.rotates(model) else settings.align,
    }


def _digest(observed: Observed) -> str:
    """Hash of all observations, read tile by tile."""
    n_rows, n_samples = observed.shape
    content = hashlib.blake2b(f"{n_rows} {n_samples}".encode(), digest_size=16)
    for rows in slices(n_rows, TILE):
        content.update(observed.content(rows))
    return content.hexdigest()


def open_on_disk(
    settings: Gibbs, model: Model, problem: dict[str, Any], features: Sequence[str] = ()
) -> tuple[Checkpoint | None, DrawStore | None]:
    """The checkpoint and the group of draws from the settings; None for each if not requested.

    ``problem`` is that of `describe`.
    """
    problem = _describe_chains(problem, model, settings)
    checkpoint = store = None
    if settings.checkpoint is not None:
        checkpoint = Checkpoint(settings.checkpoint, problem)
    if settings.store is not None:
        store = DrawStore(settings.store, problem, settings.n_chains, settings.n_draws, features)
    return checkpoint, store


def save_chain(store: Checkpoint, number: int, chain: Chain) -> None:
    """Write new draws, then the state; nothing if there was no sweep since."""
    sweep, saved = chain.saved
    if chain.sweep == sweep:
        return
    draws = chain.draws[saved:]
    rows = [one.coefficients for one in draws if one.coefficients is not None]
    decisions = [one.decisions for one in draws if one.decisions is not None]
    parts = [{name: getattr(one, name) for name in _STACKED} for one in draws]
    piece = {
        "kept": np.array(chain.kept[saved:], np.int64),
        **stacked(parts),
        "coefficients": np.array(rows, np.float32),
        "decisions": np.array(decisions, np.float32),
        "priors": tuple(one.prior for one in draws),
    }
    store.save(number, _state(chain), piece)
    chain.saved = chain.sweep, len(chain.draws)


def _state(chain: Chain) -> dict[str, Any]:
    """A chain without its draws."""
    fit = chain.state
    return {
        "data": fit.data.state,
        "labels": None if fit.labels is None else fit.labels.state,
        "z": fit.z,
        "prior": fit.prior,
        "rows": chain.rows,
        "scores": chain.scores,
        "sweep": chain.sweep,
        "log_likelihood": np.array(chain.log_likelihood),
        "sd_w": np.array(chain.sd_w),
    }


def resumed(store: Checkpoint, number: int, start: Chain, settings: Gibbs) -> Chain:
    """A chain at its last saved state, with the draws that the settings keep.

    Parameters
    ----------
    store : Checkpoint
    number : int
    start : Chain
        Start of the chain, returned if nothing was saved.
    settings : Gibbs
    """
    found = store.load(number, kinds_of(_state(start)))
    if found is None:
        return start
    try:
        chain = _assembled(*found, start)
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise store.damaged(number, repr(problem)) from problem
    if chain.sweep > settings.last and settings.target_ess is None:
        raise InputError(
            f"the folder {store.path} already contains {chain.rows.count} draws per chain: set "
            "n_draws to at least this number, or choose another folder."
        )
    step = draw_spacing(start.state, settings) * settings.thin
    wanted = range(settings.burn_in + step, chain.sweep + 1, step)
    chosen = [i for i, sweep in enumerate(chain.kept) if sweep in wanted]
    if len(chosen) < len(wanted):
        raise InputError(
            f"the folder {store.path} contains fewer draws than memory={settings.memory:g} has "
            "room for: use the earlier memory, or choose another folder."
        )
    chain.draws, chain.kept = [chain.draws[i] for i in chosen], [chain.kept[i] for i in chosen]
    chain.saved = chain.sweep, len(chosen)
    logger.info("chain %d resumes from sweep %d", number, chain.sweep)
    return chain


def _assembled(state: dict[str, Any], pieces: list[dict[str, Any]], start: Chain) -> Chain:
    """The chain of a state and of the pieces that it counts."""
    fit, expected = start.state, _state(start)
    n_samples = fit.data.observed.shape[1]
    for name in ("data", "labels", "z", "prior", "rows", "scores", "sweep"):
        check_form(state[name], expected[name], name, n_samples)
    like = vars(as_draw(fit, fit.data.state.rows, label_rows(fit), fit.prior.fresh(0)))
    labels = None
    if fit.labels is not None:
        labels = ObservedView(fit.labels.view, fit.labels.observed, state["labels"])
    data = ObservedView(fit.data.view, fit.data.observed, state["data"])
    chain = Chain(
        state["rows"],
        state["scores"],
        replace(fit, data=data, labels=labels, z=state["z"], prior=state["prior"]),
        state["sweep"],
        state["log_likelihood"].tolist(),
        state["sd_w"].tolist(),
    )
    for piece in pieces:
        count = len(piece["kept"])
        parts = unstacked({name: piece[name] for name in _STACKED}, count)
        for part in parts:
            for name in ("loadings", "params", *(["scales"] if part["scales"] else [])):
                check_form(part[name], like[name], name, n_samples)
        rows, decisions = (
            piece[name] if len(piece[name]) else [None] * count
            for name in ("coefficients", "decisions")
        )
        for row, decided in zip(rows, decisions, strict=True):
            check_form(row, like["coefficients"], "coefficients", n_samples)
            if decided is not None and decided.ndim != 2:
                raise ValueError("decisions are not those of every row")
        chain.kept += piece["kept"].tolist()
        chain.draws += [
            Draw(**part, coefficients=row, prior=prior, decisions=decided)
            for part, row, prior, decided in zip(
                parts, rows, piece["priors"], decisions, strict=True
            )
        ]
    if len(chain.kept) != state["kept"] or chain.sweep != len(chain.log_likelihood):
        raise ValueError("its draws are not those that it counts")
    return chain


def quantities(model: Model, draw: Draw, log_likelihood: float) -> dict[str, Quantity]:
    """Quantities written for every draw, by name."""
    k = model.n_factors
    result = {
        "lp": Quantity(np.asarray(log_likelihood), (), group="sample_stats"),
        "loadings": Quantity(draw.loadings[:, :k], ("feature", "factor"), True, 1),
    }
    if draw.loadings.shape[1] > k:
        result["feature_mean"] = Quantity(draw.loadings[:, k], ("feature",))
    if draw.coefficients is not None:
        rows = draw.coefficients
        dims = ("row", "component")[: rows.ndim - 1]
        result["coefficients"] = Quantity(rows[..., :k], (*dims, "factor"), True, 1)
        result["intercept"] = Quantity(rows[..., k], dims)
    for name, values in draw.params.named().items():
        result[name] = Quantity(values, ("feature", "cut")[: values.ndim])
    known, powers = scale_dims(model), scale_powers(model)
    for name, values in draw.scales.items():
        result[name] = Quantity(values, known[name], power=powers[name])
    return result
