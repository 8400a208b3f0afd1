"""Predictions of a fitted model for a plain table: scores, decisions, probabilities.

A table is a DataFrame, an array, a sparse matrix or an AnnData object with the features (and
covariates) of the training table; a table with names is matched by them, in any order. Scores and
decisions can also be those of a table that is not in memory (`rankfactor.posterior.tables`).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import ndtri

from rankfactor.classifiers.probabilities import class_probabilities
from rankfactor.errors import InputError
from rankfactor.features.plan import FeaturePlan
from rankfactor.kernels.rng import Stream
from rankfactor.latent import KernelExperts, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Coding, Observed, RowArrays
from rankfactor.model import Model, ViewState
from rankfactor.posterior.classifiers import Classifiers
from rankfactor.posterior.draws import Draws
from rankfactor.posterior.effects import (
    MOST_SAMPLES,
    Effects,
    find_effects,
    probability_effects,
    quartiles,
)
from rankfactor.posterior.explanation import (
    BASE,
    SINGLE,
    Contributions,
    Decider,
    Explanation,
    contributions,
)
from rankfactor.posterior.samples import evenly_spaced
from rankfactor.posterior.tables import Result, chunks_of, refuse_elsewhere, stacked
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

    Every method has two further arguments: ``missing_features``, "error" or "missing", for features
    that the table lacks (refuse, or treat their values as missing), and ``n_threads``, None for
    every core.
    """

    model: Model
    plan: FeaturePlan
    coding: Coding
    rows: Normal
    params: RowArrays
    prior: ScorePrior
    classifiers: Classifiers | None
    draws: Draws | None
    effects: Effects | None

    def match(self, X: Any, missing_features: str = "error", *, estimator: Any = None) -> Any:
        """Values of a table in the columns of the model; messages name the ``estimator``."""
        refuse_elsewhere(X)
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
        frames = []
        for chunk in chunks_of(X, self.plan.covariate_names):
            scores = self.scores_of(chunk, missing_features, n_threads)
            frames.append(pd.DataFrame(scores, _index(chunk, len(scores)), self.factor_names))
        if len(frames) == 1:
            return frames[0]
        return pd.concat(frames, ignore_index=_names_of(chunk) is None)

    def decision_function(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> Any:
        """Decisions of samples; positive favours the second of two classes.

        Returns
        -------
        array, or list of arrays if there are several tasks
            Shape (n_samples,) for two classes, else (n_samples, n_classes).
        """
        mean, _ = self.decisions_of(X, missing_features, n_threads)
        return _one_or_all(self._classifiers.by_task(mean))

    def predict(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> NDArray[Any]:
        """Classes of samples, shape (n_samples,) or, with several tasks, (n_samples, n_tasks)."""
        mean, _ = self.decisions_of(X, missing_features, n_threads)
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
        decision = self.decisions_of(X, missing_features, n_threads)
        return _one_or_all(self.probabilities(decision))

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        missing_features: str = "error",
        n_threads: int | None = None,
    ) -> Any:
        """Intervals of the decisions of samples: lower and upper ends in the last dimension.

        After variational Bayes they are much too narrow (docs/howto/models.md).
        """
        decision = self.decisions_of(X, missing_features, n_threads)
        return _one_or_all(self._classifiers.by_task(interval(decision, level)))

    def scores_of(
        self,
        X: Any,
        missing_features: str = "error",
        n_threads: int | None = None,
        *,
        estimator: Any = None,
    ) -> Floats:
        """Means of the label-free scores of a table's samples, shape (N, K)."""

        def encode(values: Any, pool: Workers) -> Floats:
            return self.encode(values, pool).mean

        return self._by_chunks(encode, X, missing_features, n_threads, estimator)

    def decisions_of(
        self,
        X: Any,
        missing_features: str = "error",
        n_threads: int | None = None,
        *,
        estimator: Any = None,
    ) -> tuple[Floats, Floats]:
        """Mean and variance of the classifiers' decisions for a table's samples, each (N, rows)."""
        return self._by_chunks(self.decide, X, missing_features, n_threads, estimator)

    def _by_chunks(
        self,
        function: Callable[[Any, Workers], Result],
        X: Any,
        missing_features: str,
        n_threads: int | None,
        estimator: Any,
    ) -> Result:
        """Result of a function of matched values for a table, perhaps chunk by chunk."""
        found = []
        for chunk in chunks_of(X, self.plan.covariate_names):
            values = self.match(chunk, missing_features, estimator=estimator)
            with workers(n_threads, math.prod(values.shape)) as pool:
                found.append(function(values, pool))
        return stacked(found)

    def explain(
        self, X: Any, missing_features: str = "error", n_threads: int | None = None
    ) -> dict[str, Explanation]:
        """Contribution of each feature to every decision (`rankfactor.posterior.explanation`).

        Returns
        -------
        dict of Explanation
            By task and class, such as ``"Impairment: Impaired"``: base values and values add up to
            the decisions. ``explanation.frame()`` is a frame, samples x features;
            ``explanation.by_factor`` has the same decision by factor.
        """
        values = self.match(X, missing_features)
        with workers(n_threads) as pool:
            return self.explanations(values, list(_index(X, values.shape[0])), pool)

    def explanations(
        self, values: Any, samples: list[Any], pool: Workers
    ) -> dict[str, Explanation]:
        """Explanations of matched values of samples with these names."""
        parts = self.contributions(values, pool)
        data, columns = values.toarray() if issparse(values) else values, self.coding.columns
        known = ~np.isnan(data[:, columns])
        found = {}
        for row, name in enumerate(self._classifiers.row_names()):
            added = np.zeros(data.shape)
            mean = 0.0 if self.effects is None else self.effects.mean[row]
            added[:, columns] = np.where(known, parts.features[row] - mean, 0.0)
            decision = parts.decisions[:, row]
            by_factor = pd.DataFrame(parts.factors[row], samples, self.factor_names)
            if self._classifiers.residual is not None:
                by_factor[SINGLE] = parts.single[row]
            by_factor.insert(0, BASE, decision - by_factor.sum(axis=1))
            found[name] = Explanation(
                added,
                decision - added.sum(axis=1),
                data,
                self.plan.names.tolist(),
                name,
                samples,
                by_factor,
                parts.remainder[:, row],
            )
        return found

    def feature_effects(
        self, X: Any = None, missing_features: str = "error", n_threads: int | None = None
    ) -> pd.DataFrame:
        """Effect on the decisions of moving each feature from its first to its third quartile.

        Everything else stays fixed (`rankfactor.posterior.effects`).

        Parameters
        ----------
        X : table, optional
            Samples over which effects are averaged; by default the training samples.
        missing_features, n_threads
            As in `predict`.

        Returns
        -------
        DataFrame, features x classifier rows
            Columns ``("effect", row)``, the change of the decision, and ``("probability", row)``,
            the change of the probability of the row's class at the mean decision. Rows are named by
            task and class, such as ``"Impairment: Impaired"``. Zero for features that did not vary
            in training.
        """
        names, effects = self._classifiers.row_names(), self.effects
        if X is not None:
            values = self.match(X, missing_features)
            ends = (
                quartiles(_by_column(values), self.coding.columns)
                if effects is None
                else np.stack([effects.low, effects.high])
            )
            with workers(n_threads) as pool:
                effects = self.find_effects(self.coding.observe(values), ends, pool)
        if effects is None:
            raise InputError(
                "this model was saved by an earlier version, without feature effects: "
                "give the table to feature_effects, or fit it again."
            )
        full = np.zeros((len(self.plan.names), 2 * len(names)))
        full[self.coding.columns] = np.vstack([effects.decision, effects.probability]).T
        columns = pd.MultiIndex.from_product([["effect", "probability"], names])
        return pd.DataFrame(full, pd.Index(self.plan.names.tolist(), name="feature"), columns)

    def find_effects(
        self, observed: Observed, ends: Floats, pool: Workers, scores: Normal | None = None
    ) -> Effects:
        """Effects of the features in the model, averaged over the samples of a table.

        Parameters
        ----------
        observed : Observed, shape (d, N)
        ends : array, shape (2, d)
            Start and end of the move of every feature.
        pool : Workers
        scores : Normal, optional
            Label-free scores of the samples, if known.
        """
        label = self.model.label
        assert label is not None
        table = np.zeros((2, len(self.plan.names)))
        table[:, self.coding.columns] = ends
        extremes = self.coding.observe(table)
        samples = evenly_spaced(observed.shape[1], MOST_SAMPLES)
        means, drawn = [], []
        for number, decider in enumerate(self._deciders(observed)):
            known = scores if scores is not None and self.draws is None else decider.encode(pool)
            z = known.take(samples)
            means.append(find_effects(decider, z, samples, extremes, pool))
            if self.draws is not None:
                # The spread includes the uncertainty of the coefficients at the draw.
                at_random = decider.classifier.draw(Stream.from_seed(number))
                one = decider._replace(classifier=at_random)
                drawn.append(find_effects(one, z, samples, extremes, pool).effect)
        effect, mean, decision, variance = (
            np.mean(part, axis=0) for part in zip(*means, strict=True)
        )
        sd = np.std(drawn, axis=0) if drawn else np.full(effect.shape, np.nan)
        chances = probability_effects(self._classifiers, label, effect, decision, variance)
        return Effects(ends[0], ends[1], effect, chances, sd, mean)

    def encode(self, values: Any, pool: Workers) -> Normal:
        """Label-free scores of samples, shape (N, K).

        ``values`` has the model's columns, as from `rankfactor.features.matching.model_values`.
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
        """Reason why the model has no components."""
        return KERNEL if isinstance(self.model.experts, KernelExperts) else LINEAR

    def contributions(self, values: Any, pool: Workers) -> Contributions:
        """Decisions of samples, and their parts by feature and by factor.

        Averaged over draws, if any.
        """
        observed = self.coding.observe(values)
        parts = [contributions(decider, pool) for decider in self._deciders(observed)]
        return Contributions(*(np.mean(part, axis=0) for part in zip(*parts, strict=True)))

    def _deciders(self, observed: Observed) -> Iterator[Decider]:
        """The deciders: one, or one per draw used for prediction."""
        model, view = self.model, self.model.data_view
        if self.draws is None:
            item = ObservedView(view, observed, ViewState(self.rows, self.params, None))
            both = self._classifiers.classifier, self._classifiers.residual
            yield Decider(model, item, self.prior, *both)
            return
        for state, prior, classifier in self.draws.deciders():
            yield Decider(model, ObservedView(view, observed, state), prior, classifier)

    def decide(self, values: Any, pool: Workers) -> tuple[Floats, Floats]:
        """Mean and variance of every classifier's decision for samples, each (N, rows).

        Averaged over draws, if any.
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
    """Refuse an invalid probability of an interval."""
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


def _by_column(values: Any) -> Any:
    """A table whose columns can be read: a sparse one in CSC format."""
    return values.tocsc() if issparse(values) else np.asarray(values)


def _index(X: Any, n: int) -> Any:
    """Names of a table's samples, or their numbers."""
    names = _names_of(X)
    return pd.RangeIndex(n) if names is None else names


def _names_of(X: Any) -> Any:
    """Names of a table's samples, None without any."""
    names = getattr(X, "obs_names", getattr(X, "index", None))
    return None if callable(names) else names  # lists have a method of that name
