"""Large tables in memory, in files or on a cluster, for the estimators.

A table is surveyed in one pass (`rankfactor.features.survey`); the plan is learned from sampled
rows, and the fit works on shards (`rankfactor.engine.large`). Tables of up to `LARGE` samples are
fitted whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rankfactor.data.memory import bytes_of
from rankfactor.data.streams import LabelledStream, TableStream, open_stream, with_labels
from rankfactor.data.streams.base import joined, n_rows_of, rows_of
from rankfactor.data.streams.collections import DaskStream, is_collection
from rankfactor.engine.fit import fit_posterior
from rankfactor.engine.fit_settings import FitSettings, Labels
from rankfactor.engine.large.connecting import connect, current_client, mapped
from rankfactor.engine.large.fit import CORE, SAMPLE, LargeTable, fit_large, why_not_large
from rankfactor.engine.large.placement import LocalPlacement
from rankfactor.engine.large.shards import stage_of
from rankfactor.errors import InputError, did_you_mean
from rankfactor.features.matching import refuse_shuffled
from rankfactor.features.plan import FeaturePlan
from rankfactor.features.survey import SAMPLED_BYTES, Survey, survey
from rankfactor.features.survey_parts import survey_parts
from rankfactor.model import Model
from rankfactor.posterior import Posterior
from rankfactor.posterior.tables import chunk_rows, is_elsewhere, opened_stream, stacked

if TYPE_CHECKING:
    from rankfactor.estimators.base import FactorModel

LARGE = 2**15  # samples up to which a table is fitted whole


def as_stream(X: Any, estimator: FactorModel, model: Model, settings: FitSettings) -> Any:
    """The table as a stream if it is fitted by shards or read from a file; else None.

    A table in memory with few samples, or a model without a sharded fit, is fitted as usual unless
    a memory limit is set.
    """
    if estimator.memory is not None:
        bytes_of(estimator.memory)  # refuses invalid amounts
    asked = estimator.memory is not None or estimator.cluster is not None
    if asked or isinstance(X, TableStream | str | Path) or is_collection(X):
        return _opened(X, estimator)
    shape = getattr(X, "shape", None)
    known = isinstance(X, np.ndarray | pd.DataFrame) or hasattr(X, "obs_names") or _is_sparse(X)
    if not known or shape is None or len(shape) != 2 or not by_shards(shape[0]):
        return None
    return None if why_not_large(model, settings) else _opened(X, estimator)


def by_shards(n_samples: int) -> bool:
    """Whether a table of this many samples is fitted by shards, if its model can be."""
    return n_samples > LARGE


def _opened(X: Any, estimator: FactorModel) -> TableStream:
    """A stream of the table with the requested covariates; a given stream already has them."""
    if isinstance(X, TableStream):
        return X
    stream = open_stream(X)
    wanted = estimator.covariates
    return stream if wanted is None else stream.with_covariates(list(wanted))


def stays_in_memory(X: Any, estimator: FactorModel) -> bool:
    """Whether the caller holds the table in memory without a limit, so that samples are kept."""
    elsewhere = isinstance(X, TableStream | str | Path) or is_collection(X)
    return estimator.memory is None and not elsewhere


@contextmanager
def cluster_of(estimator: FactorModel, stream: TableStream) -> Iterator[Any]:
    """A client of the cluster that a fit runs on; None for this process.

    A Dask collection without ``cluster`` runs on the current client, if there is one.
    """
    if estimator.cluster is None and not isinstance(stream, DaskStream):
        yield None
        return
    cluster = current_client() if estimator.cluster is None else estimator.cluster
    if cluster is None:
        yield None
        return
    with connect(cluster) as client:
        yield client


def _is_sparse(X: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(X))


def labelled(stream: TableStream, y: Any) -> TableStream:
    """The stream without its label columns, if ``y`` names some; labels are read with it."""
    named = [y] if isinstance(y, str) else y
    if not isinstance(named, list) or not named or not all(isinstance(one, str) for one in named):
        return stream
    known = [] if stream.columns is None else list(stream.columns)
    noted = [] if stream.annotations is None else list(stream.annotations.columns)
    absent = [one for one in named if one not in known and one not in noted]
    if absent and isinstance(y, str):
        raise InputError(
            f"{stream.name} has no column {y!r} to use as label.{did_you_mean(y, known + noted)}"
        )
    return stream if absent else with_labels(stream, named)


def labels_of(stream: TableStream, y: Any, names: Any) -> Any:
    """Labels of a stream that was read: its own, or those given, in the order of its samples."""
    if is_collection(y):
        return y.compute()
    if isinstance(stream, LabelledStream) and (y is None or isinstance(y, str | list)):
        found = stream.labels
        return found[y] if isinstance(y, str) else found
    if names is not None:
        refuse_shuffled(pd.DataFrame(index=pd.Index(names)), y)
    return y


@dataclass(frozen=True)
class Prepare:
    """Transform of rows to the values that a model sees; cluster workers get a copy."""

    plan: FeaturePlan
    sparse: bool
    exact: str

    def __call__(self, rows: Any) -> Any:
        """Values of some rows."""
        return self.plan.apply(rows, sparse=self.sparse, exact=self.exact)


def fit_stream(
    estimator: FactorModel,
    model: Model,
    stream: TableStream,
    found: Survey,
    labels: Labels | None,
    settings: FitSettings,
    keep_samples: bool,
    client: Any = None,
) -> Posterior:
    """Fit a model to a surveyed table.

    Parameters
    ----------
    estimator : FactorModel
        Its arguments define the features of the table.
    model : Model
    stream : TableStream
    found : Survey
    labels : Labels or None
        Of all samples.
    settings : FitSettings
    keep_samples : bool
        Whether the posterior keeps names and scores of all samples.
    client : distributed.Client, optional
        Of the cluster that has the shards.
    """
    if not by_shards(found.n_rows):
        whole = found.table
        if not found.is_whole:
            whole = joined([chunk.table for chunk in stream.chunks(found.n_rows)])
        plan, table = estimator._learn(whole, model)
        return fit_posterior(model, plan, table, labels, settings)
    reason = why_not_large(model, settings)
    if reason is not None:
        raise InputError(reason)
    # In random order, so that the first of them are a random sample as well.
    order = np.random.default_rng(settings.seed).permutation(len(found.rows))
    plan, table = estimator._learn(rows_of(found.table, order), model)
    levels = found.feature_levels(plan)
    found.forget()
    names = None
    if keep_samples:
        given = found.sample_names
        if given is None:
            given = np.char.add("sample", np.arange(found.n_rows).astype(str))
        names = np.asarray(given, np.str_)
    large = LargeTable(found.n_rows, found.rows[order], table.values, table.given, levels, names)
    del table
    prepare = Prepare(plan, model.takes_sparse, model.exact)

    def chunks(rows: int) -> Iterator[tuple[int, Any]]:
        return ((chunk.first, prepare(chunk.table)) for chunk in stream.chunks(rows))

    memory = None if estimator.memory is None else bytes_of(estimator.memory)
    if client is None:
        place = LocalPlacement(chunks, memory, estimator.scratch, stage_of(settings.progress))
        return fit_large(model, plan, large, labels, settings, place)
    from rankfactor.engine.large.dask_placement import DaskPlacement
    from rankfactor.engine.large.sources import source_of

    source = source_of(stream, prepare, chunks, client)
    with DaskPlacement(source, client, memory, estimator.scratch) as on_cluster:
        return fit_large(model, plan, large, labels, settings, on_cluster)


def surveyed(stream: TableStream, settings: FitSettings, memory: Any, client: Any) -> Survey:
    """The survey that a fit begins with."""
    # Above 1.9 GB, the sample does not depend on the amount.
    most = SAMPLED_BYTES if memory is None else min(SAMPLED_BYTES, bytes_of(memory) // 7)
    if client is not None and isinstance(stream, DaskStream):
        return survey_parts(
            stream, client, seed=settings.seed, n_sampled=SAMPLE, sampled_bytes=most
        )
    stage = stage_of(settings.progress)
    told = None if stage is None else partial(stage, "Reading the table")
    return survey(stream, seed=settings.seed, n_sampled=SAMPLE, sampled_bytes=most, progress=told)


def predicted(estimator: FactorModel, method: str, X: Any) -> Any:
    """Result of a method of the posterior for a table, computed on the cluster if there is one.

    Parameters
    ----------
    estimator : FactorModel
    method : {"scores_of", "decisions_of"}
    X : table
        A table in memory stays in this process.
    """
    posterior, on_missing = estimator.posterior_, estimator.missing_features
    if is_collection(X) or (estimator.cluster is not None and is_elsewhere(X)):
        stream = opened_stream(X, posterior.plan.covariate_names)
        with cluster_of(estimator, stream) as client:
            if client is not None:
                function = partial(_predicted_there, method, on_missing)
                found = mapped(client, function, posterior, _parts(stream, client))
                parts = [part for part in found if part is not None]
                if not parts:
                    raise InputError(f"{stream.name} has no rows: give at least one sample.")
                return stacked(parts)
    return getattr(posterior, method)(X, on_missing, estimator.n_threads, estimator=estimator)


def _parts(stream: TableStream, client: Any) -> Iterator[Any]:
    """Consecutive rows of a table; those of a Dask collection stay on the cluster."""
    if isinstance(stream, DaskStream):
        yield from map(client.compute, stream.parts)
    else:
        yield from (chunk.table for chunk in stream.chunks(chunk_rows(stream.n_columns)))


def _predicted_there(method: str, on_missing: str, posterior: Posterior, rows: Any) -> Any:
    """On a worker: result for some rows, None without any."""
    return getattr(posterior, method)(rows, on_missing, 1) if n_rows_of(rows) else None


def refuse_unfit(estimator: Any, n_samples: int) -> None:
    """Refuse a model that cannot be fitted to a large table, before the table is read."""
    model = estimator._build_model()
    find = getattr(estimator, "_classifier_settings", lambda _: estimator._settings())
    reason = why_not_large(model, find(model))
    if reason is not None and by_shards(n_samples):
        raise InputError(reason)


def core_of(found: Survey, seed: int) -> tuple[Any, Any]:
    """Indices of the samples that initialise a fit, and their rows as given."""
    order = np.random.default_rng(seed).permutation(len(found.rows))[:CORE]
    return found.rows[order], rows_of(found.table, order)
