"""Results of a model as sentences that claim no more than the numbers show."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

import numpy as np
import pandas as pd

from rankfactor.__about__ import __version__
from rankfactor.errors import counted
from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.meaning import leading_features
from rankfactor.interpret.selection import shown_factors, supported_words
from rankfactor.interpret.wording import joined, number, percent, plain, small
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import CLEAR, assessed
from rankfactor.posterior.diagnostics import MIN_DRAWS
from rankfactor.posterior.diagnostics import convergence as chain_convergence
from rankfactor.posterior.factor_count import FactorCount

CITATION = (
    "Yuan, Henao, Tsalik, Langley, Carin, “Non-Gaussian Discriminative Factor Models via the "
    "Max-Margin Rank-Likelihood”, ICML 2015."
)

EARLIER = (
    "This model was saved by an earlier version of rankfactor: its factors keep the axes of that "
    "fit, and its loadings and shares are expected by the model, not measured on the table. Fit "
    "it again for factors in standard form."
)
NOT_VALIDATED = (
    "Accuracy on new samples was not estimated. Run `rankfactor cv TABLE --labels ... --out "
    "FOLDER`, then `rankfactor report MODEL --cv FOLDER`."
)
NO_TABLE = "Contributions need the training table: run `rankfactor report MODEL --table TABLE`."
NO_QUALITY = (
    "Missing values, ties and suspected leaks need the training table: run `rankfactor report "
    "MODEL --table TABLE`."
)
NOT_ASSESSED = (
    "Stability not assessed: run `rankfactor stability TABLE --labels ... --out FOLDER`, then "
    "`rankfactor report MODEL --stability FOLDER`."
)
EFFECT = (
    "The effect of a feature is the change of the decision when the feature moves from its first "
    "to its third quartile and all other features stay fixed. It includes the part through the "
    "factors and the part of the feature's own residual. It is a property of the model, not a "
    "cause: it moves one feature alone, while features that carry the same information move "
    "together."
)
# If the largest class has at least this share, accuracy alone misleads.
_IMBALANCED = 0.7
UNCORRELATED = 0.005  # smaller correlations are zero to two digits
_FEW_SAMPLES = 50
_FEW_IN_CLASS = 10
_SMALL_Q = 0.05
_SETS_NAMED = 5


def factor_label(posterior: Posterior, factor: int) -> str:
    """Name of a factor, and its share in parentheses."""
    return f"{posterior.factor_names[factor]} ({percent(posterior.shares[factor])})"


def explained(posterior: Posterior) -> str:
    """Sentences on the variance explained and on the largest correlation of two factors."""
    what = "values" if posterior.model.data.uses_values else "ranks"
    said = f"The factors explain {percent(posterior.r2)} of the variance of the features' {what}."
    used = shown_factors(posterior)
    if len(used) < 2:
        return said
    names, apart = posterior.factor_names, np.triu(posterior.factor_correlations, 1)[used][:, used]
    i, j = np.unravel_index(np.abs(apart).argmax(), apart.shape)
    if abs(apart[i, j]) < UNCORRELATED:
        return f"{said} Their scores do not correlate."
    return (
        f"{said} The largest correlation of two factors' scores is {number(float(apart[i, j]))} "
        f"({names[used[i]]} and {names[used[j]]})."
    )


def factor_finding(posterior: Posterior, factor: int, features: str, direction: str = "") -> str:
    """Sentence on a factor: its share, the classes in which it is higher, and its features."""
    share = percent(posterior.shares[factor])
    said = [direction, features] if direction else [features]
    return plain(f"{posterior.factor_names[factor]} ({share} of the variance): {'; '.join(said)}.")


def strongest_factors(posterior: Posterior, task: int, count: int = 3) -> list[tuple[int, str]]:
    """Factor number and sentence of the strongest stated factors of a task."""
    stated = [one for one in directions_on(posterior, task) if one.stated]
    features = leading_features(posterior, 3)
    return [
        (one.factor, factor_finding(posterior, one.factor, features[one.factor], one.in_words()))
        for one in stated[:count]
    ]


def largest_factors(posterior: Posterior, count: int = 5) -> list[tuple[int, str]]:
    """Factor number and sentence of the factors with the largest shares."""
    used = np.flatnonzero(posterior.active)[:count].tolist()
    features = leading_features(posterior)
    return [(k, factor_finding(posterior, k, features[k])) for k in used]


def driver_note(posterior: Posterior) -> str:
    """How to read the bars of the largest effects and their stability."""
    said = (
        "Bars: change of the decision when the feature moves from its first to its third quartile."
    )
    stability = posterior.stability
    if stability is not None:
        return (
            f"{said} Per cent: share of {stability.n_fits} half-sample fits in which the feature "
            f"is among the {stability.top} with the largest effects, with the same sign. ✓: "
            "clear, the effect differs from zero (see Methods)."
        )
    if posterior.draws is not None:
        return f"{said} ✓: clear by the draws (see Methods)."
    return f"{said} {NOT_ASSESSED}"


def no_factor(posterior: Posterior) -> str:
    """Sentence for a task without a factor to name."""
    if assessed(posterior):
        return "No factor has a clear coefficient."
    return "No factor has a coefficient that the posterior separates from zero."


def strongest_in_words(posterior: Posterior, task: int) -> str:
    """Sentence that names the strongest factors of a task, only clear ones if assessed."""
    names = [posterior.factor_names[k] for k, _ in strongest_factors(posterior, task, 5)]
    word = "Clear" if assessed(posterior) else "Largest"
    return f"{word}, strongest first: {joined(names)}." if names else no_factor(posterior)


def class_counts(posterior: Posterior, task: int) -> str:
    """Samples of every class of a task, then those of unknown class."""
    assert posterior.classifiers is not None
    names = [*posterior.classifiers.tasks[task].classes, "unknown"]
    counts = posterior.samples.counts[task].tolist()
    *known, unknown = (f"{n} {plain(name)}" for n, name in zip(counts, names, strict=True))
    return ", ".join(known + [unknown] * (counts[-1] > 0))


def factors_in_words(posterior: Posterior) -> str:
    """Number of factors and, if it was chosen, how: "5 factors (parallel analysis)"."""
    count = posterior.factor_count
    return counted(posterior.n_factors, "factor") if count is None else count.in_words


def count_sentences(count: FactorCount) -> str:
    """Result of parallel analysis, the samples used, and the consequence for the model."""
    against = (
        "the 95 % quantile of tables with permuted features "
        f"({counted(count.n_samples, 'sample')} used)"
    )
    if not count.n_found:
        return (
            f"No factor exceeds chance: no eigenvalue of the correlation of the normal scores is "
            f"above {against}. The model has {count.in_words}, the minimum."
        )
    own = [f"{n} in {plain(name)}" for name, n in zip(count.blocks, count.added, strict=True) if n]
    blocks = (
        f" {count.common} of them {'was' if count.common == 1 else 'were'} found in the whole "
        f"table, and {joined(own)} alone."
        if own
        else ""
    )
    if count.at_limit:
        blocks += f" There may be more: {count.common} is the upper limit."
    return (
        f"The model has {count.in_words}. This is the number of leading eigenvalues of the "
        f"correlation of the normal scores that exceed {against}.{blocks}"
    )


def facts(posterior: Posterior) -> list[str]:
    """Size of table and model, and state of the fit, in a few words each."""
    n_tasks = 0 if posterior.classifiers is None else len(posterior.classifiers.tasks)
    return [
        counted(posterior.samples.n_samples, "sample"),
        counted(len(posterior.feature_names), "feature"),
        *([counted(n_tasks, "task")] if n_tasks else []),
        f"{int(posterior.active.sum())} of {factors_in_words(posterior)} in use",
        f"fit {posterior.convergence.state}",
    ]


def fit_facts(posterior: Posterior) -> list[tuple[str, str]]:
    """Names and values that describe the state of a fit."""
    count, ended, draws = posterior.factor_count, posterior.convergence, posterior.draws
    stages = ["variational inference"]
    if posterior.classifiers is not None and posterior.training == "predictive":
        stages.append("predictive training")
    found = [("State", ended.state)]
    if draws is not None:
        stages.append("Gibbs sampling")
        n_chains = len(np.unique(draws.chain))
        found += [("Chains", str(n_chains)), ("Draws", str(len(draws.chain)))]
        if np.bincount(draws.chain).min() >= MIN_DRAWS:
            largest = float(chain_convergence(posterior)["r_hat"].max())
            found.append(("Largest R-hat", number(largest, 3)))
    return [
        ("Stages", ", ".join(stages)),
        *found,
        ("Interrupted", "by Ctrl-C" if ended.interrupted else "no"),
        ("Iterations", str(len(posterior.elbo) - 1)),
        ("Final ELBO", number(float(posterior.elbo[-1]), 1)),
        ("Standard deviation of w", number(float(posterior.sd_w[-1]), 3)),
        ("Factors in use", f"{int(posterior.active.sum())} of {posterior.n_factors}"),
        *([] if count is None else [("Number of factors", count.in_words)]),
    ]


def criterion(posterior: Posterior) -> str:
    """Objective of the fit, stage by stage."""
    if posterior.classifiers is None:
        return "Variational inference maximises the evidence lower bound (ELBO) of the table."
    if posterior.training == "bayes":
        return (
            "Variational inference maximises the evidence lower bound (ELBO) of the table and the "
            "labels."
        )
    said = "Variational inference maximises the evidence lower bound (ELBO) of the table alone."
    if posterior.training == "predictive":
        said += (
            " Predictive training then maximises the sum of this ELBO and the weighted "
            "log likelihood of the labels."
        )
    return f"{said} The classifiers are fitted to the label-free scores afterwards."


def history_caption(posterior: Posterior) -> str:
    """Caption of the course of the fit."""
    said = "ELBO and standard deviation of w by iteration; both level off as the fit converges."
    if posterior.classifiers is not None and posterior.training == "predictive":
        said += (
            " The ELBO is that of the table alone. Predictive training comes last and maximises "
            "another criterion, so the ELBO may fall in its steps."
        )
    return said


def standard_form(posterior: Posterior) -> str:
    """How factors are scaled and ordered."""
    if not posterior.has_standard_form:
        return "Factors keep the axes of the fit."
    return (
        "Factors are in standard form: rotated to sparse loadings, ordered by the variance that "
        "they explain, with scores of unit variance."
    )


def cautions(posterior: Posterior, passed: Sequence[str]) -> list[str]:
    """Warnings in plain words: those found here, then those passed in, without duplicates."""
    n_samples, convergence = posterior.samples.n_samples, posterior.convergence
    found = []
    if not posterior.converged:
        advice = convergence.advice and f": {convergence.advice}"
        found.append(f"{convergence.sentence} Results may still change{advice}.")
    if n_samples < _FEW_SAMPLES:
        found.append(
            f"There are only {n_samples} samples: all results are uncertain and may differ in "
            "another data set."
        )
    found += _class_cautions(posterior)
    count = posterior.factor_count
    if count is not None and not count.n_found:
        found.append(
            "No factor exceeds chance (parallel analysis): the only factor of this model may be "
            "noise."
        )
    if not posterior.active.any():
        found.append("No factor is in use: the model found no structure in this table.")
    if not posterior.has_standard_form:
        found.append(EARLIER)
    left_out = len(posterior.feature_names) - len(posterior.coding.columns)
    if left_out:
        found.append(
            f"{left_out} of {len(posterior.feature_names)} features are constant or all missing "
            "and are not part of the model."
        )
    # The state of the fit is already stated, whether or not its warning was passed in.
    more = [str(text) for text in passed if str(text) != convergence.warning]
    return list(dict.fromkeys([*found, *(text[:1].upper() + text[1:] for text in more)]))


def _class_cautions(posterior: Posterior) -> list[str]:
    if posterior.classifiers is None:
        return []
    found = []
    for column, task in enumerate(posterior.classifiers.tasks):
        counts = posterior.samples.counts[column][:-1]
        most, least = int(counts.argmax()), int(counts.argmin())
        share = counts[most] / counts.sum()
        if share >= _IMBALANCED:
            found.append(
                f"{task.name} is unbalanced: {counts[most]} of {counts.sum()} samples are "
                f"{task.classes[most]}, so always answering {task.classes[most]} gives an "
                f"accuracy of {number(float(share))}. Judge by the AUC."
            )
        if counts[least] < _FEW_IN_CLASS:
            found.append(
                f"{task.name} has only {counted(counts[least], 'sample')} of "
                f"{task.classes[least]}: results on that class are uncertain."
            )
    return found


def factors_carry(posterior: Posterior, task: int) -> str:
    """Share of a task's decisions due to the factors, averaged over its classes."""
    assert posterior.classifiers is not None
    rows = posterior.classifiers.rows_of(task)
    share = 1.0 - float(posterior.residual_share[rows].mean())
    return (
        f"The factors account for {percent(share)} of the decision, residuals of single features "
        f"for {percent(1.0 - share)}."
    )


def residual_sentence(posterior: Posterior) -> str:
    """Sentences on the two parts of a decision and the share due to the factors."""
    assert posterior.classifiers is not None
    names = posterior.classifiers.row_names()
    shares = zip(names, 1.0 - posterior.residual_share, strict=True)
    carried = joined([f"{percent(share)} ({name})" for name, share in shares])
    return (
        "A decision has two parts: the factor scores, and one weight per feature for the residual "
        f"that the factors do not explain. The factors account for {carried} of the variance of "
        "decisions over the training samples."
    )


def methods(posterior: Posterior, seed: object) -> list[str]:
    """Paragraphs of the methods section."""
    model = posterior.model
    data, shrinkage = model.data.in_words(), model.loading_shrinkage.in_words()
    named = f"The model is {model.name}. " if model.name else ""
    said = [
        f"{named}Each feature is a weighted sum of at most {posterior.n_factors} latent factors "
        f"(K = {posterior.n_factors}), seen through a {data}. Loadings have a {shrinkage}, which "
        f"switches off factors that the data do not need; {int(posterior.active.sum())} are in "
        "use."
    ]
    if posterior.factor_count is not None:
        said.append(count_sentences(posterior.factor_count))
    if model.label is not None and posterior.classifiers is not None:
        n_tasks = len(posterior.classifiers.tasks)
        several = "both" if n_tasks == 2 else f"all {n_tasks}"
        tasks = "the labels" if n_tasks == 1 else f"{several} label columns"
        label = model.label.in_words()
        how = f"Factors are fitted jointly to the table and to {tasks} by a {label}."
        if posterior.training == "label-free":
            how = f"Factors are fitted to the table alone. {tasks.capitalize()} have a {label}."
        if posterior.training == "predictive":
            how = (
                "Factors are fitted to the table, then adjusted so that label-free scores predict "
                f"{tasks} by a {label} (predictive training)."
            )
        local = ""
        if posterior.classifiers.experts is not None:
            kernel = posterior.classifiers.gates is None
            local = f"of {'a radial kernel' if kernel else 'local classifiers'} "
        again = "" if posterior.training == "label-free" else "then once more "
        shown = "" if posterior.left_out else "; scores shown here are label-free too"
        said.append(
            f"{how} Coefficients {local}are {again}fitted to label-free scores, the scores "
            f"that a new sample gets{shown}."
        )
        if posterior.classifiers.residual is not None:
            said.append(residual_sentence(posterior))
    seeded = "" if seed is None else f", seed {seed}"
    inference = (
        f"Inference is mean-field variational Bayes{seeded}, with rankfactor {__version__}. "
        "Its posterior is too narrow to judge the uncertainty of a loading, an effect or a "
        "coefficient, and is not used for that here."
    )
    if posterior.draws is not None:
        n_chains = len(np.unique(posterior.draws.chain))
        inference = (
            f"Inference is Gibbs sampling{seeded}, with rankfactor {__version__}: "
            f"{counted(len(posterior.draws.chain), 'draw')} kept of "
            f"{counted(n_chains, 'chain, which starts', 'chains, which start')} from a "
            "variational fit (its history is shown)."
        )
    return [*said, f"{inference} {posterior.convergence.sentence}", certainty_rule(posterior)]


def certainty_rule(posterior: Posterior) -> str:
    """Definition of "clear", and its evidence."""
    stability = posterior.stability
    if stability is not None:
        return (
            f"Stability: the model was fitted again to {stability.n_fits} half-samples, in "
            "complementary pairs. A spread is the root mean square of half the difference of a "
            "pair, corrected for shrinkage. An effect, a loading or a coefficient is called clear "
            "if its ratio to the spread passes Student's t test with "
            f"{stability.n_pairs} degrees of freedom at a false discovery rate of {CLEAR} "
            "(Benjamini and Hochberg)."
        )
    if posterior.draws is not None:
        return (
            "A loading, an effect or a coefficient is called clear if twice the share of the draws "
            "on the other side of zero (the local false sign rate) passes a false discovery rate "
            f"of {CLEAR} (Benjamini and Hochberg). Spreads are standard deviations over the draws."
        )
    return NOT_ASSESSED


def versions() -> str:
    """Sentence on the software versions that made the page."""
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "networkx")
    named = [f"{name} {metadata.version(name)}" for name in packages]
    return (
        f"This page was made with rankfactor {__version__} under Python "
        f"{platform.python_version()}, with {joined(named)}."
    )


def enrichment_sentences(posterior: Posterior, n_sets: int, found: pd.DataFrame) -> list[str]:
    """Sentences on the tests of `enrich` and the sets with the smallest q-values."""
    said = [
        f"{n_sets} sets were given. For every factor in use, and for its features with "
        f"{supported_words(posterior)} that is positive (up) or negative (down), the overlap with "
        f"a set is compared with chance among the {len(posterior.coding.columns)} features of the "
        "model (hypergeometric test). q is p adjusted for all sets tested on all lists together, "
        "after Benjamini and Hochberg."
    ]
    few = found[found["q"] < _SMALL_Q].sort_values(["q", "p"], kind="stable")
    if few.empty:
        return [*said, f"No set has a q-value below {_SMALL_Q}."]
    named = "; ".join(
        f"{plain(one['set'])} ({one['factor']}, {one['direction']}: {one['overlap']} of "
        f"{one['size']}, q = {small(one['q'])})"
        for one in few.head(_SETS_NAMED).to_dict("records")
    )
    return [*said, f"{len(few)} overlaps have a q-value below {_SMALL_Q}. The smallest: {named}."]
