"""The figures of the report's sections, and what is said of them to readers who cannot see."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfactor.errors import counted
from rankfactor.interpret import feature_network
from rankfactor.interpret.directions import effects_on
from rankfactor.interpret.loading_map import loading_map
from rankfactor.interpret.network import module_members
from rankfactor.interpret.overview import (
    has_components,
    shown_coefficients,
    training_responsibilities,
)
from rankfactor.interpret.selection import classifiers_of, shown_factors
from rankfactor.interpret.sentences import clear_factors
from rankfactor.interpret.wording import joined, number, percent, plain
from rankfactor.plots import (
    coefficient_figure,
    history_figure,
    loading_figure,
    network_figure,
    responsibility_figure,
    score_figure,
    share_figure,
    trace_figure,
)
from rankfactor.posterior import Posterior
from rankfactor.posterior.diagnostics import MAX_R_HAT
from rankfactor.report.figures import InlineFigure, inline_figure

# Links of the network that is drawn; more of them hide one another.
EDGES = 250


def coefficient_figures(posterior: Posterior) -> list[tuple[str, InlineFigure]]:
    """Task name and coefficient figure of every task."""
    figures = []
    for task, part in enumerate(classifiers_of(posterior).tasks):
        figure = inline_figure(
            coefficient_figure(posterior, task),
            f"fig-coefficients-{task}",
            f"Coefficients of {plain(part.name)} with 90 % intervals, factor by factor. "
            f"{clear_factors(posterior, task)}",
            "Coefficients with 90 % intervals. Filled: clear (see Methods). Colours are those of "
            "the classes. In parentheses, the factor's share of the explained variance.",
            _coefficient_tips(posterior, task),
        )
        figures.append((plain(part.name), figure))
    return figures


def _coefficient_tips(posterior: Posterior, task: int) -> dict[str, list[str]]:
    part = classifiers_of(posterior).tasks[task]
    found = shown_coefficients(posterior, task)
    return {
        f"point-{panel}-{line}": [
            f"{posterior.factor_names[k]}, for {plain(target)}\n"
            f"{number(found.mean[panel, line])} "
            f"({number(found.low[panel, line])} to {number(found.high[panel, line])})"
        ]
        for panel, target in enumerate(part.classes[1:] if part.n_rows == 1 else part.classes)
        for line, k in enumerate(shown_factors(posterior))
    }


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
        two = effects_on(posterior, task)[:2]
        names = joined([posterior.factor_names[effect.factor] for effect in two])
        name, classes = plain(part.name), joined([plain(label) for label in part.classes])
        figure = inline_figure(
            score_figure(posterior, task),
            f"fig-scores-{task}",
            f"{on} {names}, coloured by {name}: {classes}.",
            f"{name}: samples on {names}, strongest for this task.",
        )
        figures.append(figure)
    return figures


def loading_overview(posterior: Posterior) -> InlineFigure:
    """Heat map of the leading features."""
    return inline_figure(
        loading_figure(posterior, order="cluster"),
        "fig-loadings",
        "Heat map of the loadings of the leading features on the factors in use, similar features "
        "next to each other; the largest are in the tables of the next section.",
        "Leading features of every factor in use. Red: the feature is higher where the factor is "
        "higher; blue: lower. Left: average linkage of the features' loadings.",
    )


def loading_grid(posterior: Posterior) -> dict[str, Any]:
    """What the heat map says under the pointer."""
    shown = loading_map(posterior, order="cluster")
    return {
        "rows": [plain(posterior.feature_names[i]) for i in shown.features],
        "columns": [posterior.factor_names[k] for k in shown.factors],
        "values": np.round(shown.values, 2).tolist(),
    }


def share_overview(posterior: Posterior) -> InlineFigure:
    """Bars of the factors' shares."""
    k = shown_factors(posterior)[0]
    return inline_figure(
        share_figure(posterior),
        "fig-shares",
        "Share of every factor in use in the explained variance; the largest is "
        f"{posterior.factor_names[k]} with {percent(posterior.shares[k])}.",
        "Share of each factor in the variance that the factors explain together.",
    )


def history_overview(posterior: Posterior) -> InlineFigure:
    """Course of the fit."""
    by_share = (
        " Factors in use are counted by their share alone here; elsewhere a clear coefficient "
        "counts too."
    )
    return inline_figure(
        history_figure(posterior),
        "fig-history",
        f"Course of the fit over {len(posterior.elbo) - 1} iterations: the ELBO ends at "
        f"{number(float(posterior.elbo[-1]), 1)}, the standard deviation of w at "
        f"{number(float(posterior.sd_w[-1]))}, with {int(posterior.n_active[-1])} factors in use.",
        "The ELBO should rise and level off; the standard deviation of w should settle."
        + ("" if posterior.classifiers is None else by_share),
    )


def trace_overview(posterior: Posterior) -> InlineFigure | None:
    """Traces and R-hat of the chains, where there are any."""
    if posterior.draws is None:
        return None
    n_chains = len(np.unique(posterior.draws.chain))
    return inline_figure(
        trace_figure(posterior),
        "fig-trace",
        f"Log likelihood of {n_chains} chains by sweep, and the largest R-hat by kind of quantity.",
        "Chains should look alike once burn-in is over. R-hat compares them: above "
        f"{MAX_R_HAT} they have not met, and more draws are needed.",
    )


def network_of(posterior: Posterior) -> Any | None:
    """Network of the strongest links; None if no feature has one."""
    if len(posterior.coding.columns) < 2:
        return None
    graph = feature_network(posterior, n_edges=EDGES)
    return graph if len(graph) else None


def network_overview(graph: Any) -> InlineFigure:
    """Drawing of the network; features say their name under the pointer."""
    tips = {
        f"module-{place}": [
            f"{plain(graph.nodes[node]['label'])}\nmodule {graph.nodes[node]['module']}, "
            f"{graph.nodes[node]['factor']}\n{counted(graph.degree(node), 'link')}"
            for node in members
        ]
        for place, members in enumerate(module_members(graph))
    }
    return inline_figure(
        network_figure(graph),
        "fig-network",
        f"Network of {len(graph)} features with {graph.number_of_edges()} links in {len(tips)} "
        "modules; its strongest links are in the table.",
        f"Linked are {plain(graph.graph['network_rule'])} Colours and shapes are modules. Larger "
        "marks have more links; a name that finds no room is shown under the pointer only.",
        tips,
    )


def component_figures(posterior: Posterior) -> list[InlineFigure]:
    """Responsibilities of local classifiers, task by task; none if linear or without samples."""
    if not has_components(posterior) or posterior.left_out is not None:
        return []
    used, n = posterior.n_components_used, training_responsibilities(posterior).shape[1]
    return [
        inline_figure(
            responsibility_figure(posterior, task),
            f"fig-components-{task}",
            f"Heat map of the responsibilities of {n} components, {used} of them in use, for the "
            f"samples grouped by {plain(part.name)}.",
            "How much each local classifier has to say on each training sample, by its label-free "
            "scores. Components with hardly any weight are left out.",
        )
        for task, part in enumerate(classifiers_of(posterior).tasks)
    ]
