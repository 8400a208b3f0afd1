"""`Posterior`: distributions of loadings, coefficients and scores, names, history, prediction.

New samples are coded with the stored coding and encoded with the stored loadings, so a posterior
does not contain the training table. It does contain observed values of single features: the cuts of
a rank likelihood, and the knots of the regression on covariates. It also contains the names,
label-free scores and labels of the training samples, unless `Posterior.without_training_samples`
removed them. docs/reference/model-file.md lists everything. Features that did not vary in training
are not part of the model; their loadings are reported as zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.features.plan import FeaturePlan
from rankfactor.latent import ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal, dual
from rankfactor.likelihoods import Coding, Observed, RowArrays
from rankfactor.model import Model
from rankfactor.posterior import diagnostics
from rankfactor.posterior.certainty import nonzero_coefficients
from rankfactor.posterior.classifiers import Classifiers
from rankfactor.posterior.convergence import Convergence
from rankfactor.posterior.draws import Draws
from rankfactor.posterior.effects import Effects
from rankfactor.posterior.factor_count import FactorCount
from rankfactor.posterior.prediction import Prediction
from rankfactor.posterior.samples import SampleSummary, summarise
from rankfactor.posterior.shares import ACTIVE_SHARE, loading_units
from rankfactor.posterior.stability import Stability
from rankfactor.posterior.variance_explained import VarianceExplained, by_model
from rankfactor.tasks import positive_classes
from rankfactor.typing import Floats, Strings

_ROWS_AT_A_TIME = 256


@dataclass(frozen=True, repr=False)
class Posterior(Prediction):
    """A fitted model.

    Attributes
    ----------
    model : Model
    plan : FeaturePlan
        Transform of a table to the D features of the model.
    sample_names : str array, shape (N,)
        N is 0 in a posterior without training samples, also in ``scores``.
    coding : Coding
        Transform of values to observations; ``coding.columns`` are the features in the model.
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
        The draws of Gibbs sampling; ``rows``, ``params`` and ``scores`` are then their means and
        variances.
    prior : ScorePrior
        Prior of the scores, used to encode new samples; it contains no training sample.
    training : str
        How the labels shaped the factors: "bayes" (jointly), "predictive" or "label-free" (not at
        all).
    codes_sha256 : str
        Hash of the training codes, which identifies the training table; empty if unknown.
    left_out : SampleSummary or None
        Summary of training samples that were left out.
    variance : VarianceExplained or None
        Correlations of features and factors in the training table, and the variance explained;
        None in a model file of an earlier version, whose factors keep the axes of the fit.
    factor_count : FactorCount or None
        How parallel analysis chose the number of factors; None if the number was given.
    effects : Effects or None
        Effects of moving a feature on the decisions; None without labels, and in a model file of an
        earlier version.
    stability : Stability or None
        Stability from half-sample fits; None without such a run.
    """

    model: Model
    plan: FeaturePlan
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
    codes_sha256: str = ""
    left_out: SampleSummary | None = None
    variance: VarianceExplained | None = None
    factor_count: FactorCount | None = None
    effects: Effects | None = None
    stability: Stability | None = None

    def __repr__(self) -> str:
        """The model in one line: size, parts, tasks and how the fit ended."""
        tasks = () if self.classifiers is None else self.classifiers.tasks
        labels = f", tasks {', '.join(task.name for task in tasks)}" if tasks else ""
        size = f"{self.samples.n_samples} samples x {len(self.feature_names)} features"
        if self.model.name:
            size = f"{self.model.name}, {size}"
        return f"<Posterior of {size}, {self.n_factors} factors{labels}; {self.convergence.state}>"

    def _repr_html_(self) -> str:
        """The model as a small table, for notebooks."""
        rows = {
            **({"model": self.model.name} if self.model.name else {}),
            "samples": str(self.samples.n_samples),
            "features": str(len(self.feature_names)),
            "factors": f"{self.n_factors}, of which {int(self.active.sum())} in use",
            "fit": str(self.convergence),
        }
        tasks = () if self.classifiers is None else self.classifiers.tasks
        for task, counts in zip(tasks, self.samples.counts, strict=True):
            *known, _ = counts.tolist()  # the last is the number of missing labels
            classes = zip(task.classes, known, strict=True)
            rows[f"task {task.name}"] = ", ".join(f"{label} ({count})" for label, count in classes)
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in rows.items()
        )
        return f"<table><caption>rankfactor model</caption>{cells}</table>"

    @cached_property
    def samples(self) -> SampleSummary:
        """The training samples together: their number, moments of their scores, class counts."""
        if self.left_out is not None:
            return self.left_out
        classifiers = self.classifiers
        tasks = () if classifiers is None else classifiers.tasks
        class_index = np.zeros((0, 0), np.int64) if classifiers is None else classifiers.class_index
        n_components = self.prior.assign(self.scores).n_used
        if not n_components and classifiers is not None and classifiers.gates is not None:
            n_components = classifiers.gates.n_used(self.scores.mean)
        return summarise(self.scores, tasks, class_index, n_components)

    def without_training_samples(self) -> Posterior:
        """The same model without the names, scores and labels of the training samples.

        Predictions are the same. Loadings, shares, intervals and the number of samples of every
        class stay; whatever shows single samples raises an `InputError`.
        """
        if self.left_out is not None:
            return self
        classifiers = self.classifiers
        if classifiers is not None:
            classifiers = replace(classifiers, class_index=classifiers.class_index[:0])
        none = np.zeros(0, np.int64)
        return replace(
            self,
            sample_names=self.sample_names[:0].astype("<U1"),
            scores=self.scores.take(none),
            classifiers=classifiers,
            left_out=replace(self.samples, mixing=diagnostics.decision_mixing(self)),
        )

    def with_stability(self, stability: Stability) -> Posterior:
        """The same model with its stability from half-sample fits."""
        return replace(self, stability=stability)

    def check_samples(self, what: str) -> None:
        """Raise an `InputError` if ``what`` needs training samples that were left out."""
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
    def feature_names(self) -> Strings:
        """Names of all features, shape (D,)."""
        return self.plan.names

    @property
    def named_features(self) -> bool:
        """Whether these names came with the table, so that new tables are matched by name."""
        return self.plan.named

    @property
    def table_features(self) -> Strings:
        """Names of the features that a new table needs: all except covariates used as features.

        A column of words is represented by the features made from it.
        """
        return self.plan.table_features

    @property
    def covariate_names(self) -> list[str]:
        """Names of the covariates that a new table also needs."""
        return self.plan.covariate_names

    @property
    def word_columns(self) -> list[str]:
        """Names of the columns of words from which features are made."""
        return self.plan.word_columns

    @property
    def blocks(self) -> Strings | None:
        """The block of every feature, shape (D,), if the table has blocks."""
        return self.plan.blocks

    @property
    def block_names(self) -> list[str]:
        """Names of the blocks, in the order of their first features; none without blocks."""
        return [] if self.blocks is None else list(dict.fromkeys(self.blocks.tolist()))

    @property
    def has_standard_form(self) -> bool:
        """Whether the factors are in standard form; models of earlier versions are not."""
        return self.variance is not None

    @cached_property
    def _explained(self) -> VarianceExplained:
        if self.variance is not None:
            return self.variance
        loadings = self.rows.mean[:, : self.n_factors]
        return by_model(loadings, self.samples.moment, self.noise_variance)

    @property
    def shares(self) -> Floats:
        """Share of the variance of the features' ranks that each factor explains, shape (K,).

        They add up to `r2`; with the Gaussian likelihood, values replace ranks. A factor that
        explains nothing may have a share slightly below zero.
        """
        return np.asarray(self._explained.r2.mean(axis=0))

    @property
    def r2(self) -> float:
        """Share of the variance of the features' ranks that all factors explain together."""
        return float(self.shares.sum())

    @property
    def r2_by_block(self) -> Floats:
        """Share of the variance of each block that each factor explains, shape (blocks, K).

        The shares of a block add up to its R^2; zero for a block without features in the model.
        """
        shares = np.zeros((len(self.block_names), self.n_factors))
        for number, name in enumerate(self.block_names):
            chosen = np.asarray(self.blocks)[self.coding.columns] == name
            if chosen.any():
                shares[number] = self._explained.r2[chosen].mean(axis=0)
        return shares

    @property
    def factor_correlations(self) -> Floats:
        """Correlations of the label-free scores of the training samples, shape (K, K).

        Zero for a factor whose scores do not vary.
        """
        mean, moment = self.samples.mean, self.samples.moment
        covariance = moment - np.outer(mean, mean)
        sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        sd = np.where(sd > 1e-12, sd, np.inf)
        correlations = covariance / np.outer(sd, sd)
        np.fill_diagonal(correlations, 1.0)
        return np.asarray(correlations)

    def transformed(self, matrix: Floats) -> Posterior:
        """The same model with scores ``z @ matrix``, where the matrix (K, K) is invertible.

        Decisions, probabilities and everything else that depends on w do not change.
        """
        return replace(
            self,
            rows=self.rows.transformed(dual(matrix, self.rows.order)),
            scores=self.scores.transformed(matrix),
            prior=self.prior.transformed(matrix),
            classifiers=self.classifiers and self.classifiers.transformed(matrix),
            draws=self.draws and self.draws.transformed(matrix),
            variance=None,
            stability=None,
        )

    @property
    def n_factors(self) -> int:
        """Number of factors K."""
        return int(self.model.n_factors)

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
        """Variance not explained by w, for the features in the model, shape (d,)."""
        return self.model.data.noise_variance(self.params)

    @property
    def _units(self) -> Floats:
        loadings = self.rows.mean[:, : self.n_factors]
        return loading_units(loadings, self.samples.moment, self.noise_variance)

    @property
    def standardised_loadings(self) -> Floats:
        """Loadings of the model in units of a feature's total spread, shape (D, K).

        ``a_ik sd(z_k) / sd(w_i + noise_i)``: the model's estimate of `pattern`. They are shrunken,
        and somewhat too large if the noise of a pseudo-likelihood is too small.
        """
        return self._all_features(self.rows.mean[:, : self.n_factors] * self._units)

    @property
    def standardised_loadings_sd(self) -> Floats:
        """Posterior standard deviations of the standardised loadings, shape (D, K)."""
        return self._all_features(np.sqrt(self.rows.variance[:, : self.n_factors]) * self._units)

    @property
    def pattern(self) -> Floats:
        """Pattern loadings, shape (D, K): `structure` with the other factors held fixed.

        ``structure = pattern @ factor_correlations``, so both are equal if factors do not
        correlate.
        """
        return np.asarray(self.structure @ np.linalg.pinv(self.factor_correlations))

    @property
    def structure(self) -> Floats:
        """Correlations of all features with the factors' scores, shape (D, K): as reported.

        Computed from normal scores of the ranks (from values, with the Gaussian likelihood) and
        label-free scores in the training table; in model files of earlier versions, expected by the
        model.
        """
        return self._all_features(self._explained.structure)

    @property
    def active(self) -> NDArray[np.bool_]:
        """Which factors are in use, by the table or by a classifier, shape (K,).

        A classifier uses a factor if the posterior separates its coefficient from zero
        (`rankfactor.posterior.certainty.nonzero_coefficients`).
        """
        used = (self.shares >= ACTIVE_SHARE * self.r2) & (self.shares > 0)
        if self.classifiers is not None:
            used = used | nonzero_coefficients(self).any(axis=0)
        return np.asarray(used)

    @property
    def residual_share(self) -> Floats:
        """Share of every row's decision due to the residual, shape (rows,).

        A share of the variance over the training samples; the rest is due to the factors. Zero if
        decisions have no second part.
        """
        if self.classifiers is None:
            raise InputError("this model was fitted without labels, so it has no decisions.")
        residual = self.classifiers.residual
        return np.zeros(len(self.classifiers.rows.mean)) if residual is None else residual.share

    @property
    def n_components_used(self) -> int:
        """Number of local classifiers in use, for a nonlinear model.

        Components with at least 1 % of the training samples, and at least one sample, by label-free
        responsibilities. The gates of mixed experts are soft by design, so there a sample counts
        for its nearest centre.
        """
        if not self.samples.n_components:
            raise InputError(self.without_components)
        return self.samples.n_components

    def with_positive(self, positive: Mapping[str, Any]) -> Posterior:
        """The same model with other positive classes for decisions, coefficients, ROC and report.

        The positive class of a task is the second of its ``classes``, initially the larger label.
        Predictions and probabilities are the same; decisions and coefficients change sign.

        Parameters
        ----------
        positive : mapping from task to class
            Only tasks with two classes have a positive class.
        """
        tasks = () if self.classifiers is None else self.classifiers.tasks
        numbers = positive_classes(tasks, positive)
        turned = [numbers.get(task.name, 1) == 0 for task in tasks]
        if not any(turned):
            return self
        classifiers, sign = self._classifiers.flipped(turned)
        draws = None if self.draws is None else self.draws.flipped(sign)
        effects = None if self.effects is None else self.effects.flipped(sign)
        return replace(self, classifiers=classifiers, draws=draws, effects=effects)

    def to_arviz(self) -> Any:
        """The draws of Gibbs sampling for ArviZ, which has more diagnostics and plots.

        Returns
        -------
        xarray.DataTree
            Group ``posterior``: ``loadings`` (chain, draw, feature, factor) of the features in the
            model, ``coefficients`` (chain, draw, row, factor) and ``intercept`` (chain, draw, row)
            of the joint fit if there are labels (with a mixture, of every component after the row;
            component numbers have no meaning across draws), and the likelihood's own parameters,
            such as ``cut_points`` (chain, draw, feature, cut; NaN where a feature has fewer cuts)
            or ``noise_precision``, and the shrinkage scales, such as ``loading_xi`` (chain, draw,
            feature, factor). Group ``sample_stats``: ``lp``, the log likelihood with its auxiliary
            variables. Burn-in is not included; chains of unequal length are cut to the shortest.

        Raises
        ------
        InputError
            After variational Bayes, or without the extra: ``pip install rankfactor[arviz]``.
        """
        return diagnostics.to_arviz(self)


def hash_of_codes(observed: Observed) -> str:
    """SHA-256 of the codes of a table."""
    n_rows, n_samples = observed.shape
    content = hashlib.sha256(f"{n_rows} {n_samples}".encode())
    for start in range(0, n_rows, _ROWS_AT_A_TIME):
        content.update(observed.content(slice(start, min(start + _ROWS_AT_A_TIME, n_rows))))
    return content.hexdigest()
