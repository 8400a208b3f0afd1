"""Support vector machines, one per label column: the usual first choice.

Tables with more features than samples are first rotated into the span of their training samples,
which gives the same SVM in much less time (`rankfactor.evaluation.baselines.span`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rankfactor.choosing import choose
from rankfactor.evaluation.baselines.columns import PipelineClassifier
from rankfactor.evaluation.baselines.medians import MedianFill
from rankfactor.evaluation.baselines.span import SampleSpan
from rankfactor.folds import divided, drawn_by_class, possible_folds
from rankfactor.typing import Floats, Integers

Setting = dict[str, float]

GRID = (1e-3, 1e-2, 1e-1, 1.0, 1e1)
INNER_FOLDS = 5
# Used if a class is too small to choose C by cross-validation: the middle of the grid.
FALLBACK_C = 1e-1
RADIAL_COSTS = (0.1, 1.0, 10.0, 100.0)
# In units of one over the number of features, which for standardised features is about one over
# the mean squared distance.
RADIAL_WIDTHS = (0.1, 1.0, 10.0)
# Settings of larger tables are chosen on this many samples, drawn by class: the time of a radial
# SVM grows with the square of their number.
MOST_SAMPLES = 3000
# Iterations of liblinear's Newton method before the dual is tried, and of the dual. If they do not
# suffice, its warning is passed on.
NEWTON_ITER, MAX_ITER = 200, 20_000


class LinearMachine(LinearSVC):  # type: ignore[misc]
    """Linear SVM with the liblinear solver that suits the samples.

    Newton's method on the primal takes few steps if classes overlap, but is slow or stops far from
    the optimum if they are separable and C is large; coordinate descent on the dual behaves the
    other way round. With at least as many features as samples the classes are separable.
    """

    def __init__(self, C: float = 1.0) -> None:
        # The dual visits samples in a random order with a fixed seed.
        super().__init__(C=C, random_state=0)

    def fit(self, X: Floats, y: Any, sample_weight: Any = None) -> Self:
        """Fit to an array (N, D) and class numbers (N,)."""
        n, d = X.shape
        if d < n:
            self.dual, self.max_iter = False, NEWTON_ITER
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                super().fit(X, y, sample_weight)
            if self.n_iter_ < NEWTON_ITER and (self.predict(X) != y).any():
                return self
        self.dual, self.max_iter = True, MAX_ITER
        super().fit(X, y, sample_weight)
        return self


class TunedSVM(PipelineClassifier):
    """Base of the SVMs: one per label column, settings chosen by inner cross-validation.

    For every label column the samples with a known label pass through the preparation, median
    imputation, standardisation, and the SVM. Settings are chosen by stratified cross-validation
    with five folds (fewer if a class is smaller) within these samples, by AUC for two classes and
    by balanced accuracy for more. The preparation is part of each inner fold, and the first of
    equally good settings is taken. With more than 3000 samples, a subset of that size drawn by
    class is used.
    """

    machine: ClassVar[Callable[..., Any]]
    tuned: ClassVar[tuple[str, ...]]  # arguments of the SVM that are chosen
    usual: ClassVar[int]  # index in the grid used for classes too small for cross-validation

    def __init__(self, random_state: Any = 0) -> None:
        self.random_state = random_state

    @abstractmethod
    def _grid(self, n_features: int) -> Sequence[Setting]:
        """Settings to choose from; ties go to the first."""

    def _preparation(self) -> Pipeline:
        """Unfitted steps before the SVM."""
        return make_pipeline(MedianFill(), StandardScaler(), SampleSpan())

    def _pipeline(self, values: Floats, numbers: Integers, groups: Integers | None) -> Pipeline:
        setting = self._choose(values, numbers, groups)
        return make_pipeline(*self._preparation(), self.machine(**setting))

    def _choose(self, values: Floats, numbers: Integers, groups: Integers | None) -> Setting:
        """Best setting for values (n, D) and class numbers (n,)."""
        grid = self._grid(values.shape[1])
        if len(values) > MOST_SAMPLES:
            some = drawn_by_class(numbers, MOST_SAMPLES, self.random_state)
            values, groups = values[some], None if groups is None else groups[some]
            # A rare class may be left out.
            numbers = np.unique(numbers[some], return_inverse=True)[1]
        n_classes = int(numbers.max()) + 1
        n_folds = possible_folds(numbers[:, None], groups, INNER_FOLDS)
        if n_folds < 2:
            return grid[self.usual]
        score = get_scorer("roc_auc" if n_classes == 2 else "balanced_accuracy")

        def measure(fold: tuple[Integers, Integers]) -> Iterator[float]:
            train, test = fold
            # Impute and scale once for all settings: a third of the time of a grid search.
            prepare = self._preparation()
            known, new = prepare.fit_transform(values[train]), prepare.transform(values[test])
            for one in grid:
                yield score(self.machine(**one).fit(known, numbers[train]), new, numbers[test])

        # Groups can leave a part without one of the classes, which then has no score.
        folds = [
            fold
            for fold in divided(numbers, groups, n_folds, self.random_state)
            if all(len(np.unique(numbers[part])) == n_classes for part in fold)
        ]
        return choose(grid, folds, measure).best if folds else grid[self.usual]

    @property
    def settings_(self) -> list[Setting]:
        """Settings chosen for every label column."""
        return [{k: getattr(steps[-1], k) for k in self.tuned} for steps in self.pipelines_]

    @property
    def chosen_(self) -> list[str]:
        """The setting chosen for every label column, in words."""
        return [", ".join(f"{k}={v:g}" for k, v in one.items()) for one in self.settings_]

    @property
    def C_(self) -> list[float]:  # noqa: N802
        """The cost chosen for every label column."""
        return [one["C"] for one in self.settings_]


class LinearSVM(TunedSVM):
    """Linear support vector machines, one per label column, tuned within the training data.

    The loss is the squared hinge, one-vs-rest for more than two classes. The cost C is chosen from
    0.001, 0.01, ..., 10 as in `TunedSVM`; ties go to the smallest.

    Parameters
    ----------
    random_state : int, RandomState or None, default 0
        Seed of the inner folds.

    Examples
    --------
    >>> from rankfactor import load_alzheimer
    >>> from rankfactor.evaluation.baselines import LinearSVM
    >>> data = load_alzheimer()
    >>> model = LinearSVM().fit(data.table, data.labels)
    >>> [decision.shape for decision in model.decision_function(data.table)]
    [(333,), (333,)]
    """

    machine, tuned, usual = LinearMachine, ("C",), GRID.index(FALLBACK_C)

    def _grid(self, n_features: int) -> Sequence[Setting]:
        return [{"C": cost} for cost in GRID]


class RBFSVM(TunedSVM):
    """Support vector machines with a radial kernel, one per label column, tuned as `LinearSVM`.

    The cost C is chosen from 0.1, 1, 10 and 100, and the kernel's gamma from 0.1, 1 and 10 divided
    by the number of features. With more than two classes the decisions are one-vs-rest. Parameters
    and attributes are those of `LinearSVM`.
    """

    machine = SVC  # radial kernel, one-vs-rest decisions by default
    tuned = ("C", "gamma")
    usual = RADIAL_COSTS.index(1.0) * len(RADIAL_WIDTHS) + RADIAL_WIDTHS.index(1.0)

    def _grid(self, n_features: int) -> Sequence[Setting]:
        return [
            {"C": cost, "gamma": width / n_features}
            for cost in RADIAL_COSTS
            for width in RADIAL_WIDTHS
        ]

    def _preparation(self) -> Pipeline:
        # Distances to new samples have a part outside the span.
        return make_pipeline(MedianFill(), StandardScaler(), SampleSpan(rest=True))
