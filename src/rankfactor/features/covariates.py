"""Covariates: known columns of the samples that are not themselves of interest.

A `Design` turns columns such as age, sex and batch into numbers: numeric ones centred and scaled,
text as one indicator per level except the first, also centred, so that zero is the training mean,
which also replaces missing values. An `Adjustment` is the use of covariates in a model:

- ``"regress"``: they are regressed out of every feature on the rank scale (`RankRegression`);
- ``"block"``: they enter the model as features in a separate block.

The regression, for feature i with the normal scores s_in of its training ranks and a design c_n
that begins with 1:

    b_i = argmin_b sum_{n seen} (s_in - b . c_n)^2,      residual  r_in = s_in - b_i . c_n.

A feature keeps at most ``max_knots`` observed values with their normal scores (of the mid-rank for
ties). A value between two of them gets the mean of their scores, a value beyond the ends that of
the nearest: unlike interpolation by distance, this is invariant to increasing transforms of the
feature. Knots are stored per feature in increasing order, so no sample can be reconstructed from
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack, issparse
from scipy.special import ndtri

from rankfactor.errors import InputError
from rankfactor.typing import Floats

MAX_KNOTS = 64
USES = ("regress", "block")
_BLOCK = 512  # features regressed together
# Rounding keeps samples with equal feature and covariates tied, and makes fully explained values
# zero instead of rounding errors with ranks.
_DIGITS = 9


@dataclass(frozen=True)
class Covariate:
    """Transform of one column to numbers."""

    name: str
    levels: tuple[str, ...] | None  # of a text column in increasing order; None for a numeric one
    # Training mean and standard deviation of a numeric column; for a text column the shares of all
    # levels except the first, and ones.
    centre: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def learn(cls, name: str, column: pd.Series[Any]) -> Covariate:
        """The kind, levels and moments of a training column."""
        levels: tuple[str, ...] | None = None
        if _is_numeric(column):
            seen = _numbers(name, column)
            seen = seen[~np.isnan(seen)]
            spread = float(seen.std()) if seen.size else 0.0
            varies = spread > 0
            centre: tuple[float, ...] = (float(seen.mean()) if seen.size else 0.0,)
            scale: tuple[float, ...] = (spread if varies else 1.0,)
        else:
            known = column.dropna().astype(str)
            levels = tuple(sorted(known.unique()))
            varies = len(levels) > 1
            centre = tuple(float((known == level).mean()) for level in levels[1:])
            scale = (1.0,) * len(centre)
        if not varies:
            warnings.warn(
                f"the column {name!r} does not vary among the training samples, so nothing is "
                "learned from it.",
                UserWarning,
                stacklevel=2,
            )
        return cls(name, levels, centre, scale)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features from the column: for two levels only the second."""
        if self.levels is None:
            return [self.name]
        shown = self.levels if len(self.levels) > 2 else self.levels[1:]
        return [f"{self.name}={level}" for level in shown]

    def raw(self, column: pd.Series[Any]) -> Floats:
        """Numbers, or indicators of levels except the first; NaN where missing, shape (N, p)."""
        if self.levels is None:
            return _numbers(self.name, column)[:, None]
        missing = column.isna().to_numpy()
        text = pd.Index([str(value) for value in column], dtype=object)
        found = pd.Index(self.levels, dtype=object).get_indexer(text)
        new = (found < 0) & ~missing
        if new.any():
            warnings.warn(
                f"the column {self.name!r} has values that it did not have in training, such as "
                f"{str(column[new].iloc[0])!r}: they count as missing.",
                UserWarning,
                stacklevel=2,
            )
        indicators = (found[:, None] == np.arange(1, max(len(self.levels), 1))).astype(float)
        indicators[missing | new] = np.nan
        return np.asarray(indicators)


@dataclass(frozen=True)
class Design:
    """Covariates as numbers, as learned from training samples."""

    columns: tuple[Covariate, ...]

    @classmethod
    def learn(cls, frame: pd.DataFrame) -> Design:
        """Design of the columns of training samples."""
        return cls(tuple(Covariate.learn(str(name), frame[name]) for name in frame.columns))

    @property
    def names(self) -> list[str]:
        """Names of the covariates."""
        return [column.name for column in self.columns]

    def matrix(self, frame: pd.DataFrame) -> Floats:
        """Centred numbers of samples, zero where a covariate is missing, shape (N, p).

        The frame has the covariates in their order.
        """
        parts = [np.zeros((len(frame), 0))]
        for number, column in enumerate(self.columns):
            raw = column.raw(frame.iloc[:, number])
            missing = np.isnan(raw).any(axis=1)
            if missing.any():
                warnings.warn(
                    f"{int(missing.sum())} of {len(frame)} samples have no value of the covariate "
                    f"{column.name!r}: the training mean is used.",
                    UserWarning,
                    stacklevel=2,
                )
            scaled = (raw - np.array(column.centre)) / np.array(column.scale)
            parts.append(np.nan_to_num(scaled, nan=0.0))
        return np.column_stack(parts)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of `features`."""
        return [name for column in self.columns for name in column.feature_names]

    def features(self, frame: pd.DataFrame) -> Floats:
        """Covariates as features, NaN where missing, shape (N, q).

        Every level of a text column has a feature; for two levels only the second.
        """
        parts = [np.zeros((len(frame), 0))]
        for number, column in enumerate(self.columns):
            raw = column.raw(frame.iloc[:, number])
            if column.levels is not None and len(column.levels) > 2:
                raw = np.column_stack([1.0 - raw.sum(axis=1), raw])
            parts.append(raw)
        return np.column_stack(parts)

    def to_list(self) -> list[dict[str, Any]]:
        """The columns as plain values."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_list(cls, columns: Sequence[Mapping[str, Any]]) -> Design:
        """Inverse of `to_list`; tuples may have become lists."""

        def whole(name: str, levels: Any, centre: Any, scale: Any) -> Covariate:
            levels = None if levels is None else tuple(levels)
            return Covariate(name, levels, tuple(centre), tuple(scale))

        return cls(tuple(whole(**one) for one in columns))


def _is_numeric(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_numeric_dtype(column.dtype):  # booleans are also numbers
        return True
    if column.dtype != object:
        return False
    # A frame of mixed columns, transposed or sliced, stores numbers as objects.
    known = column.dropna()
    return len(known) > 0 and all(isinstance(one, int | float | np.number) for one in known)


def _numbers(name: str, column: pd.Series[Any]) -> Floats:
    """A numeric covariate, NaN where missing, shape (N,)."""
    numeric = pd.to_numeric(column, errors="coerce").astype("Float64")
    values = numeric.to_numpy(np.float64, na_value=np.nan)
    wrong = (np.isnan(values) & column.notna().to_numpy()) | np.isinf(values)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"row {column.index[row]!r}, covariate {name!r} holds {column.iloc[row]!r}, which is "
            "not a finite number as in training: correct it, or mark it as missing (NaN)."
        )
    return np.asarray(values)


@dataclass(frozen=True)
class RankRegression:
    """Regression of every feature's normal scores on the covariates."""

    knots: Floats  # (D, J), observed values in increasing order, +inf past ``n_knots``
    scores: Floats  # (D, J), their normal scores
    n_knots: NDArray[np.int64]  # (D,)
    coefficients: Floats  # (D, 1 + p), intercept and slopes of the normal scores

    @classmethod
    def learn(cls, values: Floats, design: Floats, max_knots: int = MAX_KNOTS) -> RankRegression:
        """Regression of a table (N, D), NaN where missing, on a centred design (N, p)."""
        n_samples, n_features = values.shape
        full = np.column_stack([np.ones(n_samples), design])
        width = full.shape[1]
        if width >= n_samples:
            raise InputError(
                f"the covariates make {width - 1} columns, too many for {n_samples} samples: leave "
                "some out, or merge the levels of those that are text."
            )
        pairs = [_knots(values[:, i], max_knots) for i in range(n_features)]
        n_knots = np.array([len(knots) for knots, _ in pairs], np.int64)
        knots = np.full((n_features, int(n_knots.max(initial=0))), np.inf)
        scores = np.zeros_like(knots)
        for i, (at, score) in enumerate(pairs):
            knots[i, : len(at)], scores[i, : len(at)] = at, score
        blank = cls(knots, scores, n_knots, np.zeros((n_features, width)))
        products = np.einsum("nj,nl->njl", full, full).reshape(n_samples, -1)
        coefficients = np.zeros((n_features, width))
        for first in range(0, n_features, _BLOCK):
            block = slice(first, min(first + _BLOCK, n_features))
            given = blank.normal_scores(values, block)
            seen = ~np.isnan(given)
            gram = (seen.T.astype(float) @ products).reshape(-1, width, width)
            moment = np.nan_to_num(given, nan=0.0).T @ full
            inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
            coefficients[block] = np.einsum("ijl,il->ij", inverse, moment)
        return cls(knots, scores, n_knots, coefficients)

    def normal_scores(self, values: Floats, block: slice) -> Floats:
        """Normal scores of some columns of a table (N, D), NaN where missing."""
        result = np.full(values[:, block].shape, np.nan)
        for column, i in enumerate(range(block.start, block.stop)):
            count = int(self.n_knots[i])
            seen = ~np.isnan(values[:, i])
            if not count or not seen.any():
                continue
            knots, scores, x = self.knots[i, :count], self.scores[i, :count], values[seen, i]
            # A knot is its own neighbour on both sides.
            above = np.minimum(np.searchsorted(knots, x, "left"), count - 1)
            below = np.maximum(np.searchsorted(knots, x, "right") - 1, 0)
            result[seen, column] = 0.5 * (scores[below] + scores[above])
        return result

    def residuals(self, values: Floats, design: Floats) -> Floats:
        """Residuals of a table (N, D) with a centred design (N, p), NaN where missing."""
        result = np.empty(values.shape)
        for first in range(0, values.shape[1], _BLOCK):
            block = slice(first, min(first + _BLOCK, values.shape[1]))
            part = self.normal_scores(values, block) - self.coefficients[block, 0]
            # Term by term: a matrix product may round a sample differently depending on the others.
            for j in range(design.shape[1]):
                part -= design[:, j, None] * self.coefficients[block, j + 1]
            result[:, block] = np.round(part, _DIGITS) + 0.0  # no negative zero
        return result


def _knots(column: Floats, most: int) -> tuple[Floats, Floats]:
    """Observed values of a feature, up to a number, and the normal scores of their ranks."""
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    middle = (np.cumsum(counts) - 0.5 * counts) / max(counts.sum(), 1)
    if len(values) > most:
        wanted = np.linspace(middle[0], middle[-1], most)
        above = np.clip(np.searchsorted(middle, wanted), 1, len(middle) - 1)
        nearer = wanted - middle[above - 1] < middle[above] - wanted
        chosen = np.unique(np.where(nearer, above - 1, above))
        values, middle = values[chosen], middle[chosen]
    return values, np.asarray(ndtri(middle))


@dataclass(frozen=True)
class Adjustment:
    """Use of covariates in a model, as learned in training."""

    use: str  # "regress" or "block"
    design: Design
    regression: RankRegression | None = None  # with "regress" only

    @classmethod
    def learn(
        cls, use: str, values: Any, frame: pd.DataFrame, max_knots: int = MAX_KNOTS
    ) -> Adjustment:
        """Adjustment of training samples: their table (N, D) and their covariates."""
        design = Design.learn(frame)
        if use == "block":
            return cls(use, design)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warned when the same samples are adjusted
            matrix = design.matrix(frame)
        return cls(use, design, RankRegression.learn(dense(values), matrix, max_knots))

    @property
    def added(self) -> list[str]:
        """Names of the features that the covariates add to the model."""
        return self.design.feature_names if self.use == "block" else []

    def apply(self, values: Any, frame: pd.DataFrame) -> Any:
        """The table that the model sees, of samples with values (N, D) and covariates.

        A sparse table stays sparse with ``"block"``; residuals are nonzero, so they are dense.
        """
        if self.regression is not None:
            return self.regression.residuals(dense(values), self.design.matrix(frame))
        features = self.design.features(frame)
        if issparse(values):
            return csc_array(hstack([values, csc_array(features)], format="csc"))
        return np.column_stack([values, features])


def dense(values: Any) -> Floats:
    """Values of a table as an array."""
    return np.asarray(values.toarray() if issparse(values) else values)
