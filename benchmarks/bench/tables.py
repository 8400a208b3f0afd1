"""The tables that are fitted: real ones where RANKFACTOR_DATA has them, else simulated."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """Samples, features, and the archive whose training part has that shape."""

    n: int
    d: int
    archive: str | None = None

    @property
    def name(self):
        return f"{self.n} x {self.d}"


SHAPES = (
    Shape(767, 256, "usps_3v5.npz"),
    Shape(334, 4732),
    Shape(133, 15158),
    Shape(11552, 784, "mnist_3v5.npz"),
    Shape(20000, 2000),
)
QUICK = (Shape(60, 40),)


def simulate(n, d, n_factors=20, seed=0):
    """Sparse loadings, normal noise, skewed features; two classes."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, n_factors)) * (rng.random((d, n_factors)) < 0.3)
    scores = rng.standard_normal((n, n_factors))
    X = scores @ loadings.T
    X += 2 * rng.standard_normal((n, d))
    X[:, ::3] = np.exp(X[:, ::3] / 4)
    return X, (scores[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int)


def write_table(shape, folder):
    """Write X.npy and y.npy (both plain numbers) to a folder; returns where they came from."""
    source = os.environ.get("RANKFACTOR_DATA")
    path = Path(source) / shape.archive if source and shape.archive else None
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as archive:
            X, y = archive["X_train"].astype(float), archive["y_train"]
        if X.shape != (shape.n, shape.d):
            raise ValueError(f"{path.name} holds {X.shape}, not {shape.name}.")
        y, origin = np.unique(y, return_inverse=True)[1], path.stem
    else:
        (X, y), origin = simulate(shape.n, shape.d), "simulated"
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return origin
