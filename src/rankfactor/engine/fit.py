"""The whole fit: from a table of numbers and its labels to a `Posterior`.

1. The likelihood learns its coding; an "auto" margin, an "auto" number of factors (by parallel
   analysis) and the blocks are resolved for the table.
2. Variational Bayes: jointly with the labels, without them, or without them and then predictive
   training.
3. Gibbs sampling from there, if requested.
4. All samples are encoded without their labels; classifiers are fitted to these scores and, for
   decisions of two parts, to the residuals of the table. Their probabilities are calibrated on
   held-out labels.
5. The factors are put into their standard form (`rankfactor.engine.standard_form`), and the effects
   of the features on the decisions are computed (`rankfactor.posterior.effects`).

The first Ctrl-C ends the current stage and keeps its state; the later stages follow.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from rankfactor.engine.chain import Gibbs
from rankfactor.engine.fit_settings import FitSettings, Labels
from rankfactor.engine.fitting import Fitting
from rankfactor.engine.interruption import interruptible_once
from rankfactor.engine.parallel_analysis import count_factors
from rankfactor.engine.standard_form import in_standard_form
from rankfactor.engine.table_checks import check_size, report_constant
from rankfactor.errors import AUTO, convergence_warning, counted
from rankfactor.features.plan import FeaturePlan, TrainingTable
from rankfactor.features.suspects import check_labels
from rankfactor.likelihoods import Coding, Observed
from rankfactor.model import Model, with_blocks
from rankfactor.posterior import Posterior
from rankfactor.posterior.convergence import INTERRUPTED
from rankfactor.posterior.diagnostics import judged
from rankfactor.posterior.effects import quartiles
from rankfactor.posterior.factor_count import FactorCount
from rankfactor.posterior.posterior import hash_of_codes
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.workers import Workers, workers


def fit_posterior(
    model: Model,
    plan: FeaturePlan,
    table: TrainingTable,
    labels: Labels | None,
    settings: FitSettings,
) -> Posterior:
    """Fit a model to a table and, if given, to labels.

    Parameters
    ----------
    model : Model
    plan : FeaturePlan
        Transform of the table to numbers, which the posterior applies to new tables.
    table : TrainingTable
    labels : Labels or None
    settings : FitSettings

    Raises
    ------
    InputError
        If the table is too small for the model or does not vary.

    Warns
    -----
    ConvergenceWarning
        If the fit has not converged or was interrupted.
    """
    n, n_features = table.values.shape
    check_size(model, n)
    with interruptible_once() as ctrl_c, workers(settings.n_threads, n * n_features) as pool:
        model = model.for_blocks(plan.blocks)
        coding = model.data.learn(table.values)
        report_constant(n_features - len(coding.columns), n_features)
        if labels is not None:
            check_labels(table.given, labels.tasks, labels.class_index)
        observed = coding.observe(table.values)
        model, factor_count = settled(model, plan, coding, observed, settings, pool)
        training = settings.trains(model, n, len(coding.columns))
        fitting = Fitting(model, coding, observed, labels, settings, training, pool, ctrl_c)
        # A folder that cannot be used is refused before any work is done.
        fitting.open_files(plan.names[coding.columns].tolist())
        result = fitting.ascend()
        fitting.train(result)
        if not fitting.keeps_kernel(result):
            model = replace(model, experts=None)
            training = settings.trains(model, n, len(coding.columns))
            stages = None if fitting.stages is None else fitting.stages.part("linear")
            fitting = Fitting(model, coding, observed, labels, settings, training, pool, ctrl_c)
            fitting.stages = stages
            if training != "label-free":  # the fit so far is label-free
                result = fitting.ascend()
                fitting.train(result)
        fitting, result = fitting.or_without_factors(result)
        draws = fitting.sample(result)
        ctrl_c.hold()
        # Scores and everything fitted to them are label-free: what a new sample would get.
        scores = encode_samples(model, result.data, pool, prior=result.prior)
        classifiers = fitting.classify(result, draws, scores)
        posterior = Posterior(
            model=model,
            plan=plan,
            sample_names=table.sample_names,
            coding=coding,
            rows=result.data.state.rows,
            params=result.data.state.params,
            scores=scores,
            classifiers=classifiers,
            elbo=np.array(result.history.elbo),
            sd_w=np.array(result.history.sd_w),
            n_active=np.array(result.history.n_active),
            convergence=result.convergence,
            draws=draws,
            prior=result.prior.fresh(0),
            training=fitting.training,
            codes_sha256=hash_of_codes(observed),
            factor_count=factor_count,
        )
        # Last of all: a prior may depend on the order in which the factors were fitted.
        posterior = in_standard_form(posterior, observed, pool)
        if labels is not None:
            ends = quartiles(table.values, coding.columns)
            effects = posterior.find_effects(observed, ends, pool, posterior.scores)
            posterior = replace(posterior, effects=effects)
        fitting.close_chains(posterior)
    return posterior if settings.gibbs is None else judge_chains(posterior, settings.gibbs)


def settled(
    model: Model,
    plan: FeaturePlan,
    coding: Coding,
    observed: Observed,
    settings: FitSettings,
    pool: Workers,
) -> tuple[Model, FactorCount | None]:
    """The model with its margin, number of factors and blocks resolved for a coded table."""
    model, factor_count = model.for_coding(coding), None
    if model.n_factors == AUTO:
        named = None if plan.blocks is None else plan.blocks[coding.columns]
        ranked = model.data.normal_scores(observed)
        factor_count = count_factors(observed, ranked, settings.seed, pool, named)
        model = replace(model, n_factors=factor_count.n_factors)
    return with_blocks(model, plan.blocks, coding.columns), factor_count


def judge_chains(posterior: Posterior, gibbs: Gibbs) -> Posterior:
    """The posterior with the convergence of its chains instead of that of their start."""
    draws = posterior.draws
    if draws is None:
        return posterior
    ends = [draws.sweep[draws.chain == number].max() for number in np.unique(draws.chain)]
    done = max((int(min(ends)) - gibbs.burn_in) // gibbs.thin, 1)
    found = judged(posterior, done, gibbs.target_r_hat, gibbs.target_ess)
    if gibbs.target_ess is not None and not found.converged:
        advice = f"set max_minutes to more than {gibbs.max_minutes:g}"
        found = replace(found, advice=advice)
    elif (~np.isnan(draws.log_likelihood)).sum(axis=1).min() < gibbs.last:
        after = f"{done} of {counted(gibbs.n_draws, 'draw')} per chain"
        found = replace(found, state=INTERRUPTED, after=after)
    if not found.converged:
        warnings.warn(found.warning, convergence_warning(), stacklevel=4)
    return replace(posterior, convergence=found)
