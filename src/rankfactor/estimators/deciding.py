"""Results of a fitted classifier: coefficients, classes, probabilities, decisions, intervals."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.data.streams.collections import is_collection
from rankfactor.errors import InputError
from rankfactor.estimators.base import FactorModel
from rankfactor.estimators.large import predicted
from rankfactor.features.matching import opened_labels
from rankfactor.posterior import Classifiers, Explanation, Posterior
from rankfactor.posterior.prediction import check_level, interval
from rankfactor.steps.workers import workers
from rankfactor.tasks import label_columns, side_by_side
from rankfactor.typing import Floats


class Deciding(FactorModel):
    """Coefficients of the classifiers of a fitted model, and their predictions."""

    _single: bool  # whether a single label column was given, so that results are not lists

    def _keep(self, posterior: Posterior) -> Self:
        """Store a posterior, which must have labels."""
        if posterior.classifiers is None:
            raise InputError(
                "this model was fitted without labels: use RankFactorAnalysis.from_posterior."
            )
        self._single = len(posterior.classifiers.tasks) == 1
        return super()._keep(posterior)

    @property
    def _fitted(self) -> Classifiers:
        if not hasattr(self, "posterior_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        classifiers = self.posterior_.classifiers
        assert classifiers is not None
        return classifiers

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list if there are several label columns."""
        classes = [task.classes for task in self._fitted.tasks]
        return classes[0] if self._single else classes

    @property
    def coef_(self) -> Floats:
        """Coefficients used for prediction, shape (n_rows, n_factors)."""
        return self._fitted.rows.mean[:, :-1]

    @property
    def intercept_(self) -> Floats:
        """Intercepts used for prediction, shape (n_rows,)."""
        return self._fitted.rows.mean[:, -1]

    @property
    def residual_share_(self) -> Floats:
        """Share of every row's decision due to the residual, shape (n_rows,)."""
        return self.posterior_.residual_share

    @property
    def joint_coef_(self) -> Floats:
        """Coefficients of the joint fit, shape (n_rows, n_factors)."""
        return self._fitted.joint_rows.mean[:, :-1]

    @property
    def n_components_used_(self) -> int:
        """Components of a nonlinear model with at least 1 % of the training samples."""
        if self._fitted.experts is None:
            raise AttributeError("a linear model has no components.")
        if self._fitted.gates is None:
            raise AttributeError(self.posterior_.without_components)
        return self.posterior_.n_components_used

    def decision_function(self, X: Any) -> Any:
        """Decisions of new samples, from their label-free scores.

        Returns
        -------
        array, or list of arrays if there are several label columns
            Shape (n_samples,) for two classes, where positive means ``classes_[1]``, else
            (n_samples, n_classes).
        """
        mean, _ = self._decide(X)
        return self._unwrap(self._fitted.by_task(mean))

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new samples, shape (n_samples,) or (n_samples, n_tasks)."""
        decision, _ = self._decide(X)
        parts = self.posterior_.predictions(decision)
        return parts[0] if self._single else side_by_side(parts)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of new samples, averaged over the posterior.

        The most probable class is always that of `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of such arrays
        """
        decision = self._decide(X)
        return self._unwrap(self.posterior_.probabilities(decision))

    def predict_interval(self, X: Any, level: float = 0.9) -> Any:
        """Intervals of the decisions of new samples, after Gibbs sampling; otherwise their spread.

        Intervals of variational Bayes are much too narrow: at level 0.9 they contain the true
        decision of simulated samples in about half of the cases (docs/howto/models.md).

        Parameters
        ----------
        X : DataFrame or array-like, shape (n_samples, n_features)
        level : float, default 0.9
            Posterior probability of an interval.

        Returns
        -------
        array of shape (n_samples, 2) for two classes, else (n_samples, n_classes, 2); or a list
            Lower and upper ends.
        """
        check_level(level)
        ends = interval(self._decide(X), level)
        return self._unwrap(self._fitted.by_task(ends))

    def responsibilities(self, X: Any) -> Floats:
        """Weights of the components of a nonlinear model at new samples, without labels.

        Returns
        -------
        array, shape (n_samples, n_components)
            Rows add up to 1. After Gibbs sampling, those of the mean draw: decisions average over
            draws, whose components are not matched.
        """
        values = self._match(X)
        with workers(self.n_threads, math.prod(values.shape)) as pool:
            return self.posterior_.component_weights(values, pool)

    def explain(self, X: Any) -> dict[str, Explanation]:
        """Contribution of each feature to every decision of new samples (`Posterior.explain`)."""
        self._check_fitted()
        return self.posterior_.explain(X, self.missing_features, self.n_threads)

    def feature_effects(self, X: Any = None) -> pd.DataFrame:
        """Effect on the decisions of moving each feature from its first to its third quartile.

        Averaged over the training samples, or over those of ``X`` (`Posterior.feature_effects`).
        """
        self._check_fitted()
        return self.posterior_.feature_effects(X, self.missing_features, self.n_threads)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, averaged over label columns; samples without a label do not count."""
        y = y.compute() if is_collection(y) else opened_labels(X, y)
        found = np.asarray(self.predict(X), object).reshape(-1, len(self._fitted.tasks))
        weight = np.ones(len(found)) if sample_weight is None else np.asarray(sample_weight)
        shares = []
        for number, (_, column) in enumerate(label_columns(y)):
            known = ~np.asarray(pd.isna(column), bool)
            right = column[known] == found[known, number]
            shares.append(np.average(right.astype(float), weights=weight[known]))
        return float(np.mean(shares))

    def _decide(self, X: Any) -> tuple[Floats, Floats]:
        self._check_fitted()
        mean, variance = predicted(self, "decisions_of", X)
        return mean, variance

    def _unwrap(self, parts: list[Any]) -> Any:
        return parts[0] if self._single else parts
