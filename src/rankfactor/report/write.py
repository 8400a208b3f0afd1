"""Write the report of a fitted model: one page that opens offline.

The page loads nothing: its style, script and data are embedded, and a content security policy
forbids the browser to fetch anything or to run any other script.
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
from rankfactor.auc import Difference
from rankfactor.interpret import enrich, sentences
from rankfactor.interpret.accuracy import (
    Score,
    Validation,
    differences_by_task,
    how_well,
    scores_by_task,
)
from rankfactor.interpret.overview import factors_correlate
from rankfactor.interpret.wording import number, plain
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import assessed
from rankfactor.presets import full_name
from rankfactor.report import page_tables, sections
from rankfactor.report.classes import class_figures, class_tables
from rankfactor.report.contributions import contributions_data
from rankfactor.report.effects import drivers, effect_frame, effects_data, leading_tables
from rankfactor.report.explorer import MOST_SAMPLES, as_json, explorer_data, shown_samples
from rankfactor.report.labels import SPREAD
from rankfactor.report.quality import quality_section
from rankfactor.report.text import breakable
from rankfactor.report.training_table import check_training_table
from rankfactor.storage.files import check_destinations, written_together

_ENVIRONMENT = Environment(
    loader=PackageLoader("rankfactor.report", ""),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters["number"] = number
_ENVIRONMENT.filters["breakable"] = breakable
# Parts of the page's script, in order of dependence.
_PARTS = ("base", "hints", "tables", "paged", "effects", "samples", "explorer", "start")


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
    table: Any = None,
) -> Path:
    """Write the report of a fitted model as one self-contained HTML file; return its path.

    Parameters
    ----------
    path : path-like
        File to write; its folder must exist. The file is replaced atomically.
    posterior : Posterior
        Fitted with labels or without.
    description : str, optional
        What the data are, in a sentence or two.
    source : str, optional
        Where the data come from.
    comparison : DataFrame, optional
        Cross-validated numbers, one row per task and model: columns ``task``, ``model``, ``auc``,
        ``auc_sd``, ``accuracy``, ``accuracy_sd`` and ``seconds``; optional are ``auc_low`` and
        ``auc_high`` (95 % interval) and ``balanced_accuracy``. The first row of each task is the
        model of this report; standard deviations are over folds.
    decisions : DataFrame, optional
        Out-of-fold decisions: columns ``sample``, ``task``, ``model``, ``label`` and ``decision``;
        the first model is that of this report. With columns ``fold`` and ``positive`` the AUC, its
        interval and the paired differences between models are computed from them. Tasks with two
        classes get an ROC, with a band for the first model if there is a column ``fold``, and a
        calibration curve if there is a column ``probability`` (of the class that large decisions
        mean).
    validation : Validation, optional
        Origin of these numbers, shown beside them.
    warnings : sequence of str
        Further warnings for the reader.
    settings : mapping, optional
        Names and values to list under the methods; ``seed`` or ``random_state`` is named there.
    gene_sets : mapping from str to names of features, optional
        Sets to test for overlap with the leading features of every factor, as returned by
        `rankfactor.interpret.read_gmt`.
    table : DataFrame, AnnData or array, optional
        The training table, as passed to the estimator. With it the report shows the contributions
        of the features to every sample's decisions and the quality of the table, and colours
        samples by covariates.

    Raises
    ------
    InputError
        If the folder does not exist, the file cannot be written, a frame lacks a column, no gene
        set has enough features of the model, or the table is not the training table.
    """
    target = Path(path)
    check_destinations(target)
    settings, validation = settings or {}, validation or Validation()
    script = _script()
    if table is not None:
        check_training_table(posterior, table)
    supervised, scores = posterior.classifiers is not None, scores_by_task(comparison, decisions)
    differences, effects = differences_by_task(decisions), effect_frame(posterior)
    samples = explorer_data(posterior, decisions, table)
    contributions = None
    if table is not None and supervised and samples is not None:
        contributions = contributions_data(posterior, table, shown_samples(posterior))
    cards = _task_cards(posterior, scores, differences, effects)
    largest = [] if supervised else sentences.largest_factors(posterior)
    # The strongest factor of every task is unfolded; the others are folded.
    found = [*(card["strongest"] for card in cards), largest]
    tested = None
    if gene_sets is not None:
        tested = enrich(posterior, {name: frozenset(names) for name, names in gene_sets.items()})
    # The template calls the modules for the figures, tables and sentences that it shows.
    page = _ENVIRONMENT.get_template("template.html").render(
        sections=sections,
        page_tables=page_tables,
        sentences=sentences,
        posterior=posterior,
        title=plain(title),
        description=description,
        source=source,
        supervised=supervised,
        cards=cards,
        # The cards already show the tasks of the model.
        verdicts=tuple(
            how_well(task, rows, differences.get(task))
            for task, rows in scores.items()
            if task not in {card["name"] for card in cards}
        ),
        largest=largest,
        tables=page_tables.factor_tables(posterior, {k for part in found for k, _ in part[:1]}),
        comparison=scores,
        differences=page_tables.paired_differences(scores, differences),
        comparison_figure=sections.comparison_overview(scores),
        accuracy_figures=sections.accuracy_figures(posterior, decisions),
        class_figures=class_figures(posterior, decisions),
        class_tables=class_tables(posterior, decisions),
        quality=quality_section(posterior, table),
        tested=tested,
        correlated=factors_correlate(posterior),
        n_sets=len(gene_sets or ()),
        cautions=[
            *validation.flaws,
            *sentences.cautions(posterior, [warnings] if isinstance(warnings, str) else warnings),
        ],
        seed=settings.get("seed", settings.get("random_state")),
        settings=_listed(settings),
        version=__version__,
        # The script is part of the package, so it needs no escaping.
        script=Markup(script),
        # The content security policy allows the script by this hash.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        validation=validation,
        validation_settings=_listed(validation.settings),
        most_samples=MOST_SAMPLES,
        scores_data=as_json(samples),
        contributions_data=as_json(contributions),
        effects=effects,
        effects_data=as_json(
            None if effects is None else effects_data(posterior, effects, assessed(posterior))
        ),
        leading_effects=(
            [] if effects is None else leading_tables(posterior, effects, assessed(posterior))
        ),
        driver_note=sentences.driver_note(posterior),
        not_assessed=sentences.NOT_ASSESSED,
        missed=[] if samples is None else page_tables.missed_samples(samples),
        samples_caption=_samples_caption(samples),
        assessed=assessed(posterior),
        spread=SPREAD,
    )
    with written_together(target) as (part,):
        part.write_text(page, encoding="utf-8", newline="\n")
    return target


def _script() -> str:
    """The script of the page, wrapped in one function so that no name is global."""
    folder = files("rankfactor.report").joinpath("script")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in _PARTS]
    return '\n"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _samples_caption(samples: dict[str, Any] | None) -> str:
    tasks = [] if samples is None else samples["tasks"]
    if any("predicted" in task for task in tasks):
        return (
            "Training samples: their class, and the class and probability (P) predicted by "
            "cross-validation while the sample was held out. ✗: misclassified."
        )
    return "Training samples and their classes."


def _task_cards(
    posterior: Posterior,
    scores: Mapping[str, Sequence[Score]],
    differences: Mapping[str, Mapping[str, Difference]],
    effects: pd.DataFrame | None,
) -> list[dict[str, Any]]:
    """Content of the card of every task on the first screen."""
    cards = []
    for place, task in enumerate(posterior.classifiers.tasks if posterior.classifiers else ()):
        name = plain(task.name)
        rows = scores.get(name, [])
        cards.append(
            {
                "name": name,
                "classes": sentences.class_counts(posterior, place),
                "score": rows[0] if rows else None,
                "verdict": how_well(name, rows, differences.get(name)) if rows else "",
                "drivers": [] if effects is None else drivers(posterior, effects, place),
                "strongest": sentences.strongest_factors(posterior, place),
            }
        )
    return cards


def _listed(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """Names and values of settings as text."""
    return [
        (str(name), f"{value:g}" if isinstance(value, float) else full_name(str(value)))
        for name, value in settings.items()
    ]
