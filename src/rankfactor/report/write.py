"""Write the report of a fitted model: one page that opens offline.

The page asks for nothing: its style, its script and its data stand in it, and a content security
policy forbids the browser to fetch anything or to run any other script.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rankfactor.__about__ import __version__
from rankfactor.errors import counted
from rankfactor.plots.components import has_components
from rankfactor.plots.style import plain
from rankfactor.posterior import Posterior
from rankfactor.report import accuracy, page_tables, sections, words
from rankfactor.report.comparison import Score, scores_by_task
from rankfactor.report.enrichment import enriched
from rankfactor.report.explorer import as_json, explorer_data, shown_samples
from rankfactor.report.validation import Validation
from rankfactor.storage.files import check_destinations, written_together


def write_report(
    path: str | os.PathLike[str],
    posterior: Posterior,
    *,
    title: str,
    description: str = "",
    source: str = "",
    comparison: pd.DataFrame | None = None,
    decisions: pd.DataFrame | None = None,
    validation: Validation | None = None,
    warnings: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    gene_sets: Mapping[str, Collection[str]] | None = None,
) -> Path:
    """Write the report of a fitted model as one HTML file that needs nothing else.

    Parameters
    ----------
    path : path-like
        File to write; its folder must exist. The file is replaced at once, never half written.
    posterior : Posterior
        Fitted with labels or without.
    title : str
    description : str, optional
        What the data are, in a sentence or two.
    source : str, optional
        Where the data come from.
    comparison : DataFrame, optional
        Cross-validated numbers, one row per task and model: columns ``task``, ``model``, ``auc``,
        ``auc_sd``, ``accuracy``, ``accuracy_sd`` and ``seconds``. The first row of each task is
        the model of this report; standard deviations are over folds.
    decisions : DataFrame, optional
        Out-of-fold decisions: columns ``sample``, ``task``, ``model``, ``label`` and ``decision``;
        the first model is that of this report. Tasks with two classes get an ROC, with a band for
        the first model if there is a column ``fold``, and a calibration curve if there is a
        column ``probability`` (of the class that large decisions mean).
    validation : Validation, optional
        Where these numbers come from, to be shown beside them.
    warnings : sequence of str
        Further things the reader should know.
    settings : mapping, optional
        Names and values to list under the methods; ``seed`` or ``random_state`` is named there.
    gene_sets : mapping from str to names of features, optional
        Sets to test for an overlap with the leading features of every factor, as
        `rankfactor.interpret.read_gmt` gives them.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the folder does not exist or the file cannot be written, if a frame lacks a column, or if
        no gene set has enough features of the model.
    """
    target = Path(path)
    check_destinations(target)
    if isinstance(warnings, str):
        warnings = (warnings,)
    page = render(
        posterior,
        title=title,
        description=description,
        source=source,
        comparison=comparison,
        decisions=decisions,
        validation=validation or Validation(),
        warnings=warnings,
        settings=settings or {},
        gene_sets=gene_sets,
    )
    with written_together(target) as (part,):
        part.write_text(page, encoding="utf-8", newline="\n")
    return target


def render(
    posterior: Posterior,
    *,
    title: str,
    description: str,
    source: str,
    comparison: pd.DataFrame | None,
    decisions: pd.DataFrame | None,
    validation: Validation,
    warnings: Sequence[str],
    settings: Mapping[str, object],
    gene_sets: Mapping[str, Collection[str]] | None = None,
) -> str:
    """HTML of the report; the same input always gives the same page."""
    scores = scores_by_task(comparison)
    tasks = _task_cards(posterior, scores)
    factors = words.largest(posterior) if posterior.classifiers is None else []
    # The strongest factor of every task is unfolded; the others are a click away.
    opened = {k for card in tasks for k, _ in card["strongest"][:1]} | {k for k, _ in factors[:1]}
    feature_tables = page_tables.factor_tables(posterior, opened)
    seed = settings.get("seed", settings.get("random_state"))
    roc = accuracy.roc_figures(posterior, decisions)
    supervised = posterior.classifiers is not None
    graph = sections.network_of(posterior)
    found = None if gene_sets is None else enriched(posterior, gene_sets)
    components = sections.component_figures(posterior)
    script = files("rankfactor.report").joinpath("script.js").read_text("utf-8")
    contents = [
        ("summary", "At a glance"),
        *([("cross-validation", "Cross-validation")] if scores or roc else []),
        ("factors", "Factors and tasks" if supervised else "Factors"),
        ("scores", "Scores"),
        ("loadings", "Loadings"),
        ("features", "Top features per factor"),
        *([("network", "Network of features")] if graph is not None else []),
        *([("enrichment", "Gene sets")] if found is not None else []),
        *([("components", "Local classifiers")] if has_components(posterior) else []),
        ("fit", "Fit"),
        ("methods", "Methods"),
    ]
    # The cards have said it of the tasks of the model.
    named = {card["name"] for card in tasks}
    said = [words.verdict(task, rows) for task, rows in scores.items() if task not in named]
    sentences = [text for card in tasks for _, text in card["strongest"]]
    sentences += [text for _, text in factors]
    environment = Environment(
        loader=PackageLoader("rankfactor.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("template.html").render(
        title=plain(title),
        description=description,
        source=source,
        contents=contents,
        facts=_facts(posterior),
        supervised=supervised,
        tasks=tasks,
        largest=factors,
        says_inverse=any("(inverse)" in text for text in sentences),
        lists_inverse=any("(inverse)" in table.leaders for table in feature_tables),
        cautions=[*validation.flaws, *words.cautions(posterior, warnings)],
        validation=validation,
        validation_settings=_listed(validation.settings),
        verdicts=said,
        comparison=accuracy.formatted(scores),
        comparison_figure=(
            accuracy.comparison_overview(comparison) if comparison is not None and scores else None
        ),
        accuracy_figures=[*roc, *accuracy.calibration_figures(posterior, decisions)],
        coefficient_figures=sections.coefficient_figures(posterior) if supervised else [],
        share_figure=sections.share_overview(posterior),
        score_figures=sections.score_figures(posterior),
        loading_figure=sections.loading_overview(posterior),
        factor_table=page_tables.factor_overview(posterior),
        coefficient_table=page_tables.coefficients_in_full(posterior) if supervised else None,
        tables=feature_tables,
        features_in_table=page_tables.FEATURES_IN_TABLE,
        network_figure=None if graph is None else sections.network_overview(graph),
        edge_table=None if graph is None else page_tables.edge_overview(graph),
        enrichment=found,
        component_figures=components,
        history_figure=sections.history_overview(posterior),
        trace_figure=sections.trace_overview(posterior),
        n_shown=len(shown_samples(posterior)),
        n_samples=posterior.samples.n_samples,
        has_samples=posterior.left_out is None,
        has_components=has_components(posterior),
        scores_data=as_json(explorer_data(posterior)),
        grids=as_json({"fig-loadings-cells": sections.loading_grid(posterior)}),
        # The script is the package's own file, so it may stand in the page as it is.
        script=Markup(f"\n{script}"),
        script_hash=_digest(f"\n{script}"),
        fit=_fit_facts(posterior),
        fit_sentence=posterior.convergence.sentence,
        methods=[*words.methods(posterior, seed), words.versions()],
        settings=_listed(settings),
        citation=words.CITATION,
        version=__version__,
    )


def _digest(script: str) -> str:
    """What the content security policy knows the script by."""
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _task_cards(
    posterior: Posterior, scores: Mapping[str, Sequence[Score]]
) -> list[dict[str, Any]]:
    """What the first screen says about every task."""
    if posterior.classifiers is None:
        return []
    cards = []
    for number, task in enumerate(posterior.classifiers.tasks):
        *counts, unknown = posterior.samples.counts[number].tolist()
        groups = [f"{n} {plain(label)}" for n, label in zip(counts, task.classes, strict=True)]
        rows = scores.get(plain(task.name), [])
        cards.append(
            {
                "name": plain(task.name),
                "classes": ", ".join(groups + ([f"{unknown} unknown"] if unknown else [])),
                "auc": words.number(rows[0].auc) if rows else "",
                "auc_sd": words.number(rows[0].auc_sd) if rows else "",
                "verdict": words.verdict(plain(task.name), rows) if rows else "",
                "strongest": words.strongest(posterior, number),
            }
        )
    return cards


def _facts(posterior: Posterior) -> list[str]:
    facts = [
        counted(posterior.samples.n_samples, "sample"),
        counted(len(posterior.feature_names), "feature"),
        f"{int(posterior.active.sum())} of {counted(posterior.n_factors, 'factor')} in use",
        f"fit {posterior.convergence.state}",
    ]
    if posterior.classifiers is not None:
        n_tasks = len(posterior.classifiers.tasks)
        facts.insert(2, "1 task" if n_tasks == 1 else f"{n_tasks} tasks")
    return facts


def _fit_facts(posterior: Posterior) -> list[tuple[str, str]]:
    return [
        ("Convergence", posterior.convergence.state),
        ("Iterations", str(len(posterior.elbo) - 1)),
        ("ELBO", words.number(float(posterior.elbo[-1]), 1)),
        ("Standard deviation of w", words.number(float(posterior.sd_w[-1]), 3)),
        ("Factors in use", f"{int(posterior.active.sum())} of {posterior.n_factors}"),
    ]


def _listed(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """Names and values of settings as text."""
    return [
        (str(name), f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in settings.items()
    ]
