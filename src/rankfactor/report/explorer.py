"""Data of the score explorer: scores, names and classes, embedded in the page as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.sentences import factor_label
from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior
from rankfactor.posterior.samples import evenly_spaced
from rankfactor.report.covariates import covariate_colours
from rankfactor.report.held_out_samples import held_out
from rankfactor.typing import Integers

# Browsers get slow with more samples than this; an evenly spaced subset is shown then.
MOST_SAMPLES = 3000


def shown_samples(posterior: Posterior) -> Integers:
    """Indices of the samples shown in the page."""
    return np.asarray(evenly_spaced(posterior.samples.n_samples, MOST_SAMPLES), np.int64)


def explorer_data(
    posterior: Posterior, decisions: pd.DataFrame | None = None, table: Any = None
) -> dict[str, Any] | None:
    """Scores of the factors in use, with the classes and predictions of every sample.

    Parameters
    ----------
    posterior : Posterior
    decisions : DataFrame, optional
        Out-of-fold decisions, for predictions of every sample.
    table : DataFrame or AnnData, optional
        The training table, for its covariates.

    Returns
    -------
    dict or None
        None without training samples, else ``factors`` (names with shares), ``samples``,
        ``scores`` (one list per factor), ``tasks`` (name, classes and the class number of every
        sample, -1 where unknown; where cross-validated also ``predicted`` and ``probability``),
        ``covariates`` (like tasks) and ``start``: the two factors shown first for every task, as
        indices into ``factors``.
    """
    if posterior.left_out is not None:
        return None
    factors, samples = shown_factors(posterior), shown_samples(posterior)
    scores, names = posterior.scores.mean[samples], posterior.sample_names[samples]
    place = {k: i for i, k in enumerate(factors)}
    tasks, orders = [], []
    if posterior.classifiers is not None:
        found = held_out(posterior, decisions, names)
        for number, task in enumerate(posterior.classifiers.tasks):
            codes = posterior.classifiers.class_index[samples, number].tolist()
            classes = [plain(label) for label in task.classes]
            own = {"name": plain(task.name), "classes": classes, "codes": codes}
            tasks.append(own | found[number])
            orders.append([place[one.factor] for one in directions_on(posterior, number)])
    return {
        "factors": [factor_label(posterior, k) for k in factors],
        "samples": [plain(name) for name in names],
        "scores": [np.round(scores[:, k], 3).tolist() for k in factors],
        "tasks": tasks,
        "covariates": [] if table is None else covariate_colours(posterior, table, samples),
        # A single factor is shown on both axes.
        "start": [[one[0], one[:2][-1]] for one in orders or [list(place.values())]],
    }


def as_json(content: Any) -> Markup:
    """JSON that is safe inside a script element, whatever names it contains."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    escaped = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    # Older JavaScript grammar treats both as line ends.
    return Markup(escaped.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
