"""A table of counts in small shards, and fits to it for any placement of the shards."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from rankfactor import RankFactorClassifier
from rankfactor.engine.fit_settings import Labels
from rankfactor.engine.large import cluster, fit, held_out, placement, sources
from rankfactor.features.plan import FeaturePlan
from rankfactor.tasks import encode_labels, signed_labels

N, D, SHARD = 700, 12, 64


def make_small(monkeypatch):
    """Shards, core and sampled rows of a few dozen samples."""
    for module in (cluster, placement, sources):
        monkeypatch.setattr(module, "SHARD", SHARD)
    monkeypatch.setattr(fit, "CORE", 256)
    monkeypatch.setattr(held_out, "WITHHELD", 100)
    monkeypatch.setattr(held_out, "ENOUGH", 50)
    monkeypatch.setattr(cluster, "REPLACED", 0.5)


def counts(n=N, seed=3):
    """Counts of three factors, (n, D), and labels (n,)."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    a = np.random.default_rng(1).standard_normal((D, 3))
    X = rng.poisson(np.exp(1.0 + z @ a.T * 0.5)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.where(z[:, 0] + 0.5 * rng.standard_normal(n) > 0, "case", "control")


def chunks_of(X):
    def chunks(rows):
        return ((first, X[first : first + rows]) for first in range(0, len(X), rows))

    return chunks


def fitted(X, y, place, training="bayes", progress=None, rows=None):
    """A fit of four factors whose shards ``place`` places; ``rows`` are those sampled."""
    estimator = RankFactorClassifier(
        n_factors=4, training=training, n_threads=1, progress=progress, max_iter=60
    )
    model = estimator._build_model()
    settings = replace(estimator._classifier_settings(model), seed=0)
    if rows is None:
        rows = np.random.default_rng(0).permutation(len(X))[:400]
    plan, table = FeaturePlan.learn(X[rows])
    tasks, class_index = encode_labels(y, len(X))
    labels = Labels(tasks, class_index, signed_labels(tasks, class_index, None))
    names = np.arange(len(X)).astype(str)
    large = fit.LargeTable(len(X), rows, table.values, table.given, {}, names)
    return fit.fit_large(model, plan, large, labels, settings, place)


def placed(place, X, y=None):
    """Shards of a table under the coding of that table."""
    model = RankFactorClassifier(n_factors=4)._build_model()
    coding = model.data.learn(X)
    signed = np.zeros((0, len(X))) if y is None else np.where(y == "case", 1.0, -1.0)[None]
    return place(coding, 4, signed, np.zeros(len(X), bool), None)


# Steps of shards, which workers import.


def size_and_codes(shard):
    return {"n": shard.size, "codes": shard.observed.array.astype(float).sum(axis=1) / 7}


def place_of(shard):
    return shard.first, shard.size


def count_up(shard, by):
    """Count a step in the scores of a shard."""
    shard.z.mean[...] += by
    return {"z": shard.z.mean.sum()}


def slow_sizes(shard):
    time.sleep(0.2)
    return size_and_codes(shard)


def out_of_memory(shard):
    raise MemoryError
