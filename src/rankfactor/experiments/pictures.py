"""The paper's figures: loadings of digits as images, coefficients of joint tasks, gene networks.

Each figure shows one fit to all training samples (for cross-validated tables, to all samples) at
the paper's number of factors; figures do not evaluate models, so nothing is held out. The four
models of the digits are those of the supplement. The joint tasks are shown for R-L-BSVM, as in the
paper, with the 200 leading genes of each factor, which the paper tested for pathways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from rankfactor.data import Dataset
from rankfactor.errors import InputError
from rankfactor.evaluation.watch import uninterrupted
from rankfactor.experiments.entries import N_FACTORS, Entry, build
from rankfactor.experiments.outcome import Progress
from rankfactor.experiments.problem import Problem
from rankfactor.interpret import (
    coefficient_table,
    edge_table,
    enrich,
    feature_network,
    top_features,
)
from rankfactor.interpret.genesets import Sets
from rankfactor.plots import (
    compared_images_figure,
    joint_coefficient_figure,
    loading_image_figure,
    network_figure,
)
from rankfactor.posterior import Posterior

DIGIT_MODELS = ("G-L-BSVM", "R-L-BSVM", "G-NL-BSVM", "R-NL-BSVM")
JOINT_MODEL = "R-L-BSVM"
TOP_FEATURES = 200
# With more links a drawn network is unreadable; its table has more.
DRAWN_EDGES = 250
LISTED_EDGES = 2000


@dataclass
class Pictures:
    """Figures and tables to write, by file name without extension."""

    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    networks: dict[str, Any] = field(default_factory=dict)  # networkx.Graph
    notes: list[str] = field(default_factory=list)  # what was left out, and why


@dataclass(frozen=True)
class Fits:
    """Settings of the fits for pictures."""

    n_factors: int = N_FACTORS
    random_state: int = 0
    n_threads: int | None = None
    progress: Progress | None = None

    def posterior(
        self, name: str, model: str, table: pd.DataFrame, labels: Any, groups: Any = None
    ) -> Posterior:
        """Posterior of a model fitted to all samples given."""
        tell = self.progress or (lambda *step: None)
        step = f"{name}: {model} for figures"
        tell(step, 0, 1)
        # A table needs more samples than factors.
        factors = min(self.n_factors, len(table) - 1)
        estimator = build(
            Entry(model, f"K = {factors}"),
            n_factors=factors,
            random_state=self.random_state,
            n_threads=self.n_threads,
            log=False,
        )
        # On Ctrl-C a fit returns its current state, which must not be drawn.
        with uninterrupted():
            fitted = estimator.fit(table, labels, groups=groups)
        tell(step, 1, 1)
        posterior: Posterior = fitted.posterior_
        return posterior


def digit_pictures(
    name: str, title: str, data: Dataset, image_shape: tuple[int, int], fits: Fits
) -> Pictures:
    """Loadings of `DIGIT_MODELS` as images, and the leading factors of all models side by side.

    Files begin with the name. Models are fitted to the training part of the data, and the shape is
    the height and width of an image.
    """
    train = (data.labels["part"] == "train").to_numpy()
    table, labels = data.table[train], data.labels[train].iloc[:, 0]
    found = Pictures()
    posteriors = {model: fits.posterior(name, model, table, labels) for model in DIGIT_MODELS}
    for model, posterior in posteriors.items():
        found.figures[f"{name}-loadings-{model}"] = loading_image_figure(
            posterior, image_shape, title=f"{title}: loadings of {model}"
        )
    found.figures[f"{name}-loadings"] = compared_images_figure(
        posteriors, image_shape, title=f"{title}: loadings of the leading factors"
    )
    return found


def joint_pictures(
    problems: Sequence[Problem], fits: Fits, *, sets: Sets | None = None
) -> Pictures:
    """Coefficients of all tasks of a problem, its network, and the leading features of factors.

    With gene sets, the leading features of every factor are tested against them; a problem whose
    features are in none of them is skipped, with a note.
    """
    found = Pictures()
    for problem in problems:
        posterior = fits.posterior(
            problem.name, JOINT_MODEL, problem.table, problem.labels, problem.groups
        )
        _describe(found, problem.name.split(".")[0], posterior, sets)
    return found


def _describe(found: Pictures, name: str, posterior: Posterior, sets: Sets | None) -> None:
    """Add figures and tables of a fitted model."""
    found.figures[f"{name}-coefficients"] = joint_coefficient_figure(
        posterior, title=f"{name}: coefficients of {JOINT_MODEL}, all tasks by one model"
    )
    found.tables[f"{name}-coefficients"] = coefficient_table(posterior)
    found.tables[f"{name}-top-{TOP_FEATURES}"] = top_features(posterior, TOP_FEATURES)
    graph = feature_network(posterior, n_edges=LISTED_EDGES)
    found.tables[f"{name}-network"] = edge_table(graph)
    found.networks[f"{name}-network"] = graph
    if len(graph):
        drawn = feature_network(posterior, n_edges=DRAWN_EDGES)
        found.figures[f"{name}-network"] = network_figure(
            drawn, title=f"{name}: features that move together, {drawn.number_of_edges()} pairs"
        )
        found.notes.append(f"{name}, network as drawn: {drawn.graph['network_rule']}")
    else:
        found.notes.append(f"{name}: no two features are correlated enough for a network.")
    if sets is None:
        return
    try:
        found.tables[f"{name}-enrichment"] = enrich(posterior, sets)
    except InputError as error:
        found.notes.append(f"{name}: gene sets are not tested, as {error}")
