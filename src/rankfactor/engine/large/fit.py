"""The fit to a table of many samples, which may exceed memory.

1. The coding is learned from a seeded sample of the rows, and from all values of features that have
   few. The fit starts with the first `CORE` samples of that sample, in memory, like any other
   (`rankfactor.engine.fit`).
2. All samples are coded, shard by shard, and their scores are computed.
3. Rows, parameters and coefficients are fitted to all samples: by variational Bayes
   (`rankfactor.engine.large.ascent`), then perhaps by predictive training
   (`rankfactor.engine.large.training`).
   Held-out labels of some samples decide where predictive training ends.
4. Classifiers are fitted to the label-free scores of all samples. The held-out labels calibrate the
   probabilities before they are used.
5. Standard form, explained variance, quartiles and effects are computed on the sampled rows: with
   16,384 of them, a correlation has a standard error below 0.008.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from rankfactor.classifiers import Linear
from rankfactor.classifiers.linear import fit_linear
from rankfactor.engine.fit import settled
from rankfactor.engine.fit_settings import FitSettings, Labels
from rankfactor.engine.fitting import Fitting
from rankfactor.engine.interruption import interruptible_once
from rankfactor.engine.large.ascent import ascend_shards, shared_of
from rankfactor.engine.large.checkpoint import PassCheckpoint
from rankfactor.engine.large.held_out import HeldOut, withhold
from rankfactor.engine.large.shard import (
    final_scores,
    find_scores,
    settle_shard,
    settled_scores,
)
from rankfactor.engine.large.shards import Shards
from rankfactor.engine.large.training import fit_linear_shards, return_to_best, train_shards
from rankfactor.engine.standard_form import in_standard_form
from rankfactor.engine.table_checks import report_constant
from rankfactor.engine.vb import Fit
from rankfactor.errors import InputError, convergence_warning
from rankfactor.features.plan import FeaturePlan
from rankfactor.features.suspects import check_labels
from rankfactor.latent import InBasis, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Coding, ObservedArray
from rankfactor.model import Model
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.posterior.convergence import INTERRUPTED, Convergence
from rankfactor.posterior.effects import quartiles
from rankfactor.steps.score import BLOCK
from rankfactor.steps.workers import Workers, slices, workers
from rankfactor.storage.stages import Tree
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers, Strings

SAMPLE = 16384  # rows from which the coding is learned, and on which a fit is described
CORE = 4096  # of them, those that initialise a fit


@dataclass
class LargeTable:
    """A table of many samples, as transformed by a plan.

    Attributes
    ----------
    n_samples : int
    sampled : int array, shape (m,)
        Numbers of some rows, in random order.
    values : array or sparse matrix, shape (m, D)
        Values of these rows that the model sees.
    given : DataFrame, array or sparse matrix
        The same rows as given.
    few : dict of array
        All values of the columns that have few, by number of the column.
    sample_names : str array, shape (n_samples,), or None
        None if the posterior does not keep the samples.
    """

    n_samples: int
    sampled: Integers
    values: Any
    given: Any
    few: dict[int, Floats]
    sample_names: Strings | None

    def forget(self) -> None:
        """Release the sampled rows, which a fit needs only at its start."""
        self.values = self.given = None


def why_not_large(model: Model, settings: FitSettings) -> str | None:
    """Reason why a model cannot be fitted by shards, with advice; None if it can."""
    if settings.gibbs is not None:
        return "Gibbs sampling needs the table in memory: use engine='vb'."
    if model.data.has_refresh:
        return (
            f"the likelihood {model.data.name!r} compares all samples of a feature at once, so the "
            "table must be in memory: use max-margin rank, ordinal probit or Gaussian."
        )
    if not isinstance(model.latent, StandardNormal) or model.experts is not None:
        return "nonlinear classifiers need the table in memory: use a linear model."
    if settings.residual is True:
        return "decisions of two parts need the table in memory: use residual=False."
    return None


# From the coding, the number of factors and all labels to the shards of the table.
Placement = Callable[[Coding, int, Floats, Any, Workers], Shards]


def fit_large(
    model: Model,
    plan: FeaturePlan,
    table: LargeTable,
    labels: Labels | None,
    settings: FitSettings,
    place: Placement,
) -> Posterior:
    """Fit a model to a table of many samples.

    Parameters
    ----------
    model : Model
    plan : FeaturePlan
    table : LargeTable
    labels : Labels or None
        Of all samples.
    settings : FitSettings
    place : callable
        Codes the table and places its shards.

    Raises
    ------
    InputError
        If the model has no such fit, or the table does not vary.
    """
    reason = why_not_large(model, settings)
    if reason is not None:
        raise InputError(reason)
    settings = replace(settings, residual=False)  # "auto" is False here
    with interruptible_once() as ctrl_c, workers(settings.n_threads) as pool:
        model = model.for_blocks(plan.blocks)
        coding = model.data.learn(table.values, table.few)
        n_features = table.values.shape[1]
        report_constant(n_features - len(coding.columns), n_features)
        observed = coding.observe(table.values)
        model, factor_count = settled(model, plan, coding, observed, settings, pool)
        training = settings.trains(model, table.n_samples, len(coding.columns))
        withheld, chosen, core = np.zeros(table.n_samples, bool), np.arange(CORE), None
        if labels is not None:
            check_labels(table.given, labels.tasks, labels.class_index[table.sampled])
            if settings.calibration != "none" or settings.is_predictive(training):
                withheld = withhold(table.n_samples, table.sampled, labels.groups)
            chosen = np.flatnonzero(~withheld[table.sampled])[:CORE]
            core = some_labels(labels, table.sampled[chosen])
        first = coding.observe(_rows(table.values, chosen))
        ends = quartiles(table.values, coding.columns)
        table.forget()
        begin = Fitting(model, coding, first, core, settings, training, pool, ctrl_c)
        begin.ascent = replace(begin.ascent, warns=False)
        names = plan.names[coding.columns].tolist()
        begin.open_files(names, n_samples=table.n_samples)
        with warnings.catch_warnings():
            # The end of the fit to all samples decides.
            warnings.simplefilter("ignore", convergence_warning())
            begin, result = begin.or_without_factors(begin.ascend())
        signed = np.zeros((0, table.n_samples)) if labels is None else labels.signed
        shards = place(coding, model.n_factors, signed, withheld, pool)
        classifier, held = None, None
        if core is not None:
            rows = ObservedArray(core.signed)
            classifier = fit_linear(model, rows, result.z, pool)
            if withheld.any():
                assert model.label is not None
                assert labels is not None
                held = HeldOut(model.label, labels, withheld, shards)
        classifier = _refine(begin, result, shards, classifier, held)
        ctrl_c.hold()
        classifiers = None
        if labels is not None:
            assert classifier is not None
            calibrated = held if settings.calibration != "none" else None
            classifiers = _classify(model, result, shards, labels, classifier, calibrated)
        described = classifiers and replace(
            classifiers, class_index=classifiers.class_index[table.sampled]
        )
        scores = _settled(shards, result, table)
        posterior = Posterior(
            model=model,
            plan=plan,
            sample_names=_names(table),
            coding=coding,
            rows=result.data.state.rows,
            params=result.data.state.params,
            # The means alone are needed for the standard form.
            scores=Normal.certain(scores.mean),
            classifiers=described,
            elbo=np.array(result.history.elbo),
            sd_w=np.array(result.history.sd_w),
            n_active=np.array(result.history.n_active),
            convergence=result.convergence,
            training=begin.training,
            factor_count=factor_count,
        )
        posterior = in_standard_form(posterior, observed, pool)
        matrix = _from_prior(posterior)
        for some in slices(len(scores.mean), BLOCK):  # in place
            scores.put(some, scores.take(some).transformed(matrix))
        posterior = replace(posterior, scores=scores)
        if labels is not None:
            effects = posterior.find_effects(observed, ends, pool, posterior.scores)
            posterior = replace(posterior, effects=effects)
        if table.sample_names is None:
            return _without_samples(posterior, table, classifiers)
        scores = shards.scores(final_scores, shared_of(result), matrix)
        if posterior.classifiers is not None and classifiers is not None:
            own = replace(posterior.classifiers, class_index=classifiers.class_index)
            posterior = replace(posterior, classifiers=own)
        return replace(posterior, scores=scores, sample_names=table.sample_names)


def _rows(values: Any, samples: Integers) -> Any:
    """Some rows of an array or a CSC matrix."""
    return values.tocsr()[samples].tocsc() if issparse(values) else values[samples]


def some_labels(labels: Labels, samples: Integers) -> Labels:
    """The labels of some samples."""
    groups = None if labels.groups is None else labels.groups[samples]
    some = labels.class_index[samples], np.ascontiguousarray(labels.signed[:, samples])
    return Labels(labels.tasks, *some, groups)


def _names(table: LargeTable) -> Strings:
    """Names of the sampled rows."""
    if table.sample_names is None:
        return np.array([f"sample{number}" for number in table.sampled], np.str_)
    return table.sample_names[table.sampled]


def _settled(shards: Shards, result: Fit, table: LargeTable) -> Normal:
    """Label-free scores of the sampled rows, as for new samples."""
    wanted = np.zeros(table.n_samples, bool)
    wanted[table.sampled] = True
    place = np.empty(table.n_samples, np.int64)
    place[table.sampled] = np.arange(len(table.sampled))
    scores = Normal.isotropic(np.zeros((len(table.sampled), result.z.order)), 1.0, np.float32)
    for samples, found in shards.stream(settled_scores, shared_of(result), wanted):
        scores.put(place[samples], found)
    return scores


def _refine(
    begin: Fitting, result: Fit, shards: Shards, classifier: Linear | None, held: HeldOut | None
) -> Linear | None:
    """Fit rows, parameters and scales to all samples, in place; the last classifier of training."""
    checkpoint = PassCheckpoint(begin.stages, begin.model, result)
    found = checkpoint.resume(result)
    # A checkpoint has the highest worth of a step from the first step of training on.
    ended, training = found.get("ended", False), "highest" in found
    # Without scores of all samples there is no fit to keep.
    with begin.ctrl_c.holding():
        shards.run(find_scores, shared_of(result))
    if result.convergence.interrupted or begin.ctrl_c.came:
        some = "" if found else f"only {len(result.z.mean)} samples were used"
        result.convergence = Convergence(INTERRUPTED, result.convergence.after, some)
        return_to_best(result, found)
    elif not ended and not training:
        ascend_shards(result, shards, begin.ascent, begin.settings.progress, checkpoint)
    done = result.convergence.interrupted or (ended and training)
    if begin.settings.is_predictive(begin.training) and classifier is not None and not done:
        classifier = _train(begin, result, shards, classifier, held, checkpoint, found)
    convergence = result.convergence
    if not convergence.converged:
        warnings.warn(convergence.warning, convergence_warning(), stacklevel=4)
    if convergence.interrupted:
        # Some shards may have taken the last step and others not.
        shards.run(find_scores, shared_of(result))
    return classifier


def _train(
    begin: Fitting,
    result: Fit,
    shards: Shards,
    classifier: Linear,
    held: HeldOut | None,
    checkpoint: PassCheckpoint,
    found: Tree,
) -> Linear:
    """Predictive training from label-free rows, or from a checkpoint of it, in place."""
    model, predictive = begin.model, begin.predictive
    so_far = found if "highest" in found else None
    assert predictive is not None
    with begin.ctrl_c.holding():
        shards.sum(settle_shard, shared_of(result))
        if so_far is not None:
            classifier = so_far["classifier"]
        elif not begin.ctrl_c.came:
            classifier = fit_linear_shards(model, shards, classifier, True)
        loss = held.loss if held is not None and held.enough() else None
    if begin.ctrl_c.came:
        result.convergence = Convergence(INTERRUPTED, result.convergence.after)
        return_to_best(result, found)
        return classifier
    given = model, result, shards, classifier, predictive, begin.settings.progress, checkpoint
    return train_shards(*given, loss, so_far)


def _classify(
    model: Model,
    result: Fit,
    shards: Shards,
    labels: Labels,
    start: Linear,
    held: HeldOut | None,
) -> Classifiers:
    """Classifiers of the label-free scores of all samples, with calibrated probabilities."""
    assert model.label is not None
    shards.sum(settle_shard, shared_of(result))
    scale = np.ones(len(labels.tasks))
    if held is not None:
        start = fit_linear_shards(model, shards, start, True)
        scale = held.scales(start)
    fitted = fit_linear_shards(model, shards, start, False)
    joint = fitted.rows if result.labels is None else result.labels.state.rows
    return Classifiers(labels.tasks, fitted.rows, joint, labels.class_index, scale=scale)


def _from_prior(posterior: Posterior) -> Floats:
    """Matrix that transforms scores from the coordinates of their prior, shape (K, K)."""
    if not isinstance(posterior.prior, InBasis):
        return np.eye(posterior.n_factors)
    return np.asarray(np.linalg.inv(posterior.prior.basis), np.float64)


def _without_samples(
    posterior: Posterior, table: LargeTable, classifiers: Classifiers | None
) -> Posterior:
    """The posterior without training samples, with their number."""
    bare = posterior.without_training_samples()
    assert bare.left_out is not None
    counts = () if classifiers is None else _counts(classifiers.tasks, classifiers.class_index)
    known = replace(bare.left_out, n_samples=table.n_samples, counts=counts)
    return replace(bare, left_out=known)


def _counts(tasks: tuple[Task, ...], class_index: Integers) -> tuple[Integers, ...]:
    """Samples in every class of a task, then those of unknown class."""
    return tuple(
        np.append(
            np.bincount(column[column >= 0], minlength=len(task.classes)), (column < 0).sum()
        ).astype(np.int64)
        for task, column in zip(tasks, class_index.T, strict=True)
    )
