"""AUC of cross-validated decisions: its 95 % interval, and paired differences between models.

There is one AUC in this package: the area under the ROC curve within a fold (with more than two
classes the one-vs-rest mean over classes), averaged over the folds of all repeats. Folds whose test
part has only one class, or whose training part lacks a class, are left out.

The interval is that of DeLong et al. (1988), fold by fold. The placement of a sample is the share
of the samples of the other side that it is ranked correctly against. Its influence on the mean over
the F folds of a repeat is

    u_s = (placement - AUC of its fold) / (F sqrt(n (n - 1))),

where n test samples of the fold are on its side; with more than two classes it is the mean over
classes. For a pair of models it is the difference of theirs.

The sum of u_s^2 would be the variance if folds were independent. They are not: a sample tested in
one fold trains the models of the others, so that each pair of samples counts twice if the decision
is mostly noise of the training samples. The variance then lies between once and twice the sum, and
cross-validation cannot determine where. `INFLATION` times the sum is used. On simulated tables of
60 to 300 samples (benchmarks/auc_interval.py, 250 for each of 42 settings) the 95 % interval of the
AUC contained the truth in 92 to 99.6 %, that of the difference in 91 to 99 %: more than 95 % with
few features, strong signals or repeats, less with 500 features and 300 samples. The factor was
chosen on tables of the same kinds. If a few factors generate all features, it is larger than
needed. Repeats use the same samples: the variance is the mean over repeats, not that of a mean of
independent ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from rankfactor.typing import Floats, Integers

LEVEL = 0.95
INFLATION = 1.5


class Interval(NamedTuple):
    """An estimate with its interval; NaN where unknown."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """AUC of a model minus that of another, on the same samples."""

    difference: float
    low: float
    high: float
    folds_better: int
    folds_equal: int
    folds: int


@dataclass(frozen=True, eq=False)
class FoldAUC:
    """AUC of one model on one task.

    Attributes
    ----------
    folds : Series
        AUC within every fold that has one, by repeat and fold.
    influence : Series
        First-order influence of every sample (or group) on the mean over the folds of a repeat,
        by repeat and sample.
    n_pairs : int
        Disjoint pairs of a positive and a negative sample in the same fold, in one repeat; with
        more than two classes those of the rarest. At most half the number of groups.
    """

    folds: pd.Series[float]
    influence: pd.Series[float]
    n_pairs: int

    @property
    def value(self) -> float:
        """Mean over folds; NaN without any."""
        return float(self.folds.mean()) if len(self.folds) else float("nan")

    def interval(self, level: float = LEVEL) -> Interval:
        """The mean over folds with its interval, computed on the logit scale.

        If every pair is ranked correctly, and the variance is zero, the interval is that of
        ``n_pairs`` successes in as many independent trials (Clopper and Pearson).
        """
        mean, tail = self.value, (1 - level) / 2
        if np.isnan(mean):
            return Interval(mean, mean, mean)
        if mean in (0, 1):
            bound = tail ** (1 / self.n_pairs)
            return Interval(mean, bound, 1.0) if mean else Interval(mean, 0.0, 1 - bound)
        half = self._quantile(level) * _standard_error(self.influence) / (mean * (1 - mean))
        low, high = expit(logit(mean) + np.array([-half, half]))
        return Interval(mean, float(low), float(high))

    def less(self, other: FoldAUC, level: float = LEVEL) -> Difference:
        """The difference from another model, on folds and samples that both have."""
        own, theirs = self.folds.align(other.folds, join="inner")
        apart = (own - theirs).to_numpy()
        mean = float(apart.mean()) if len(apart) else float("nan")
        influence = self.influence.sub(other.influence, fill_value=0.0)
        half = self._quantile(level) * _standard_error(influence)
        same = np.isclose(apart, 0.0, atol=1e-12)
        return Difference(
            mean,
            float(np.maximum(-1.0, mean - half)),
            float(np.minimum(1.0, mean + half)),
            int(((apart > 0) & ~same).sum()),
            int(same.sum()),
            len(apart),
        )

    def _quantile(self, level: float) -> float:
        return float(stdtrit(max(self.n_pairs - 1, 1), (1 + level) / 2))


_NONE = pd.MultiIndex.from_arrays([[], []], names=["repeat", "fold"])
NO_AUC = FoldAUC(pd.Series(index=_NONE, dtype=float), pd.Series(index=_NONE, dtype=float), 0)


def fold_aucs(decisions: pd.DataFrame) -> dict[tuple[str, str], FoldAUC]:
    """AUC by task and model, in the order of the decisions.

    Parameters
    ----------
    decisions : DataFrame
        As `rankfactor.evaluation.Evaluation.decisions`: columns ``task``, ``model``, ``sample``,
        ``label`` and ``decision``. Without ``repeat`` or ``fold`` all samples belong to one;
        without ``positive``, decisions are for the larger of two labels. With a column ``group``,
        groups of samples are independent, not samples.
    """
    known = decisions[decisions["label"].notna() & decisions["decision"].notna()]
    return {
        (str(task), str(model)): _of_model(rows, classes)
        for task, part in known.groupby("task", sort=False)
        for classes in [_positives(part)]
        for model, rows in part.groupby("model", sort=False)
        if classes is not None
    }


def comparisons(decisions: pd.DataFrame) -> pd.DataFrame:
    """Differences between the first model of every task and each of the others.

    Returns
    -------
    DataFrame
        task, model, other, difference (of the AUC; positive where ``model`` is better), low and
        high (its 95 % interval, paired by samples), folds_better, folds_equal (of ``model``) and
        folds (where both have an AUC).
    """
    found = fold_aucs(decisions)
    first: dict[str, str] = {}
    rows = []
    for (task, model), area in found.items():
        own = first.setdefault(task, model)
        if own != model:
            rows.append((task, own, model, *found[task, own].less(area)))
    return pd.DataFrame(rows, columns=["task", "model", "other", *Difference._fields])


def is_positive(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the label of every row is the positive class of its decision."""
    (label, labels), (positive, positives) = (
        pd.factorize(rows[name].to_numpy(object)) for name in ("label", "positive")
    )
    # A class 1 may have become the text "1" in a file.
    same = [[one == other or str(one) == str(other) for other in positives] for one in labels]
    return np.array(same, bool).reshape(len(labels), len(positives))[label, positive]


def _positives(part: pd.DataFrame) -> set[Any] | None:
    """Positive classes of the decisions of a task; None if unknown."""
    if "positive" in part:
        return set(part["positive"])
    return {max(part["label"].unique(), key=str)} if part["label"].nunique() == 2 else None


class _Cell(NamedTuple):
    """Decisions for one class in one fold, which has samples of the class and of others."""

    fold: int  # numbers of the fold and of the class
    positive: int
    who: NDArray[Any]  # sample or group of every row
    hit: NDArray[np.bool_]
    placement: Floats

    @property
    def auc(self) -> float:
        return float(self.placement[self.hit].mean())


def _of_model(rows: pd.DataFrame, classes: set[Any]) -> FoldAUC:
    given = {"repeat": 1, "fold": 1, "positive": next(iter(classes))}
    rows = rows.assign(**{name: value for name, value in given.items() if name not in rows})
    place = np.asarray(rows.groupby(["repeat", "fold"]).ngroup(), np.int64)
    unique = rows[["repeat", "fold"]].drop_duplicates().sort_values(["repeat", "fold"])
    keys = pd.MultiIndex.from_frame(unique)
    cells = list(_cells(rows, place, len(classes)))
    if not cells:
        return NO_AUC
    columns = ["fold", "class", "auc"]
    found = pd.DataFrame([(*cell[:2], cell.auc) for cell in cells], columns=columns)
    means, counts = found.groupby("class")["auc"].mean(), found["fold"].value_counts()
    folds = found.groupby("fold")["auc"].mean()
    folds.index = keys[folds.index.to_numpy()]
    parts = [
        _influence(cell, means[cell.positive], len(folds)) / counts[cell.fold] for cell in cells
    ]
    repeat = unique["repeat"].to_numpy()
    repeats = len(set(repeat[found["fold"]]))
    who = np.concatenate([cell.who for cell in cells])
    places = np.concatenate([np.repeat(repeat[cell.fold], len(cell.who)) for cell in cells])
    codes, names = pd.MultiIndex.from_arrays([places, who]).factorize()
    sums = np.bincount(codes, np.concatenate(parts)) * (repeats / len(folds))
    pairs = min(_pairs(cells, one) for one in means.index) // repeats
    # Pairs within a group, or between the same two, are not independent.
    return FoldAUC(folds, pd.Series(sums, names), max(1, min(pairs, len(set(who)) // 2)))


def _cells(rows: pd.DataFrame, place: Integers, n_classes: int) -> Iterator[_Cell]:
    """Placements by fold (``place`` has its number for every row) and class.

    Folds that lack decisions for a class, since their training part lacked it, are left out, and so
    are classes that all or none of the samples of the fold have.
    """
    hits, decisions = is_positive(rows), rows["decision"].to_numpy(float)
    units = rows["group" if "group" in rows else "sample"].to_numpy(object)
    number = pd.factorize(rows["positive"])[0]
    order = np.lexsort((number, place))
    new = np.flatnonzero(np.diff(place[order] * n_classes + number[order])) + 1
    parts = np.split(order, new)
    known = np.bincount([place[part[0]] for part in parts]) == n_classes
    for part in parts:
        fold, hit, decision = int(place[part[0]]), hits[part], decisions[part]
        if known[fold] and 0 < hit.sum() < len(hit):
            placement = np.empty(len(hit))
            placement[hit] = _share_below(decision[hit], decision[~hit])
            placement[~hit] = 1 - _share_below(decision[~hit], decision[hit])
            yield _Cell(fold, int(number[part[0]]), units[part], hit, placement)


def _share_below(values: Floats, others: Floats) -> Floats:
    """Share of the others below each value; ties count half."""
    ordered = np.sort(others)
    sides = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(sum(sides) / (2 * len(others)), float)


def _influence(cell: _Cell, mean: float, n_folds: int) -> Floats:
    """Influence of the rows of a cell on its AUC; the mean is that of the class over folds."""
    result = np.empty(len(cell.hit))
    for side in (cell.hit, ~cell.hit):
        n = int(side.sum())
        if n > 1:
            result[side] = (cell.placement[side] - cell.auc) / np.sqrt(n * (n - 1))
        else:  # with a single sample, the spread shows only between folds
            spread = np.sqrt(n_folds / (n_folds - 1)) if n_folds > 1 else np.nan
            result[side] = (cell.placement[side] - mean) * spread
    return result


def _pairs(cells: list[_Cell], positive: int) -> int:
    """Disjoint pairs of a sample of a class and another one of the same fold, of all repeats."""
    hits = [(int(one.hit.sum()), len(one.hit)) for one in cells if one.positive == positive]
    return sum(min(n, total - n) for n, total in hits)


def _standard_error(influence: pd.Series[float]) -> float:
    """Standard error of influences by repeat and sample; NaN without any."""
    repeats = influence.index.get_level_values(0).nunique()
    if not repeats:
        return float("nan")
    values = influence.to_numpy(float)
    return float(np.sqrt(INFLATION * (values @ values) / repeats))
