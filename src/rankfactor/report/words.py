"""What the numbers say, in sentences that claim no more than they show."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

import numpy as np

from rankfactor.__about__ import __version__
from rankfactor.errors import counted
from rankfactor.plots.select import effects, leading_features
from rankfactor.plots.style import percent, plain
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import CLEAR
from rankfactor.report.comparison import Score

CITATION = (
    "Yuan, Henao, Tsalik, Langley, Carin, “Non-Gaussian Discriminative Factor Models via the "
    "Max-Margin Rank-Likelihood”, ICML 2015."
)

# From this share of the largest class on, accuracy alone misleads.
_IMBALANCED = 0.7
_FEW_SAMPLES = 50
_FEW_IN_CLASS = 10
# AUCs that differ by less look the same with two digits.
_LEVEL = 0.005


def joined(items: Sequence[str]) -> str:
    """Join as in a sentence: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def number(value: float, digits: int = 2) -> str:
    """Number with a true minus sign; a dash if it is not known."""
    if not np.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    zero = not text.strip("-0.")
    return text.lstrip("-") if zero else text.replace("-", "\N{MINUS SIGN}")


def leaders(posterior: Posterior, factor: int, count: int = 3) -> str:
    """Leading features of a factor; "(inverse)" after those with negative loadings."""
    loadings = posterior.standardised_loadings[:, factor]
    return ", ".join(
        plain(posterior.feature_names[i]) + (" (inverse)" if loadings[i] < 0 else "")
        for i in leading_features(posterior, factor, count)
    )


def factor_title(posterior: Posterior, factor: int) -> str:
    """Name of a factor and its share."""
    share = percent(posterior.shares[factor])
    return f"{posterior.factor_names[factor]} ({share} of the explained variance)"


def strongest(posterior: Posterior, task: int, count: int = 3) -> list[tuple[int, str]]:
    """Factor number and sentence of a task's strongest clear factors."""
    clear = [effect for effect in effects(posterior, task) if effect.clear]
    return [
        (
            effect.factor,
            f"{factor_title(posterior, effect.factor)}: "
            f"{plain(effect.in_words())}; led by {leaders(posterior, effect.factor)}.",
        )
        for effect in clear[:count]
    ]


def largest(posterior: Posterior, count: int = 5) -> list[tuple[int, str]]:
    """Factor number and sentence of the factors with the largest shares."""
    return [
        (
            int(k),
            f"{factor_title(posterior, int(k))}: led by {leaders(posterior, int(k), 5)}.",
        )
        for k in np.flatnonzero(posterior.active)[:count]
    ]


def verdict(task: str, scores: Sequence[Score]) -> str:
    """Say how well a task's model separates, and how it stands beside the baselines.

    A difference counts only if it exceeds the larger of the two standard deviations over folds.
    """
    own, others = scores[0], sorted(scores[1:], key=lambda score: -_known(score.auc))
    if not np.isfinite(own.auc):
        return f"{task}: no cross-validated AUC."
    spread = f" (sd {number(own.auc_sd)} over folds)" if np.isfinite(own.auc_sd) else ""
    beside = "".join(
        f"; {other.model} {number(other.auc)}" for other in others if np.isfinite(other.auc)
    )
    said = [f"{task}: cross-validated AUC {number(own.auc)}{spread}{beside}."]
    gain = own.auc - 0.5
    if gain <= 0:
        said.append("That is no better than chance (0.50).")
    elif gain <= _spread(own):
        said.append("That is within the spread over folds of chance (0.50).")
    best = others[0] if others and np.isfinite(others[0].auc) else None
    if best is not None:
        said.append(_against(own, best, single=len(others) == 1))
    return " ".join(said)


def _against(own: Score, best: Score, *, single: bool) -> str:
    """Say on which side of the best baseline the model is, and whether folds differ by as much."""
    gap, spread = own.auc - best.auc, max(_spread(own), _spread(best))
    name = best.model if single else f"the best baseline, {best.model}"
    if abs(gap) < _LEVEL:
        return f"{own.model} and {name} are level."
    side = "above" if gap > 0 else "below"
    if spread == 0:
        size = "the spread over folds is not known"
    elif abs(gap) <= spread:
        size = "a difference within the spread over folds"
    else:
        size = "more than the spread over folds"
    return f"{own.model} is {number(abs(gap))} {side} {name}: {size}."


def _known(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


def _spread(score: Score) -> float:
    return score.auc_sd if np.isfinite(score.auc_sd) else 0.0


def cautions(posterior: Posterior, passed: Sequence[str]) -> list[str]:
    """Warnings in plain words: ours, then those passed in; none twice."""
    n_samples = posterior.samples.n_samples
    found = []
    if not posterior.converged:
        advice = posterior.convergence.advice
        found.append(
            f"{posterior.convergence.sentence} Its numbers may still move"
            + (f": {advice}." if advice else ".")
        )
    if n_samples < _FEW_SAMPLES:
        found.append(
            f"There are only {n_samples} samples: everything here is uncertain, and a new data "
            "set may look different."
        )
    found += _class_cautions(posterior)
    if not posterior.active.any():
        found.append("No factor is in use: the model found no structure in this table.")
    left_out = len(posterior.feature_names) - len(posterior.coding.columns)
    if left_out:
        found.append(
            f"{left_out} of {len(posterior.feature_names)} features are constant or all missing "
            "and take no part in the model."
        )
    # The state of the fit has been told, whether or not its warning was passed on.
    more = [str(text) for text in passed if str(text) != posterior.convergence.warning]
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
                f"{task.classes[least]}: what is said about that class is uncertain."
            )
    return found


def methods(posterior: Posterior, seed: object) -> list[str]:
    """Paragraphs that say what was done."""
    model = posterior.model
    data, shrinkage = model.data.in_words(), model.loading_shrinkage.in_words()
    said = [
        f"Each feature is a weighted sum of at most {posterior.n_factors} latent factors (K = "
        f"{posterior.n_factors}), seen through a {data}. Loadings have a {shrinkage}, which "
        f"switches off factors that the data do not need; {int(posterior.active.sum())} are in "
        "use."
    ]
    if model.label is not None and posterior.classifiers is not None:
        n_tasks = len(posterior.classifiers.tasks)
        tasks = {1: "the labels", 2: "both label columns"}.get(
            n_tasks, f"all {n_tasks} label columns"
        )
        label = model.label.in_words()
        how = f"Factors are fitted jointly to the table and to {tasks} by a {label}."
        if posterior.training == "predictive":
            how = (
                "Factors are fitted to the table, then changed so that scores which have not seen "
                f"a label tell {tasks} apart by a {label} (predictive training)."
            )
        local = "" if posterior.classifiers.experts is None else "of local classifiers "
        shown = "" if posterior.left_out else "; scores shown here are label-free too"
        said.append(
            f"{how} Coefficients {local}are then fitted once more to label-free scores, the scores "
            f"that a new sample gets{shown}."
        )
    seeded = "" if seed is None else f", seed {seed}"
    clear = (
        "A feature or a factor is called clear if the posterior probability that its loading or "
        f"coefficient is not on the side shown (the local false sign rate) is below {CLEAR}."
    )
    if posterior.draws is None:
        said.append(
            f"Inference is mean-field variational Bayes{seeded}, with rankfactor {__version__}. "
            "Such inference tends to give intervals that are too narrow: take them as a guide to "
            f"what stands out, not as tests. {clear} {posterior.convergence.sentence}"
        )
    else:
        n_chains = len(np.unique(posterior.draws.chain))
        said.append(
            f"Inference is Gibbs sampling{seeded}, with rankfactor {__version__}: "
            f"{counted(len(posterior.draws.chain), 'draw')} kept of "
            f"{counted(n_chains, 'chain, which starts', 'chains, which start')} from a "
            "variational fit (its history is shown). Intervals and rates are those of the draws. "
            f"{clear} {posterior.convergence.sentence}"
        )
    return said


def versions() -> str:
    """Sentence that names the versions of what made the page."""
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "networkx")
    named = [f"{name} {metadata.version(name)}" for name in packages]
    return (
        f"This page was made with rankfactor {__version__} under Python "
        f"{platform.python_version()}, with {joined(named)}."
    )
