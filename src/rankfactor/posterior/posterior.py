"""What a fit leaves: laws of loadings, coefficients and scores, names, history; and prediction.

New samples are coded with the stored coding and encoded with the stored loadings, so a posterior
does not hold the training table. It does hold observed values of single features: the cuts of a
rank likelihood, and the knots of the regression on covariates. It also holds the names, label-free
scores and labels of the training samples, unless `Posterior.without_training_samples` took them
out. docs/model-file.md lists everything. Features that did not vary in training are not part of the
model; they have zero loadings in everything that is given out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers.gated import Experts
from rankfactor.classifiers.linear import decisions, encode_samples
from rankfactor.engine.calibration import class_probabilities
from rankfactor.engine.convergence import Convergence
from rankfactor.engine.draws import Draws
from rankfactor.engine.vb import ACTIVE_SHARE, factor_shares, loading_units, second_moment
from rankfactor.errors import InputError
from rankfactor.features.covariates import Adjustment
from rankfactor.features.words import Indicators
from rankfactor.kernels.packed import Floats
from rankfactor.latent import Mixture, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Coding, Observed, RowArrays
from rankfactor.model import Model, ViewState
from rankfactor.posterior import diagnostics
from rankfactor.posterior.certainty import clear_coefficients
from rankfactor.posterior.samples import SampleSummary, summarise
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.tasks import Task, positive_classes

Strings = NDArray[np.str_]
_ROWS_AT_A_TIME = 256
_LINEAR = "a linear model has no components: choose a nonlinear one."


@dataclass(frozen=True)
class Classifiers:
    """The classifiers of all tasks, rows in the order of the tasks.

    Attributes
    ----------
    tasks : tuple of Task
    rows : Normal, shape (rows, K + 1)
        Coefficients and intercept fitted to label-free scores: what predicts or, with experts,
        their average over the training samples.
    joint_rows : Normal, shape (rows, K + 1)
        Those of the joint fit, whose scores have seen the labels; the same as ``rows`` where there
        was none.
    codes : int array, shape (N, n_tasks)
        Class numbers of the training samples, -1 where missing; N is 0 without these.
    experts : Experts or None
        Local classifiers that predict in place of ``rows``.
    scale : array, shape (n_tasks,)
        What decisions are multiplied by before they become probabilities
        (`rankfactor.engine.calibration`); empty means 1 for all.
    """

    tasks: tuple[Task, ...]
    rows: Normal
    joint_rows: Normal
    codes: NDArray[np.int64]
    experts: Experts | None = None
    scale: Floats = field(default_factory=lambda: np.ones(0))

    def __post_init__(self) -> None:
        """Scales of 1 where none are given."""
        if len(self.scale) == 0:
            object.__setattr__(self, "scale", np.ones(len(self.tasks)))

    def decisions(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision for scores (N, K), each (N, rows)."""
        return decisions(self.rows, z) if self.experts is None else self.experts.decisions(z)

    def rows_of(self, task: int) -> slice:
        """Which rows belong to a task."""
        counts = np.cumsum([0] + [t.n_rows for t in self.tasks])
        return slice(int(counts[task]), int(counts[task + 1]))

    def flipped(self, turned: Sequence[bool]) -> tuple[Classifiers, Floats]:
        """Classifiers with the two classes of some tasks in turned order, and the rows' signs."""
        tasks, codes = [], self.codes.copy()
        for number, (task, turn) in enumerate(zip(self.tasks, turned, strict=True)):
            known = codes[:, number] >= 0
            codes[known, number] = (1 - codes if turn else codes)[known, number]
            tasks.append(replace(task, classes=task.classes[::-1]) if turn else task)
        n_rows = [task.n_rows for task in self.tasks]
        sign = np.repeat(np.where(turned, -1.0, 1.0), n_rows)
        experts = self.experts
        classifiers = replace(
            self,
            tasks=tuple(tasks),
            rows=self.rows.flipped(sign),
            joint_rows=self.joint_rows.flipped(sign),
            codes=codes,
            experts=None if experts is None else replace(experts, rows=experts.rows.flipped(sign)),
        )
        return classifiers, sign

    def row_names(self) -> list[str]:
        """One readable name per row: the task, and the class that a positive decision means."""
        names = []
        for task in self.tasks:
            positive = task.classes[1:] if task.n_rows == 1 else task.classes
            names += [f"{task.name}: {label}" for label in positive]
        return names


@dataclass(frozen=True)
class Posterior:
    """A fitted model.

    Attributes
    ----------
    model : Model
    feature_names, sample_names : str array, shapes (D,) and (N,)
        N is 0 in a posterior without training samples, here and in ``scores``.
    named_features : bool
        Whether the names came with the table, so that new tables are matched by name.
    coding : Coding
        How values become observations; ``coding.columns`` are the features in the model.
    rows : Normal, shape (d, K) or (d, K + 1)
        Loadings (and means) of the features in the model, d <= D.
    params : RowArrays
        Parameters of the data likelihood.
    scores : Normal, shape (N, K)
        Label-free scores of the training samples.
    classifiers : Classifiers or None
    elbo, sd_w, n_active : array, shape (iterations + 1,)
        History of the fit.
    convergence : Convergence
        How the fit ended, and by which criterion.
    draws : Draws or None
        The draws of Gibbs sampling; ``rows``, ``params`` and ``scores`` then have their means and
        variances.
    prior : ScorePrior
        Prior of the scores, which encodes new samples; nothing in it is of a training sample.
    training : str
        How the labels shaped the factors: "bayes" (jointly) or "predictive".
    views : str array, shape (D,), or None
        The view of every feature, where the table has views.
    adjustment : Adjustment or None
        What is done with covariates; those that are features of the model come last.
    indicators : Indicators or None
        How columns of words become features.
    codes_sha256 : str
        Hash of the training codes, which tells training tables apart; empty if it is not known.
    left_out : SampleSummary or None
        What is known of training samples that were left out.
    """

    model: Model
    feature_names: Strings
    named_features: bool
    sample_names: Strings
    coding: Coding
    rows: Normal
    params: RowArrays
    scores: Normal
    classifiers: Classifiers | None
    elbo: Floats
    sd_w: Floats
    n_active: NDArray[np.int64]
    convergence: Convergence
    draws: Draws | None = None
    prior: ScorePrior = StandardNormal()
    training: str = "bayes"
    views: Strings | None = None
    adjustment: Adjustment | None = None
    indicators: Indicators | None = None
    codes_sha256: str = ""
    left_out: SampleSummary | None = None

    @cached_property
    def samples(self) -> SampleSummary:
        """The training samples together: their number, moments of their scores, class counts."""
        if self.left_out is not None:
            return self.left_out
        classifiers = self.classifiers
        tasks = () if classifiers is None else classifiers.tasks
        codes = np.zeros((0, 0), np.int64) if classifiers is None else classifiers.codes
        n_components = 0
        if isinstance(self.prior, Mixture):
            n_components = self.prior.assign(self.scores).n_used
        elif classifiers is not None and classifiers.experts is not None:
            n_components = classifiers.experts.gates.n_used(self.scores.mean)
        return summarise(self.scores, tasks, codes, n_components)

    def without_training_samples(self) -> Posterior:
        """The same model without the names, scores and labels of the training samples.

        It predicts the same. Loadings, shares, intervals and the number of samples of every class
        stay; whatever shows single samples raises an `InputError`.
        """
        if self.left_out is not None:
            return self
        classifiers = self.classifiers
        if classifiers is not None:
            classifiers = replace(classifiers, codes=classifiers.codes[:0])
        none = np.zeros(0, np.int64)
        return replace(
            self,
            sample_names=self.sample_names[:0].astype("<U1"),
            scores=self.scores.take(none),
            classifiers=classifiers,
            left_out=replace(self.samples, mixing=diagnostics.decision_mixing(self)),
        )

    def check_samples(self, what: str) -> None:
        """Raise an `InputError` if ``what`` of the training samples is not there to be shown."""
        if self.left_out is not None:
            raise InputError(
                f"this model was saved without its training samples, so it has no {what}: save it "
                "with them."
            )

    @property
    def converged(self) -> bool:
        """Whether the fit has converged."""
        return self.convergence.converged

    @property
    def table_features(self) -> Strings:
        """Names of the features that a new table has: all but covariates that are features.

        Those that stand for a column of words are the features made of it.
        """
        added = 0 if self.adjustment is None else len(self.adjustment.added)
        return self.feature_names[: len(self.feature_names) - added]

    @property
    def covariate_names(self) -> list[str]:
        """Names of the covariates that a new table has as well."""
        return [] if self.adjustment is None else self.adjustment.design.names

    @property
    def word_columns(self) -> list[str]:
        """Names of the columns of words that features are made of."""
        return [] if self.indicators is None else self.indicators.names

    @property
    def view_names(self) -> list[str]:
        """Names of the views, in the order of their first features; none without views."""
        return [] if self.views is None else list(dict.fromkeys(self.views.tolist()))

    @property
    def view_shares(self) -> Floats:
        """Share of each view's variance that each factor has, shape (views, K).

        The mean of the squared standardised loadings of the features of the view that are in the
        model; zero for a view that has none. Factors of predictive training correlate somewhat, so
        that the shares of a view may then add up to a little more than 1.
        """
        squares = (self.rows.mean[:, : self.n_factors] * self._units) ** 2
        shares = np.zeros((len(self.view_names), self.n_factors))
        for number, name in enumerate(self.view_names):
            chosen = np.asarray(self.views)[self.coding.columns] == name
            if chosen.any():
                shares[number] = squares[chosen].mean(axis=0)
        return shares

    @property
    def n_factors(self) -> int:
        """Number of factors K."""
        return int(self.model.n_factors)

    @property
    def factor_names(self) -> list[str]:
        """Names of the factors, in order of their share."""
        return [f"Factor {k + 1}" for k in range(self.n_factors)]

    @property
    def loadings(self) -> Floats:
        """Posterior mean loadings of all features, shape (D, K)."""
        return self._all_features(self.rows.mean)

    def _all_features(self, values: Floats) -> Floats:
        full = np.zeros((len(self.feature_names), self.n_factors))
        full[self.coding.columns] = values[:, : self.n_factors]
        return full

    @property
    def noise_variance(self) -> Floats:
        """Variance of what w leaves unexplained, features in the model, shape (d,)."""
        return self.model.data.noise_variance(self.params)

    @property
    def _units(self) -> Floats:
        loadings = self.rows.mean[:, : self.n_factors]
        return loading_units(loadings, self.samples.moment, self.noise_variance)

    @property
    def standardised_loadings(self) -> Floats:
        """Loadings in units of a feature's total spread, shape (D, K), between -1 and 1.

        ``a_ik sd(z_k) / sd(w_i + noise_i)``: comparable across features of any kind.
        """
        return self._all_features(self.rows.mean[:, : self.n_factors] * self._units)

    @property
    def standardised_loadings_sd(self) -> Floats:
        """Posterior standard deviations of the standardised loadings, shape (D, K)."""
        return self._all_features(np.sqrt(self.rows.variance[:, : self.n_factors]) * self._units)

    @property
    def shares(self) -> Floats:
        """Share of each factor in the squared standardised loadings, shape (K,)."""
        loadings = self.rows.mean[:, : self.n_factors]
        return factor_shares(loadings, self.samples.moment, self.noise_variance)

    @property
    def active(self) -> NDArray[np.bool_]:
        """Which factors are in use, by the table or by a classifier, shape (K,).

        A classifier uses a factor if its coefficient is clear (`rankfactor.posterior.certainty`).
        """
        used = self.shares >= ACTIVE_SHARE
        if self.classifiers is not None:
            used = used | clear_coefficients(self).any(axis=0)
        return np.asarray(used)

    def encode(self, values: Any, pool: Workers) -> Normal:
        """Label-free scores of samples, shape (N, K).

        ``values`` has the model's columns: what `rankfactor.features.matching.model_values` gives.
        """
        view = self.model.data_view
        state = ViewState(self.rows, self.params, None)
        item = ObservedView(view, self.coding.observe(values), state)
        return encode_samples(self.model, item, pool, prior=self.prior)

    @property
    def n_components_used(self) -> int:
        """Number of local classifiers that matter, of a nonlinear model.

        Those whose components have at least 1 % of the training samples, and at least one, by
        label-free responsibilities. The gates of mixed experts are soft by design, so there the
        samples count whose nearest centre it is.
        """
        if not self.samples.n_components:
            raise InputError(_LINEAR)
        return self.samples.n_components

    def responsibilities(self, values: Any, pool: Workers) -> Floats:
        """Weights of the local classifiers for samples, shape (N, T), rows adding up to 1."""
        return self._experts.gates.responsibilities(self.encode(values, pool).mean)

    def decide(self, values: Any, pool: Workers) -> tuple[Floats, Floats]:
        """Mean and variance of every classifier's decision for samples, each (N, rows).

        Averaged over draws where there are any.
        """
        classifiers = self._classifiers
        if self.draws is None:
            return classifiers.decisions(self.encode(values, pool))
        observed = self.coding.observe(values)
        return self.draws.decide(self.model, self.model.data_view, observed, pool)

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

    def with_positive(self, positive: Mapping[str, Any]) -> Posterior:
        """The same model, speaking of other classes: decisions, coefficients, ROC and report.

        The positive class of a task is the second of its ``classes``, at first the larger label.
        Predictions and probabilities are the same; decisions and coefficients change their sign.

        Parameters
        ----------
        positive : mapping from task to class
            Only tasks with two classes have a positive one.
        """
        tasks = () if self.classifiers is None else self.classifiers.tasks
        numbers = positive_classes(tasks, positive)
        turned = [numbers.get(task.name, 1) == 0 for task in tasks]
        if not any(turned):
            return self
        classifiers, sign = self._classifiers.flipped(turned)
        draws = None if self.draws is None else self.draws.flipped(sign)
        return replace(self, classifiers=classifiers, draws=draws)

    def to_arviz(self) -> Any:
        """The draws of Gibbs sampling for ArviZ, which has more diagnostics and plots.

        Returns
        -------
        xarray.DataTree
            Group ``posterior``: ``loadings`` (chain, draw, feature, factor) of the features in the
            model, ``coefficients`` (chain, draw, row, factor) and ``intercept`` (chain, draw, row)
            of the joint fit where there are labels (with a mixture, of every component after the
            row; a component's number means nothing beyond its draw), and the likelihood's own
            parameters, such as
            ``cut_points`` (chain, draw, feature, cut; NaN where a feature has fewer cuts) or
            ``noise_precision``, and the shrinkage scales, such as ``loading_xi`` (chain, draw,
            feature, factor). Group ``sample_stats``: ``lp``, the log likelihood with its
            auxiliary variables. Burn-in is not part of it; chains of unequal length are cut to
            the shortest.

        Raises
        ------
        InputError
            After variational Bayes, or without the extra: ``pip install rankfactor[arviz]``.
        """
        return diagnostics.to_arviz(self)

    @property
    def _experts(self) -> Experts:
        if self.classifiers is None or self.classifiers.experts is None:
            raise InputError(_LINEAR)
        return self.classifiers.experts

    @property
    def _classifiers(self) -> Classifiers:
        if self.classifiers is None:
            raise ValueError("this model was fitted without labels, so it has no decisions.")
        return self.classifiers


def readable_order(
    loadings: Floats, scores: Floats, noise: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Order (K,) by decreasing share, and signs (K,) that make each factor's loadings skew upwards.

    Neither depends on the labels or on the order of samples and features.
    """
    order = np.argsort(-factor_shares(loadings, second_moment(scores), noise), kind="stable")
    sign = np.where((loadings[:, order] ** 3).sum(axis=0) < 0, -1.0, 1.0)
    return order, sign


def hash_of_codes(observed: Observed) -> str:
    """SHA-256 of the codes of a table."""
    n_rows, n_samples = observed.shape
    content = hashlib.sha256(f"{n_rows} {n_samples}".encode())
    for start in range(0, n_rows, _ROWS_AT_A_TIME):
        content.update(observed.content(slice(start, min(start + _ROWS_AT_A_TIME, n_rows))))
    return content.hexdigest()


def names_or_default(names: Sequence[object] | None, prefix: str, count: int) -> Strings:
    """Names as strings, or prefix0, prefix1, ... where there are none."""
    if names is None:
        return np.array([f"{prefix}{i}" for i in range(count)], dtype=np.str_)
    return np.array([str(name) for name in names], dtype=np.str_)
