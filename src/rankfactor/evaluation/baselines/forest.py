"""Random forests, one per label column: a usual baseline that needs neither scaling nor tuning."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from rankfactor.errors import check_count
from rankfactor.evaluation.baselines.columns import PipelineClassifier
from rankfactor.evaluation.baselines.medians import MedianFill
from rankfactor.typing import Floats, Integers


class RandomForest(PipelineClassifier):
    """Random forests of scikit-learn with its defaults, on tables with missing values.

    Missing values are replaced by the training median. The decision is the forest's probability,
    minus one half for two classes.

    Parameters
    ----------
    n_trees : int, default 500
    random_state : int, RandomState or None, default 0
    """

    uses_values = False

    def __init__(self, n_trees: int = 500, random_state: Any = 0) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def _pipeline(self, values: Floats, numbers: Integers, groups: Integers | None) -> Pipeline:
        n_trees = check_count("n_trees", self.n_trees)
        forest = RandomForestClassifier(n_trees, random_state=self.random_state)
        return make_pipeline(MedianFill(), forest)

    def _decisions(self, values: Floats) -> list[Floats]:
        parts = [np.asarray(steps.predict_proba(values)) for steps in self.pipelines_]
        return [part[:, 1] - 0.5 if part.shape[1] == 2 else part for part in parts]
