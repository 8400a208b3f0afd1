r"""Simulated tables of known sparse factors, seen in different forms.

Every table has ``y = A z + e`` with standard normal scores z and noise e of a given standard
deviation. A true loading is standard normal with probability 0.4 and zero otherwise. The features
of y are scaled to unit variance, and a form turns y into the values that a method sees. The true
standardised loadings are those of y, whatever the form:

    a_ik / sqrt( sum_k a_ik^2 + noise^2 )
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankfactor.engine.alignment import match_factors
from rankfactor.experiments.damage import exponentiated, with_missing, with_outliers
from rankfactor.typing import Floats

NONZERO = 0.4  # probability of a loading that is not zero
LEVELS = 5
EVEN = 4.0  # Dirichlet parameter of the shares of levels: larger makes features more alike
MISSING = 0.3


class Size(NamedTuple):
    """Size of a simulated table."""

    n: int = 300
    d: int = 80
    n_factors: int = 4
    noise: float = 0.7  # standard deviation

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, K = {self.n_factors}, noise {self.noise:g}"


class Simulated(NamedTuple):
    """A table as a method sees it, and the truth behind it."""

    X: Floats  # (n, d), NaN = missing
    loadings: Floats  # (d, K), standardised


def simulate(size: Size, form: str, seed: int, repeat: int = 0) -> Simulated:
    """Draw a table in one of `FORMS`.

    The factors depend on the size, the seed and the repeat only, so that all forms of a repeat show
    the same y.
    """
    rng = np.random.default_rng([seed, repeat])
    shape = size.d, size.n_factors
    loadings = rng.standard_normal(shape) * (rng.random(shape) < NONZERO)  # (d, K)
    scores = rng.standard_normal((size.n, size.n_factors))
    noise = size.noise * rng.standard_normal((size.n, size.d))
    sd = np.sqrt((loadings**2).sum(axis=1) + size.noise**2)  # (d,)
    y = (scores @ loadings.T + noise) / sd  # (n, d)
    of_form = np.random.default_rng([seed, repeat, list(FORMS).index(form)])
    return Simulated(FORMS[form].see(y, of_form), loadings / sd[:, None])


def cosine(found: Floats, truth: Floats) -> float:
    """Mean absolute cosine of found and true loadings, factors matched one to one.

    Parameters
    ----------
    found : array, shape (d, k)
        In any order, with any signs and lengths: tiny but nonzero loadings count by their
        direction. A true factor without a match has cosine 0.
    truth : array, shape (d, K)
        True factors without any loading are left out.
    """
    found, truth = _directions(found), _directions(truth)
    absent = max(truth.shape[1] - found.shape[1], 0)
    found = np.pad(found, ((0, 0), (0, absent)))  # (d, at least K)
    order, _ = match_factors(found, truth)
    return float(np.abs((found[:, order] * truth).sum(axis=0)).mean())


def _directions(loadings: Floats) -> Floats:
    """Columns of length 1, shape (d, at most K); those without any loading are left out."""
    kept = loadings[:, loadings.any(axis=0)]
    kept = kept / np.abs(kept).max(axis=0, initial=0.0)  # squares of tiny numbers would be zero
    return np.asarray(kept / np.linalg.norm(kept, axis=0))


def _values(y: Floats, rng: np.random.Generator) -> Floats:
    return y


def _raw(y: Floats, rng: np.random.Generator) -> Floats:
    return exponentiated(y)


def _counts(y: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(rng.poisson(np.exp(y)), float)


def _levels(y: Floats, rng: np.random.Generator) -> Floats:
    """Levels 0, 1, ..., cut at quantiles that differ by feature."""
    shares = rng.dirichlet(np.full(LEVELS, EVEN), y.shape[1])  # (d, levels)
    inner = np.cumsum(shares, axis=1)[:, :-1]  # (d, levels - 1)
    cuts = np.stack([np.quantile(*one) for one in zip(y.T, inner, strict=True)])  # as inner
    return np.asarray((y[:, :, None] > cuts).sum(axis=2), float)


def _missing(y: Floats, rng: np.random.Generator) -> Floats:
    return with_missing(y, rng, MISSING)


def _mixture(y: Floats, rng: np.random.Generator) -> Floats:
    """One of the other complete forms for every feature, as evenly as possible."""
    whole = (_values, _raw, with_outliers, _counts, _levels)
    which = rng.permutation(y.shape[1]) % len(whole)  # (d,)
    X = np.empty_like(y)
    for number, see in enumerate(whole):
        X[:, which == number] = see(y[:, which == number], rng)
    return X


class Form(NamedTuple):
    """Form in which a method sees y."""

    label: str
    see: Callable[[Floats, np.random.Generator], Floats]  # y (n, d) to X (n, d)


FORMS = {
    "values": Form("Gaussian values", _values),
    "raw": Form("raw scale", _raw),
    "outliers": Form("1 % outliers", with_outliers),
    "counts": Form("Poisson counts", _counts),
    "levels": Form("five levels", _levels),
    "mixture": Form("mixture of all", _mixture),
    "missing": Form("30 % missing", _missing),
}
