"""Random forests, one per label column: the usual rival that needs neither scaling nor a choice."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from rankfactor.errors import check_count
from rankfactor.evaluation.baselines.columns import ColumnClassifier, Integers
from rankfactor.evaluation.baselines.medians import MedianFill
from rankfactor.kernels.packed import Floats
from rankfactor.tasks import Task


class RandomForest(ColumnClassifier):
    """Random forests of scikit-learn with its defaults, on tables with holes.

    Missing values become the training median. The decision is the forest's probability, less one
    half for two classes.

    Parameters
    ----------
    n_trees : int, default 500
    random_state : int, RandomState or None, default 0

    Attributes
    ----------
    classes_ : array, or list of arrays
        Labels in increasing order; a list with several label columns.
    pipelines_ : list of Pipeline
        The fitted steps of every label column.
    n_features_in_ : int
    feature_names_in_ : array
        Only if fitted to a DataFrame.
    """

    uses_values = False

    def __init__(self, n_trees: int = 500, random_state: Any = 0) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def _learn(
        self, values: Floats, tasks: tuple[Task, ...], codes: Integers, groups: Integers | None
    ) -> None:
        n_trees = check_count("n_trees", self.n_trees)
        self.pipelines_: list[Pipeline] = []
        for number in codes.T:
            known = number >= 0
            forest = RandomForestClassifier(n_trees, random_state=self.random_state)
            steps = make_pipeline(MedianFill(), forest)
            self.pipelines_.append(steps.fit(values[known], number[known]))

    def _decisions(self, values: Floats) -> list[Floats]:
        parts = [np.asarray(pipeline.predict_proba(values)) for pipeline in self.pipelines_]
        return [part[:, 1] - 0.5 if part.shape[1] == 2 else part for part in parts]
