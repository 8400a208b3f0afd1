"""Figures of the report's sections, with captions and descriptions for screen readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from rankfactor.errors import counted
from rankfactor.interpret import feature_network
from rankfactor.interpret.accuracy import Score, two_class_tasks
from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.loading_map import loading_map
from rankfactor.interpret.network import module_members
from rankfactor.interpret.overview import (
    has_components,
    shown_coefficients,
    training_responsibilities,
)
from rankfactor.interpret.selection import row_classes, shown_factors
from rankfactor.interpret.sentences import UNCORRELATED, history_caption, strongest_in_words
from rankfactor.interpret.wording import joined, number, percent, plain
from rankfactor.plots import (
    coefficient_figure,
    comparison_figure,
    distribution_figure,
    factor_correlation_figure,
    history_figure,
    loading_figure,
    network_figure,
    reliability_figure,
    responsibility_figure,
    roc_figure,
    score_figure,
    scree_figure,
    share_figure,
    trace_figure,
)
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import assessed
from rankfactor.posterior.diagnostics import MAX_R_HAT
from rankfactor.report.explorer import as_json
from rankfactor.report.figures import InlineFigure, inline_figure
from rankfactor.typing import Floats

# Links drawn in the network; more would hide one another.
EDGES = 150


def comparison_overview(scores: dict[str, list[Score]]) -> InlineFigure | None:
    """Figure of the AUC of all models; None if no AUC is known."""
    if not any(np.isfinite(score.auc) for rows in scores.values() for score in rows):
        return None
    tips = {
        f"point-{panel}-{row}": [f"{score.model}\nAUC {_with_bar(score)}"]
        * int(np.isfinite(score.auc))
        for panel, rows in enumerate(scores.values())
        for row, score in enumerate(rows)
    }
    rows = [{"task": task, **one._asdict()} for task, part in scores.items() for one in part]
    known = all(np.isfinite(row["auc_low"]) for row in rows if np.isfinite(row["auc"]))
    bars = "95 % interval" if known else "±1 standard deviation across folds"
    return inline_figure(
        comparison_figure(pd.DataFrame(rows)),
        "fig-comparison",
        f"Cross-validated AUC of every model on {joined(list(scores))}, with bars; the numbers are "
        "in the table.",
        f"AUC, mean over folds. Bars: {bars}. Models are tested on the same samples: judge by the "
        "paired difference, not by overlapping bars.",
        tips,
    )


def _with_bar(score: Score) -> str:
    """AUC of a model with its interval or standard deviation."""
    if np.isnan(score.auc_low):
        return f"{number(score.auc, 3)} ± {number(score.auc_sd, 3)}"
    return f"{number(score.auc, 3)} [{number(score.auc_low, 3)}, {number(score.auc_high, 3)}]"


def accuracy_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """ROC curves of every task with two classes, then calibration curves."""
    curves, calibrations = [], []
    for place, task, part, positive in two_class_tasks(posterior, decisions):
        name, models = plain(task), [plain(model) for model in part["model"].unique()]
        caption = f"{name}: ROC on held-out samples; AUC in parentheses."
        if "fold" in part and len(part["fold"].unique()) > 1:
            caption += (
                " Curve and AUC are means over folds. Band: ±1 standard deviation across folds of "
                f"the true positive rate of {models[0]}."
            )
        said = f"ROC of {name} for {joined(models)}, from decisions on held-out samples."
        figure = roc_figure(part, task, positive=positive)
        curves.append(inline_figure(figure, f"fig-roc-{place}", said, caption))
        if "probability" not in part:
            continue
        chances: dict[str, Floats] = {}
        labels: NDArray[Any] | None = None
        for model, rows in part.groupby("model", sort=False):
            chance = rows["probability"].to_numpy(float)
            own = rows["label"].astype(str).to_numpy(object)
            same = labels is None or np.array_equal(labels, own)
            # Comparing curves requires the same samples in the same order.
            if same and ((chance >= 0) & (chance <= 1)).all():
                labels, chances[plain(model)] = own, chance
        if not chances:
            continue
        hit = None if positive is None else str(positive)
        calibration = inline_figure(
            reliability_figure(labels, chances, positive=hit),
            f"fig-calibration-{place}",
            f"Calibration of {name} for {joined(list(chances))}: observed frequency of the class "
            "by predicted probability, held-out samples.",
            f"{name}: observed frequency of the class by predicted probability, on held-out "
            "samples. Calibrated probabilities lie on the diagonal. Larger marks have more "
            "samples; expected calibration error in parentheses.",
        )
        calibrations.append(calibration)
    return curves + calibrations


def coefficient_figures(posterior: Posterior) -> list[tuple[str, InlineFigure]]:
    """Task name and coefficient figure of every task; none without labels."""
    figures = []
    for task, part in enumerate(posterior.classifiers.tasks if posterior.classifiers else ()):
        found = shown_coefficients(posterior, task)
        tips = {
            f"point-{panel}-{line}": [
                f"{posterior.factor_names[k]}, for {plain(target)}\n"
                f"{number(found.mean[panel, line])}"
                + (
                    f" ({number(found.low[panel, line])} to {number(found.high[panel, line])})"
                    if assessed(posterior)
                    else ""
                )
            ]
            for panel, target in enumerate(row_classes(part))
            for line, k in enumerate(shown_factors(posterior))
        }
        figure = inline_figure(
            coefficient_figure(posterior, task),
            f"fig-coefficients-{task}",
            f"Coefficients of {plain(part.name)}, factor by factor. "
            f"{strongest_in_words(posterior, task)}",
            _coefficient_caption(posterior),
            tips,
        )
        figures.append((plain(part.name), figure))
    return figures


def _coefficient_caption(posterior: Posterior) -> str:
    said = "Coefficients in the colours of the favoured classes; variance explained in parentheses."
    if assessed(posterior):
        said += " Lines: spread (90 % limits). Filled: clear (see Methods)."
    return said


def distribution_figures(posterior: Posterior) -> list[InlineFigure]:
    """Scores by class, task by task."""
    figures = []
    for task, part in enumerate(posterior.classifiers.tasks if posterior.classifiers else ()):
        name, classes = plain(part.name), joined([plain(label) for label in part.classes])
        figure = inline_figure(
            distribution_figure(posterior, task),
            f"fig-distributions-{task}",
            f"Label-free scores of the samples by {name} ({classes}), for the factors with the "
            "largest coefficients.",
            f"{name}: label-free scores of the training samples, for the factors with the largest "
            "coefficients. Box: first to third quartile; line: median.",
        )
        figures.append(figure)
    return figures


def correlation_overview(posterior: Posterior) -> InlineFigure | None:
    """Heat map of the factors' correlations; None with fewer than two factors."""
    used = shown_factors(posterior)
    if len(used) < 2:
        return None
    apart = np.triu(posterior.factor_correlations, 1)[np.ix_(used, used)]
    largest = float(np.abs(apart).max())
    if largest < UNCORRELATED:
        return None
    return inline_figure(
        factor_correlation_figure(posterior),
        "fig-correlations",
        f"Heat map of the correlations of the scores of {len(used)} factors; the largest absolute "
        f"correlation is {number(largest)}.",
        "Correlations of the factors' label-free scores over the training samples. Red: positive; "
        "blue: negative.",
    )


def score_figures(posterior: Posterior) -> list[InlineFigure]:
    """Samples on the two factors that matter most, task by task; none without samples."""
    if posterior.left_out is not None:
        return []
    on = f"Scatter of {posterior.samples.n_samples} samples on"
    if posterior.classifiers is None:
        names = joined([posterior.factor_names[k] for k in shown_factors(posterior)[:2]])
        caption = f"Samples on {names}, the factors with the largest shares."
        return [inline_figure(score_figure(posterior), "fig-scores", f"{on} {names}.", caption)]
    figures = []
    for task, part in enumerate(posterior.classifiers.tasks):
        two = directions_on(posterior, task)[:2]
        names = joined([posterior.factor_names[one.factor] for one in two])
        name, classes = plain(part.name), joined([plain(label) for label in part.classes])
        figure = inline_figure(
            score_figure(posterior, task),
            f"fig-scores-{task}",
            f"{on} {names}, coloured by {name}: {classes}.",
            f"{name}: samples on {names}, the strongest factors of this task.",
        )
        figures.append(figure)
    return figures


def loading_overview(posterior: Posterior) -> tuple[InlineFigure, Markup]:
    """Heat map of the leading features, and its hints as JSON."""
    shown = loading_map(posterior, order="cluster")
    grid = {
        "rows": [plain(posterior.feature_names[i]) for i in shown.features],
        "columns": [posterior.factor_names[k] for k in shown.factors],
        "values": np.round(shown.values, 2).tolist(),
    }
    figure = inline_figure(
        loading_figure(posterior, order="cluster"),
        "fig-loadings",
        "Heat map of the loadings of the leading features on the factors in use, similar features "
        "next to each other; the largest are in the tables of the next section.",
        "Leading features of every factor in use. Red: the feature increases with the factor; "
        "blue: it decreases. Left: average linkage of the features' loadings.",
    )
    return figure, as_json({"fig-loadings-cells": grid})


def share_overview(posterior: Posterior) -> InlineFigure:
    """Bars of the factors' shares."""
    k = shown_factors(posterior)[0]
    return inline_figure(
        share_figure(posterior),
        "fig-shares",
        "Share of the features' variance that every factor in use explains; the largest is "
        f"{posterior.factor_names[k]} with {percent(posterior.shares[k])}.",
        f"Variance of all features that each factor explains; together {percent(posterior.r2)}.",
    )


def history_overview(posterior: Posterior) -> InlineFigure:
    """ELBO and standard deviation of w by iteration."""
    return inline_figure(
        history_figure(posterior),
        "fig-history",
        f"Course of the fit over {len(posterior.elbo) - 1} iterations: the ELBO ends at "
        f"{number(float(posterior.elbo[-1]), 1)}, the standard deviation of w at "
        f"{number(float(posterior.sd_w[-1]))}.",
        history_caption(posterior),
    )


def scree_overview(posterior: Posterior) -> InlineFigure | None:
    """Scree plot against permuted tables; None if the number of factors was given."""
    count = posterior.factor_count
    if count is None:
        return None
    own = ""
    if count.added.any():
        parts = zip(count.blocks.tolist(), count.added.tolist(), strict=True)
        named = [f"{n} in {plain(name)}" for name, n in parts if n]
        own = f" Not shown: factors found in a single block ({joined(named)})."
    return inline_figure(
        scree_figure(posterior),
        "fig-scree",
        "Eigenvalues of the correlation of the normal scores beside those of permuted tables; "
        f"{counted(count.common, 'leading eigenvalue exceeds', 'leading eigenvalues exceed')} "
        "chance.",
        "Eigenvalues of the correlation of the normal scores of "
        f"{counted(count.n_samples, 'sample')} (marks), and the 95 % quantile of the same "
        "eigenvalues after permuting every feature (dashed). Filled marks are counted as "
        f"factors.{own}",
    )


def trace_overview(posterior: Posterior) -> InlineFigure | None:
    """Traces and R-hat of the chains; None without Gibbs sampling."""
    if posterior.draws is None:
        return None
    n_chains = len(np.unique(posterior.draws.chain))
    return inline_figure(
        trace_figure(posterior),
        "fig-trace",
        f"Log likelihood of {n_chains} chains by sweep, and the largest R-hat by kind of quantity.",
        "Chains should look alike after burn-in. R-hat compares them: above "
        f"{MAX_R_HAT} they have not converged, and more draws are needed.",
    )


def network_overview(posterior: Posterior) -> tuple[InlineFigure | None, Any]:
    """Drawing of the strongest links, or None without links, and the network itself.

    Hovering over a feature shows its name.
    """
    graph = feature_network(posterior, n_edges=EDGES)
    if not len(graph):
        return None, graph
    tips = {
        f"module-{place}": [
            f"{plain(graph.nodes[node]['label'])}\nmodule {graph.nodes[node]['module']}, "
            f"{graph.nodes[node]['factor']}\n{counted(graph.degree(node), 'link')}"
            for node in members
        ]
        for place, members in enumerate(module_members(graph))
    }
    figure = inline_figure(
        network_figure(graph),
        "fig-network",
        f"Network of {len(graph)} features with {graph.number_of_edges()} links in {len(tips)} "
        "modules; its strongest links are in the table.",
        f"Links: {plain(graph.graph['network_rule'])} Colours and shapes are modules. Larger marks "
        "have more links. Hover over a mark for its name.",
        tips,
    )
    return figure, graph


def component_figures(posterior: Posterior) -> list[InlineFigure]:
    """Responsibilities of local classifiers by task; none if linear or without samples."""
    if not has_components(posterior) or posterior.left_out is not None:
        return []
    assert posterior.classifiers is not None
    used, n = posterior.n_components_used, training_responsibilities(posterior).shape[1]
    return [
        inline_figure(
            responsibility_figure(posterior, task),
            f"fig-components-{task}",
            f"Heat map of the responsibilities of {n} components, {used} of them in use, for the "
            f"samples grouped by {plain(part.name)}.",
            "Weight of each local classifier for each training sample, by its label-free scores. "
            "Components with weights near zero are left out.",
        )
        for task, part in enumerate(posterior.classifiers.tasks)
    ]
