"""The figures and tables of the report's sections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from rankfactor.plots import (
    coefficient_figure,
    comparison_figure,
    history_figure,
    loading_figure,
    roc_figure,
    score_figure,
    share_figure,
)
from rankfactor.plots.select import classifiers_of, effects, leading_features, shown_factors
from rankfactor.plots.style import percent, plain
from rankfactor.posterior import Posterior
from rankfactor.report.comparison import Score, finite_decisions
from rankfactor.report.figures import InlineFigure, inline_figure
from rankfactor.report.words import joined, leaders, number, probability

FEATURES_IN_TABLE = 15
_ROC_CLASSES = 2


class FeatureRow(NamedTuple):
    """A line of a factor's table; ``bar`` is the loading's size in per cent of the largest."""

    name: str
    loading: str
    sd: str
    probability: str
    bar: int
    negative: bool


class FactorTable(NamedTuple):
    """Leading features of a factor."""

    number: int
    name: str
    share: str
    leaders: str
    rows: list[FeatureRow]
    is_open: bool


def factor_tables(posterior: Posterior, opened: set[int]) -> list[FactorTable]:
    """Tables of the factors in use; those in ``opened`` are unfolded."""
    loadings, sds, shares = (
        posterior.standardised_loadings,
        posterior.standardised_loadings_sd,
        posterior.shares,
    )
    tables = []
    for k in shown_factors(posterior):
        features = leading_features(posterior, int(k), FEATURES_IN_TABLE)
        longest = max((abs(loadings[i, k]) for i in features), default=1.0) or 1.0
        rows = [
            FeatureRow(
                plain(posterior.feature_names[i]),
                number(loadings[i, k], 3),
                number(sds[i, k], 3),
                probability(float(ndtr(abs(loadings[i, k]) / sds[i, k]))),
                round(100 * abs(loadings[i, k]) / longest),
                bool(loadings[i, k] < 0),
            )
            for i in features
        ]
        tables.append(
            FactorTable(
                int(k) + 1,
                posterior.factor_names[k],
                percent(shares[k]),
                leaders(posterior, int(k)),
                rows,
                int(k) in opened,
            )
        )
    return tables


def comparison_overview(comparison: pd.DataFrame) -> InlineFigure | None:
    """Figure of all models' AUC, if any is known."""
    if not np.isfinite(comparison["auc"].to_numpy(float)).any():
        return None
    tasks = joined([plain(task) for task in comparison["task"].unique()])
    return inline_figure(
        comparison_figure(comparison),
        "fig-comparison",
        f"Cross-validated AUC of every model on {tasks}, with one standard deviation over folds "
        "to either side; the numbers are in the table.",
        "AUC, mean over folds; bars reach one standard deviation over folds to either side. "
        "They show how much folds differ, and are no test of a difference.",
    )


def roc_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """ROC of every task with two classes in the decisions."""
    known = finite_decisions(decisions)
    if known is None:
        return []
    classes = {
        task.name: task.classes
        for task in (posterior.classifiers.tasks if posterior.classifiers is not None else ())
    }
    figures = []
    for number_, (task, part) in enumerate(known.groupby("task", sort=False)):
        if part["label"].nunique() != _ROC_CLASSES:
            continue
        own = classes.get(str(task))
        positive = own[1] if own is not None and len(own) == _ROC_CLASSES else None
        if str(positive) not in set(part["label"].astype(str)):
            positive = None  # 1 against 1.0: the larger label is the model's second class too
        models = joined([plain(model) for model in part["model"].unique()])
        figures.append(
            inline_figure(
                roc_figure(part, str(task), positive=positive),
                f"fig-roc-{number_}",
                f"ROC of {plain(task)} for {models}, from decisions on samples outside the fit.",
                f"{plain(task)}: ROC of the out-of-fold decisions of all folds together; in "
                "parentheses its AUC, which can differ a little from the mean over folds.",
            )
        )
    return figures


def coefficient_figures(posterior: Posterior) -> list[tuple[str, InlineFigure]]:
    """Task name and coefficient figure of every task."""
    figures = []
    for task, part in enumerate(classifiers_of(posterior).tasks):
        clear = [e for e in effects(posterior, task) if e.clear]
        names = joined([posterior.factor_names[e.factor] for e in clear[:5]])
        found = f"Clearly non-zero, strongest first: {names}." if clear else "None is clear."
        figure = inline_figure(
            coefficient_figure(posterior, task),
            f"fig-coefficients-{task}",
            f"Coefficients of {plain(part.name)} with 90 % intervals, factor by factor. {found}",
            "Coefficients with 90 % intervals. Filled: the interval leaves zero out. Colours are "
            "those of the classes. In parentheses, the factor's share of the explained variance.",
        )
        figures.append((plain(part.name), figure))
    return figures


def score_figures(posterior: Posterior) -> list[InlineFigure]:
    """Samples on the two factors that matter most, task by task."""
    if posterior.classifiers is None:
        names = joined([posterior.factor_names[k] for k in shown_factors(posterior)[:2]])
        return [
            inline_figure(
                score_figure(posterior),
                "fig-scores",
                f"Scatter of {len(posterior.sample_names)} samples on {names}.",
                f"Samples on {names}, the factors with the largest shares.",
            )
        ]
    figures = []
    for task, part in enumerate(posterior.classifiers.tasks):
        chosen = [posterior.factor_names[e.factor] for e in effects(posterior, task)[:2]]
        classes = joined([plain(label) for label in part.classes])
        figures.append(
            inline_figure(
                score_figure(posterior, task),
                f"fig-scores-{task}",
                f"Scatter of {len(posterior.sample_names)} samples on {joined(chosen)}, "
                f"coloured by {plain(part.name)}: {classes}.",
                f"{plain(part.name)}: samples on {joined(chosen)}, strongest for this task.",
            )
        )
    return figures


def loading_overview(posterior: Posterior) -> InlineFigure:
    """Heat map of the leading features."""
    return inline_figure(
        loading_figure(posterior),
        "fig-loadings",
        "Heat map of the loadings of the leading features on the factors in use; the largest are "
        "in the tables of the next section.",
        "Leading features of every factor in use. Red: the feature is higher where the factor is "
        "higher; blue: lower.",
    )


def share_overview(posterior: Posterior) -> InlineFigure:
    """Bars of the factors' shares."""
    k = int(shown_factors(posterior)[0])
    return inline_figure(
        share_figure(posterior),
        "fig-shares",
        "Share of every factor in use in the explained variance; the largest is "
        f"{posterior.factor_names[k]} with {percent(posterior.shares[k])}.",
        "Share of each factor in the variance that the factors explain together.",
    )


def history_overview(posterior: Posterior) -> InlineFigure:
    """Course of the fit."""
    return inline_figure(
        history_figure(posterior),
        "fig-history",
        f"Course of the fit over {len(posterior.elbo) - 1} iterations: the ELBO ends at "
        f"{number(float(posterior.elbo[-1]), 1)}, the standard deviation of w at "
        f"{number(float(posterior.sd_w[-1]))}, with {int(posterior.n_active[-1])} factors in use.",
        "The ELBO should rise and level off; the standard deviation of w should settle.",
    )


def formatted(scores: dict[str, list[Score]]) -> list[tuple[str, list[dict[str, object]]]]:
    """Lines of the comparison table, task by task."""
    return [
        (
            task,
            [
                {
                    "model": score.model,
                    "best": score.best,
                    "auc": number(score.auc, 3),
                    "auc_sd": number(score.auc_sd, 3),
                    "accuracy": number(score.accuracy, 3),
                    "accuracy_sd": number(score.accuracy_sd, 3),
                    "seconds": _seconds(score.seconds),
                }
                for score in rows
            ],
        )
        for task, rows in scores.items()
    ]


def _seconds(value: float) -> str:
    return number(value, 0 if value >= 100 else 1 if value >= 1 else 2)
