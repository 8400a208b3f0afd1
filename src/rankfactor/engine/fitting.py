"""The stages of a fit to one coded table."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from rankfactor.classifiers import (
    Classifier,
    FirstPart,
    Gated,
    Kernel,
    TwoPartFit,
    fit_classifier,
    kernel_part,
    linear_part,
)
from rankfactor.classifiers.fitting import BRIEF
from rankfactor.classifiers.kernel_choice import gains
from rankfactor.classifiers.labels import signed_of
from rankfactor.classifiers.linear import fit_linear
from rankfactor.classifiers.per_component import gate_major
from rankfactor.engine.calibration import (
    ENOUGH,
    Refit,
    calibrate,
    fit_again,
    refit_coefficients,
    retrain,
)
from rankfactor.engine.chain import Moments
from rankfactor.engine.fit_settings import FitSettings, Labels
from rankfactor.engine.gibbs import sample
from rankfactor.engine.interruption import Interruption
from rankfactor.engine.on_disk import describe, open_on_disk
from rankfactor.engine.pooling import collect, pooled, predicts_by_draws
from rankfactor.engine.predictive import (
    START_ITERATIONS,
    label_free_scores,
    train,
    training_classifier,
)
from rankfactor.engine.vb import Fit, Settings, ascend
from rankfactor.engine.vb_checkpoint import AscentCheckpoint, TrainingCheckpoint, find_scores
from rankfactor.errors import AUTO, convergence_warning
from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture
from rankfactor.laws.normal import Normal, dual
from rankfactor.likelihoods import Coding, MarginRank, Observed, ObservedArray
from rankfactor.model import Model, ViewState
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.posterior.convergence import INTERRUPTED, Convergence
from rankfactor.posterior.draws import Draws, certain
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers, thread_count
from rankfactor.storage.checkpoint import Checkpoint
from rankfactor.storage.draw_store import DrawStore
from rankfactor.storage.stages import StageFolder
from rankfactor.typing import Floats

CHAIN_TOL = 1e-6  # of the variational fit that chains start from
# Factors that explain a smaller share of the table have switched off.
LEAST_SHARE = 1e-3
PRIOR_STEPS = 5  # of a mixture's parameters, at given scores and responsibilities


class Fitting:
    """The stages of a fit and their shared state."""

    def __init__(
        self,
        model: Model,
        coding: Coding,
        observed: Observed,
        labels: Labels | None,
        settings: FitSettings,
        training: str,
        pool: Workers,
        ctrl_c: Interruption,
    ) -> None:
        self.model, self.coding, self.observed, self.labels = model, coding, observed, labels
        self.settings, self.pool, self.ctrl_c = settings, pool, ctrl_c
        self.training, self.joint = training, training == "bayes"
        self.predictive = settings.predictive if training == "predictive" else None
        self.rows = None if labels is None else ObservedArray(labels.signed)
        self.rng = np.random.default_rng(settings.seed)
        self.stream = Stream.from_seed(settings.seed)
        self.ascent = settings.ascent
        if settings.gibbs is not None:
            self.ascent = chain_start(settings.ascent)
        if settings.is_predictive(training):
            most = min(settings.ascent.max_iter, START_ITERATIONS)
            self.ascent = replace(settings.ascent, max_iter=most, warns=False)
        self.start: tuple[ViewState, Normal] | None = None  # of predictive training
        self.stages: StageFolder | None = None
        self.checkpoint: Checkpoint | None = None
        self.store: DrawStore | None = None

    def open_files(self, features: list[str], **more: Any) -> None:
        """Open checkpoints and the store of draws, if requested.

        ``more`` are plain values that identify the problem.
        """
        gibbs, path = self.settings.gibbs, self.settings.checkpoint
        wanted = [path] if gibbs is None else [path, gibbs.checkpoint, gibbs.store]
        if all(one is None for one in wanted):
            return
        problem = describe(self.model, self.observed, self.rows, self.stream) | more
        if gibbs is not None:
            self.checkpoint, self.store = open_on_disk(gibbs, self.model, problem, features)
        if path is not None:
            weight = None if self.predictive is None else float(self.predictive.label_weight)
            course = {"training": self.training, "n_restarts": int(self.ascent.n_restarts)}
            self.stages = StageFolder(path, {**problem, **course, "label_weight": weight})

    def ascend(self) -> Fit:
        """Variational Bayes; before predictive training a few iterations without labels."""
        progress = self.settings.progress
        seen = self.rows if self.joint else None
        model, observed, stages, pool = self.model, self.observed, self.stages, self.pool
        checkpoint = None if stages is None else AscentCheckpoint(stages, model, observed, self.rng)
        given = (model, self.coding, observed, seen, self.ascent, self.rng, pool, progress)
        result = ascend(*given, checkpoint)
        if stages is not None and self.settings.gibbs is not None:
            # Chains that have not started begin where they would after a resume.
            find_scores(result, pool)
        return result

    def train(self, result: Fit) -> None:
        """Predictive training, if requested, in place."""
        if self.predictive is None or self.rows is None or self._falls_back(result):
            return
        model, stages, pool, progress = self.model, self.stages, self.pool, self.settings.progress
        with self.ctrl_c.holding():
            label_free_scores(result, pool)
            self.start = result.data.state.copy(), result.z.copy()
            classifier = training_classifier(model, self.rows, result.z, self.rng)
        if self.ctrl_c.came and not result.convergence.interrupted:
            result.convergence = Convergence(INTERRUPTED, "the label-free start")
            warnings.warn(result.convergence.warning, convergence_warning(), stacklevel=4)
        training = None if stages is None else TrainingCheckpoint(stages, model, result, classifier)
        train(model, result, self.rows, classifier, self.predictive, pool, progress, training)

    def or_without_factors(self, result: Fit) -> tuple[Fitting, Fit]:
        """Another fit where "auto" chose label-free factors and none is left, with a warning.

        Factors without loadings have no gradient, so predictive training cannot bring them back.
        Decisions of two parts use the features themselves. Where these are not possible, a joint
        fit keeps at least the direction that separates the classes. A fit without labels is kept.
        """
        of_ranks = self.model.data.name == MarginRank.name
        advice = ""
        if of_ranks:
            advice = (
                " In counts that are nearly all zero, likelihood='ordinal_probit' or, for up to "
                "32,768 samples, 'ordinary_rank' finds factors that max-margin ranks miss."
            )
        none_left = f"the factors explain less than {LEAST_SHARE:.1%} of the table"
        if self.labels is None and self.settings.gibbs is None and self._switched_off(result):
            warnings.warn(f"{none_left}.{advice}", UserWarning, stacklevel=5)
        if not self._falls_back(result):
            return self, result
        other = "label-free" if self._may_use_features() else "bayes"
        if other == "label-free":
            instead = "decisions use the features instead (training='label-free')."
        else:
            instead = "they were fitted jointly with the labels (training='bayes')."
            if of_ranks:
                instead += " Samples are then ranked, but their probabilities may hardly differ."
        warnings.warn(f"{none_left}, so {instead}{advice}", UserWarning, stacklevel=5)
        if other == self.training:
            return self, result
        given = self.model, self.coding, self.observed, self.labels, self.settings
        fitting = Fitting(*given, other, self.pool, self.ctrl_c)
        name = "joint" if fitting.joint else other
        fitting.stages = None if self.stages is None else self.stages.part(name)
        return fitting, fitting.ascend()

    def _may_use_features(self) -> bool:
        """Whether decisions may have a second part, from the features."""
        n = self.observed.shape[1]
        return self.settings.has_residual(self.model, "label-free", n)

    def _falls_back(self, result: Fit) -> bool:
        """Whether label-free factors that "auto" chose have switched off."""
        chosen = self.settings.training == AUTO and self.labels is not None and not self.joint
        return bool(chosen and self.model.experts is None and self._switched_off(result))

    def _switched_off(self, result: Fit) -> bool:
        """Whether no factor is left of a fit that was not interrupted."""
        if result.convergence.interrupted:
            return False
        noise = self.model.data.noise_variance(result.data.state.params).mean()
        explained = result.history.sd_w[-1] ** 2
        return bool(explained < LEAST_SHARE * (explained + noise))

    def keeps_kernel(self, result: Fit) -> bool:
        """Whether an optional kernel on label-free scores is worth using; True for other models."""
        experts, seen = self.model.experts, self.joint or self.predictive is not None
        done = result.convergence.interrupted or not getattr(experts, "optional", False)
        if seen or done or self.labels is None or self.rows is None:
            return True
        z = encode_samples(self.model, result.data, self.pool)
        return gains(self.model, self.rows, z, self.settings.seed, self.labels.groups)

    def sample(self, result: Fit) -> Draws | None:
        """Gibbs sampling from the fit; its distributions become those of the draws, in place."""
        gibbs, progress = self.settings.gibbs, self.settings.progress
        if gibbs is None:
            return None
        if result.convergence.interrupted:
            warnings.warn(
                "interrupted before the first sweep: the variational fit from which chains start "
                "is kept, and there are no draws.",
                convergence_warning(),
                stacklevel=4,
            )
            return None
        # A progress function may have a method ``sampling`` with more detail.
        tell = getattr(progress, "sampling", None)
        if progress is not None and tell is None:

            def tell(done: int, total: int, note: str) -> None:
                progress(result.n_iter + done, math.nan, math.nan)

        n_threads = thread_count(self.settings.n_threads)
        records = None if self.store is None else self.store.records
        chains = sample(
            self.model, result, gibbs, self.stream, n_threads, tell, self.checkpoint, records
        )
        self.ctrl_c.hold()
        draws = collect(self.model, chains, self.observed, self.rows, gibbs.n_predict, self.pool)
        state = result.data.state
        state.rows = pooled([chain.rows for chain in chains])
        state.params = type(state.params).pool(draws.params)
        # A mixture's components cannot be averaged over draws; those of the fit are updated to the
        # mean scores, whose unit is that of the draws.
        scores = pooled([chain.scores for chain in chains])
        for _ in range(PRIOR_STEPS):
            result.prior = result.prior.update(scores)
        return draws

    def classify(self, result: Fit, draws: Draws | None, scores: Normal) -> Classifiers | None:
        """Classifiers on label-free scores (N, K), with calibrated probabilities."""
        if self.labels is None or self.rows is None:
            return None
        model, rows, groups = self.model, self.rows, self.labels.groups
        two_part = self.settings.has_residual(model, self.training, len(scores.mean))
        if two_part and model.linear:
            return self._classify_two_part(result, scores, None)
        fitted = fit_classifier(
            model, rows, scores, self.pool, prior=result.prior, seed=self.rng, groups=groups
        )
        if two_part and isinstance(fitted, Kernel):
            return self._classify_two_part(result, scores, fitted)
        average, joint = fitted.average(scores), joint_rows(result, draws, scores)
        classifiers = Classifiers(
            self.labels.tasks,
            average,
            average if joint is None else joint,
            self.labels.class_index,
            fitted if isinstance(fitted, Gated | Kernel) else None,
        )
        if not self._calibrates(draws) or result.convergence.interrupted:
            return classifiers
        try:
            refit, enough = self._refit(result, fitted, scores)
            # The coefficients alone take no time; anything else is not started after Ctrl-C.
            refits = self.settings.calibration == "refit" or not self.joint
            quick = self.predictive is None and refits
            if self.ctrl_c.came and not quick:
                raise KeyboardInterrupt
            first = classifiers.decide(scores)[0][:, 0]
            return self._calibrated(classifiers, refit, first, enough)
        except KeyboardInterrupt:
            result.convergence = Convergence(
                INTERRUPTED, criterion=f"the fit itself is {result.convergence}"
            )
            warnings.warn(
                "interrupted: the fit is kept, but its probabilities are not calibrated.",
                UserWarning,
                stacklevel=4,
            )
            return classifiers

    def _calibrates(self, draws: Draws | None) -> bool:
        """Whether decisions get a scale: draws of a probit's coefficients need none."""
        assert self.model.label is not None
        assert self.rows is not None
        linear = self.model.label.normalised and self.model.linear
        own = draws is not None and (linear or predicts_by_draws(self.model, self.rows))
        return self.settings.calibration != "none" and not own

    def _classify_two_part(self, result: Fit, scores: Normal, kernel: Kernel | None) -> Classifiers:
        """Classifiers of two parts on label-free scores (N, K), or on features of a kernel."""
        assert self.labels is not None
        assert self.model.label is not None
        assert self.rows is not None
        (tasks, class_index, signed, _), label = self.labels, self.model.label
        precision = self.model.label_view.intercept_precision
        given = self.model.data, label, self.observed, scores, signed, precision
        shared = TwoPartFit(*given, self.pool)

        def first_of(rows: ObservedArray, fitted: Kernel | None) -> FirstPart:
            if fitted is not None:
                return kernel_part(scores, fitted)
            return linear_part(scores, fit_linear(self.model, rows, scores, self.pool).rows)

        fitted = shared.fit(first_of(self.rows, kernel), signed)
        decisions, _ = shared.decide(fitted)
        average = fitted.classifier.average(scores)
        classifiers = Classifiers(
            tasks,
            average,
            average,
            class_index,
            fitted.classifier if isinstance(fitted.classifier, Kernel) else None,
            residual=shared.with_share(fitted),
        )
        if self.settings.calibration == "none" or result.convergence.interrupted:
            return classifiers

        def refit(hidden: ObservedArray) -> tuple[Floats, Floats]:
            again = kernel
            if kernel is not None:  # its metric depends on the labels
                found = fit_classifier(
                    self.model, hidden, scores, self.pool, start=kernel, effort=BRIEF
                )
                assert isinstance(found, Kernel)
                again = found
            first = first_of(hidden, again)
            return shared.decide(shared.fit(first, signed_of(hidden), decisions))

        return self._calibrated(classifiers, refit, decisions[:, 0])

    def _calibrated(
        self, classifiers: Classifiers, refit: Refit, first: Floats, enough: int | None = None
    ) -> Classifiers:
        """The classifiers with scales that maximise the likelihood of held-out training labels."""
        assert self.labels is not None
        assert self.model.label is not None
        tasks, class_index, signed, groups = self.labels
        with self.ctrl_c.holding(False):
            scale = calibrate(
                self.model.label, tasks, class_index, signed, refit, first, enough, groups
            )
        return replace(classifiers, scale=scale)

    def _refit(self, result: Fit, fitted: Classifier, scores: Normal) -> tuple[Refit, int | None]:
        """The part to refit without held-out labels, and the number of held-out samples needed."""
        calibration, seed, pool = self.settings.calibration, self.settings.seed, self.pool
        if self.predictive is not None and self.start is not None:
            state, z = self.start
            data = ObservedView(self.model.data_view, self.observed, state)
            enough = None if calibration == "cross-validation" else ENOUGH
            return retrain(self.model, data, z, self.predictive, seed, pool), enough
        if calibration == "refit" or not self.joint:
            return refit_coefficients(self.model, scores, fitted, pool, result.prior), None
        again = fit_again(self.model, self.coding, self.observed, self.ascent, seed, pool)
        return again, None

    def close_chains(self, posterior: Posterior) -> None:
        """Write the form of the factors, and the rows' names, to the store of draws."""
        draws, classifiers = posterior.draws, posterior.classifiers
        if self.store is not None and draws is not None and draws.basis is not None:
            names = None if classifiers is None else classifiers.row_names()
            self.store.finish(dual(draws.basis, len(draws.basis)).T, names)


def joint_rows(result: Fit, draws: Draws | None, scores: Normal) -> Normal | None:
    """Coefficients (R, K + 1) of the joint fit, a mixture's averaged over its components."""
    if result.labels is None:
        return None
    rows = result.labels.state.rows
    if draws is None:
        if not isinstance(result.prior, Mixture):
            return rows
        n_labels = len(rows.mean) // result.prior.n_components
        return Gated(result.prior.gates(scores), gate_major(rows, n_labels)).average(scores)
    moments = Moments.empty(draws.coefficients.shape[1], rows.order)
    for number, drawn in enumerate(draws.coefficients):
        prior = draws.prior(number)
        if isinstance(prior, Mixture):
            drawn = np.einsum("t,rtk->rk", np.exp(prior.log_share), drawn)
        moments.add(certain(drawn))
    return moments.law()


def chain_start(ascent: Settings) -> Settings:
    """Settings of the variational fit from which chains start.

    A fit that stops early may be far from where the chains go, which then need longer than their
    burn-in.
    """
    return replace(ascent, tol=min(ascent.tol, CHAIN_TOL), warns=False)
