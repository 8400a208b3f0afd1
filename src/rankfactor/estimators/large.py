"""Tables of many samples, in memory, in files or on a cluster, for the estimators.

A table is surveyed in one pass (`rankfactor.features.survey`); the plan is learned from the sampled
rows, and a fit goes by shards (`rankfactor.engine.large`). Tables of up to `LARGE` samples are
fitted whole, wherever they come from.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rankfactor.data.memory import bytes_of
from rankfactor.data.streams import LabelledStream, TableStream, open_stream, with_labels
from rankfactor.data.streams.base import joined, rows_of
from rankfactor.engine.fit import fit_posterior
from rankfactor.engine.fit_settings import FitSettings, Labels
from rankfactor.engine.large.fit import CORE, SAMPLE, LargeTable, fit_large, why_not_large
from rankfactor.engine.large.placement import LocalPlacement
from rankfactor.errors import InputError, did_you_mean
from rankfactor.features.matching import refuse_shuffled
from rankfactor.features.survey import SAMPLED_BYTES, Survey, streamed_values, survey
from rankfactor.model import Model
from rankfactor.posterior import Posterior

if TYPE_CHECKING:
    from rankfactor.estimators.base import FactorModel

LARGE = 2**15  # samples up to which a table is fitted whole


def as_stream(X: Any, estimator: FactorModel, model: Model, settings: FitSettings) -> Any:
    """The table as a stream where it is to be fitted by shards or read from a file; else None.

    A table in memory that has few samples, or a model without a fit by shards, goes the usual way
    unless an amount of memory says otherwise.
    """
    if estimator.memory is not None:
        bytes_of(estimator.memory)  # refuses what is no amount
    if estimator.memory is not None or isinstance(X, TableStream | str | Path):
        return open_stream(X)
    shape = getattr(X, "shape", None)
    known = isinstance(X, np.ndarray | pd.DataFrame) or hasattr(X, "obs_names") or _is_sparse(X)
    if not known or shape is None or len(shape) != 2 or shape[0] <= LARGE:
        return None
    return None if why_not_large(model, settings) else open_stream(X)


def stays_in_memory(X: Any, estimator: FactorModel) -> bool:
    """Whether a table is held by the caller, with no limit of memory: its samples are kept."""
    return estimator.memory is None and not isinstance(X, TableStream | str | Path)


def _is_sparse(X: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(X))


def labelled(stream: TableStream, y: Any) -> TableStream:
    """The stream without its label columns, where ``y`` names some; labels are read with it."""
    named = [y] if isinstance(y, str) else y
    if not isinstance(named, list) or not named or not all(isinstance(one, str) for one in named):
        return stream
    known = [] if stream.columns is None else list(stream.columns)
    noted = [] if stream.annotations is None else list(stream.annotations.columns)
    absent = [one for one in named if one not in known and one not in noted]
    if absent and isinstance(y, str):
        raise InputError(
            f"{stream.name} has no column {y!r} to take as label.{did_you_mean(y, known + noted)}"
        )
    return stream if absent else with_labels(stream, named)


def labels_of(stream: TableStream, y: Any, names: Any) -> Any:
    """Labels of a stream that was read: its own, or those given, in the order of its samples."""
    if isinstance(stream, LabelledStream) and (y is None or isinstance(y, str | list)):
        found = stream.labels
        return found[y] if isinstance(y, str) else found
    if names is not None:
        refuse_shuffled(pd.DataFrame(index=pd.Index(names)), y)
    return y


def fit_stream(
    estimator: FactorModel,
    model: Model,
    stream: TableStream,
    found: Survey,
    labels: Labels | None,
    settings: FitSettings,
    keep_samples: bool,
) -> Posterior:
    """Fit a model to a surveyed table.

    Parameters
    ----------
    estimator : FactorModel
        Whose arguments say how a table becomes features.
    model : Model
    stream : TableStream
    found : Survey
    labels : Labels or None
        Of all samples.
    settings : FitSettings
    keep_samples : bool
        Whether the posterior keeps names and scores of all samples.
    """
    if found.n_rows <= LARGE:
        whole = found.table
        if not found.is_whole:
            whole = joined([chunk.table for chunk in stream.chunks(found.n_rows)])
        plan, table = estimator._learn(whole, model)
        return fit_posterior(model, plan, table, labels, settings)
    reason = why_not_large(model, settings)
    if reason is not None:
        raise InputError(reason)
    # In random order, so that the first of them are a sample as well.
    order = np.random.default_rng(settings.seed).permutation(len(found.rows))
    plan, table = estimator._learn(rows_of(found.table, order), model)
    levels = found.feature_levels(plan)
    names = None
    if keep_samples:
        given = found.sample_names
        if given is None:
            given = np.char.add("sample", np.arange(found.n_rows).astype(str))
        names = np.asarray(given, np.str_)
    large = LargeTable(found.n_rows, found.rows[order], table.values, table.given, levels, names)
    del table
    options = {"estimator": estimator, "sparse": model.takes_sparse, "exact": model.exact}

    def chunks(rows: int) -> Any:
        return streamed_values(plan, stream, rows, **options)

    memory = None if estimator.memory is None else bytes_of(estimator.memory)
    place = LocalPlacement(chunks, memory, estimator.scratch)
    return fit_large(model, plan, large, labels, settings, place)


def surveyed(stream: TableStream, settings: FitSettings, memory: Any) -> Survey:
    """The survey that a fit begins with."""
    most = SAMPLED_BYTES if memory is None else bytes_of(memory) // 8
    return survey(stream, seed=settings.seed, n_sampled=SAMPLE, sampled_bytes=most)


def core_of(found: Survey, seed: int) -> tuple[Any, Any]:
    """Numbers of the samples that a fit begins with, and their rows as given."""
    order = np.random.default_rng(seed).permutation(len(found.rows))[:CORE]
    return found.rows[order], rows_of(found.table, order)
