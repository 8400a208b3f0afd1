"""Large tables in small: shards, core and samples of a few dozen."""

from __future__ import annotations

import numpy as np
import pytest

from rankfactor.engine.large import fit, held_out, placement
from rankfactor.estimators import large

N, D, K = 700, 16, 3


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit tables of more than 300 samples by shards of 64."""
    monkeypatch.setattr(placement, "SHARD", 64)
    monkeypatch.setattr(large, "LARGE", 300)
    monkeypatch.setattr(large, "SAMPLE", 400)
    monkeypatch.setattr(large, "CORE", 256)
    monkeypatch.setattr(fit, "CORE", 256)
    monkeypatch.setattr(held_out, "WITHHELD", 100)
    monkeypatch.setattr(held_out, "ENOUGH", 50)


@pytest.fixture(scope="session")
def counts() -> tuple[np.ndarray, np.ndarray]:
    """Counts of three factors with missing entries, (N, D), and two label columns (N, 2)."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((N, K))
    a = rng.standard_normal((D, K)) * (rng.random((D, K)) < 0.6)
    X = rng.poisson(np.exp(1.0 + z @ a.T * 0.6)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    first = np.where(z[:, 0] + 0.4 * rng.standard_normal(N) > 0, "case", "control")
    second = np.digitize(z[:, 1] + 0.3 * rng.standard_normal(N), [-0.6, 0.6])
    return X, np.column_stack([first, second.astype(str)]).astype(object)
