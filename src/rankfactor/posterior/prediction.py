"""What a fitted model says of samples in a plain table: scores, decisions, probabilities.

A table is a DataFrame, an array, a sparse matrix or an AnnData object with the features (and
covariates) of the training table; a table with names is matched by them, in any order.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import ndtri

from rankfactor.classifiers.probabilities import class_probabilities
from rankfactor.errors import InputError
from rankfactor.features.plan import FeaturePlan
from rankfactor.latent import KernelExperts, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Coding, Observed, RowArrays
from rankfactor.model import Model, ViewState
from rankfactor.posterior.classifiers import Classifiers
from rankfactor.posterior.draws import Draws
from rankfactor.posterior.explanation import Explanation, contributions, explanations
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers, workers
from rankfactor.tasks import side_by_side
from rankfactor.typing import Floats

LINEAR = "a linear model has no components: choose a nonlinear one."
KERNEL = (
    "a kernel classifier has no components: set experts to 'mixed' or 'per_component' to have some."
)


class Prediction:
    """Prediction by a fitted model; all methods take a table.

    Every method has two further arguments: ``missing_features``, "error" or "missing", what to do
    about features that the table lacks (refuse, or treat their values as missing), and
    ``n_threads``, None for every core.
    """

    model: Model
    plan: FeaturePlan
    coding: Coding
    rows: Normal
    params: RowArrays
    prior: ScorePrior
    classifiers: Classifiers | None
    draws: Draws | None

    def match(self, X: Any, missing_features: str = "error", *, estimator: Any = None) -> Any:
        """Values of a table in the columns of the model; messages name the ``estimator``."""
        return self.plan.apply(
            X,
            missing_features,
            estimator=self if estimator is None else estimator,
            sparse=self.model.takes_sparse,
            exact=self.model.exact,
        )

    @property
    def factor_names(self) -> list[str]:
        """Names of the factors, in order of their share."""
        return [f"Factor {k + 1}" for k in range(self.model.n_factors)]

    def transform(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> pd.DataFrame:
        """Factor scores of samples, samples x factors; no label is used."""
        with workers(n_threads) as pool:
            scores = self.encode(self.match(X, missing_features), pool).mean
        return pd.DataFrame(scores, _index(X, len(scores)), self.factor_names)

    def decision_function(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> Any:
        """Decisions of samples; positive means the second class of a task of two.

        Returns
        -------
        array, or list of arrays with several tasks
            Shape (n_samples,) for two classes, else (n_samples, n_classes).
        """
        with workers(n_threads) as pool:
            mean, _ = self.decide(self.match(X, missing_features), pool)
        return _one_or_all(self._classifiers.by_task(mean))

    def predict(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> NDArray[Any]:
        """Classes of samples, shape (n_samples,) or, with several tasks, (n_samples, n_tasks)."""
        with workers(n_threads) as pool:
            mean, _ = self.decide(self.match(X, missing_features), pool)
        parts = self.predictions(mean)
        return parts[0] if len(parts) == 1 else side_by_side(parts)

    def predict_proba(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> Any:
        """Class probabilities of samples, averaged over the posterior.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them with several tasks
        """
        with workers(n_threads) as pool:
            decision = self.decide(self.match(X, missing_features), pool)
        return _one_or_all(self.probabilities(decision))

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        missing_features: str = "error",
        n_threads: int | None = None,
    ) -> Any:
        """Intervals of the decisions of samples: lower and upper ends in the last dimension."""
        with workers(n_threads) as pool:
            decision = self.decide(self.match(X, missing_features), pool)
        return _one_or_all(self._classifiers.by_task(interval(decision, level)))

    def explain(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> dict[str, Explanation]:
        """What each feature adds to every decision of samples (`rankfactor.posterior.explanation`).

        Returns
        -------
        dict of Explanation
            By task and class, such as ``"Impairment: Impaired"``: base values and values add up to
            the decisions.
        """
        values = self.match(X, missing_features)
        with workers(n_threads) as pool:
            decisions, parts = self.contributions(values, pool)
        data = values.toarray() if issparse(values) else np.asarray(values)
        names, rows = self.plan.names.tolist(), self._classifiers.row_names()
        return explanations(parts, decisions, data, self.coding.columns, names, rows)

    def encode(self, values: Any, pool: Workers) -> Normal:
        """Label-free scores of samples, shape (N, K).

        ``values`` has the model's columns: what `rankfactor.features.matching.model_values` gives.
        """
        return self._encode(self.coding.observe(values), pool)

    def _encode(self, observed: Observed, pool: Workers) -> Normal:
        state = ViewState(self.rows, self.params, None)
        item = ObservedView(self.model.data_view, observed, state)
        return encode_samples(self.model, item, pool, prior=self.prior)

    def component_weights(self, values: Any, pool: Workers) -> Floats:
        """Weights of the local classifiers for samples, shape (N, T), rows adding up to 1."""
        gates = None if self.classifiers is None else self.classifiers.gates
        if gates is None:
            raise InputError(self.without_components)
        return gates.responsibilities(self.encode(values, pool).mean)

    @property
    def without_components(self) -> str:
        """Why the model has no components."""
        return KERNEL if isinstance(self.model.experts, KernelExperts) else LINEAR

    def contributions(self, values: Any, pool: Workers) -> tuple[Floats, Floats]:
        """Decisions (N, rows), and what every feature in the model adds to them, (rows, N, d).

        Averaged over draws where there are any.
        """
        view, observed = self.model.data_view, self.coding.observe(values)
        if self.draws is None:
            item = ObservedView(view, observed, ViewState(self.rows, self.params, None))
            classifier, residual = self._classifiers.classifier, self._classifiers.residual
            return contributions(self.model, item, self.prior, classifier, pool, residual)
        parts = [
            contributions(self.model, ObservedView(view, observed, state), prior, classifier, pool)
            for state, prior, classifier in self.draws.deciders()
        ]
        decisions, values = zip(*parts, strict=True)
        return np.mean(decisions, axis=0), np.mean(values, axis=0)

    def decide(self, values: Any, pool: Workers) -> tuple[Floats, Floats]:
        """Mean and variance of every classifier's decision for samples, each (N, rows).

        Averaged over draws where there are any.
        """
        classifiers, observed = self._classifiers, self.coding.observe(values)
        if self.draws is not None:
            return self.draws.decide(self.model, self.model.data_view, observed, pool)
        z = self._encode(observed, pool)
        mean, variance = classifiers.decide(z)
        if classifiers.residual is None:
            return mean, variance
        more, spread = classifiers.residual.decide(self.model.data, observed, z, pool)
        return mean + more, variance + spread

    def probabilities(self, decision: tuple[Floats, Floats]) -> list[Floats]:
        """Class probabilities of every task, shape (N, n_classes) each, at its scale."""
        mean, variance = decision
        label = self.model.label
        assert label is not None
        result = []
        for number, scale in enumerate(self._classifiers.scale):
            rows = self._classifiers.rows_of(number)
            result.append(class_probabilities(label, mean[:, rows], variance[:, rows], scale))
        return result

    def predictions(self, decision: Floats) -> list[NDArray[Any]]:
        """Class of every sample for every task, shape (N,) each."""
        result = []
        for number, task in enumerate(self._classifiers.tasks):
            part = decision[:, self._classifiers.rows_of(number)]
            chosen = (part[:, 0] > 0).astype(int) if task.n_rows == 1 else part.argmax(axis=1)
            result.append(task.classes[chosen])
        return result

    @property
    def _classifiers(self) -> Classifiers:
        if self.classifiers is None:
            raise ValueError("this model was fitted without labels, so it has no decisions.")
        return self.classifiers


def check_level(level: object) -> None:
    """Refuse a probability of an interval that is none."""
    if not (isinstance(level, numbers.Real) and 0 < float(level) < 1):
        raise InputError(f"level must be a number between 0 and 1, not {level!r}.")


def interval(decision: tuple[Floats, Floats], level: float) -> Floats:
    """Ends of the intervals of decisions that have a posterior probability, shape (N, rows, 2)."""
    check_level(level)
    mean, variance = decision
    reach = ndtri(0.5 + 0.5 * level) * np.sqrt(variance)
    return np.stack([mean - reach, mean + reach], axis=-1)


def _one_or_all(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts


def _index(X: Any, n: int) -> Any:
    """Names of a table's samples, or their numbers."""
    names = getattr(X, "obs_names", getattr(X, "index", None))
    return pd.RangeIndex(n) if names is None else names
