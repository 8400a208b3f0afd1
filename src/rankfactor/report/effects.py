"""Effects of the features on the decisions: the ten largest, and all of them for the script."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.interpret.effects import effect_table, has_effects
from rankfactor.interpret.wording import number, plain
from rankfactor.posterior import Posterior
from rankfactor.report.labels import SPREAD
from rankfactor.report.page_tables import Table, table_of
from rankfactor.report.sides import row_sides

LEADING = 10  # features of a task's card
_LEADING_OF_MANY = 5  # per class if a task has more than two
STATIC = 25  # features of the table for readers without JavaScript
_MOST_NUMBERS = 120_000  # features x decisions in the page; beyond, the largest effects are kept


def effect_frame(posterior: Posterior) -> pd.DataFrame | None:
    """Effects of all features in the model (`effect_table`); None for a model without any."""
    if posterior.classifiers is None or not has_effects(posterior):
        return None
    return effect_table(posterior)


def by_row(posterior: Posterior, frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of every decision, in the order of the classifier rows, largest effect first."""
    parts = dict(iter(frame.groupby(["task", "class"], sort=False)))
    assert posterior.classifiers is not None
    keys = [
        (task.name, str(label))
        for task in posterior.classifiers.tasks
        for label in task.classes[-task.n_rows :]
    ]
    return [parts[key] for key in keys]


def drivers(posterior: Posterior, frame: pd.DataFrame, task: int) -> list[dict[str, Any]]:
    """Features with the largest effects on each decision of a task.

    Each has ``left`` and ``right`` (classes), and ``features``: name, ``share`` (of the largest
    effect, signed), ``effect``, ``probability``, ``selected`` and ``is_clear`` (None if not
    assessed).
    """
    assert posterior.classifiers is not None
    rows = posterior.classifiers.rows_of(task)
    parts, sides = by_row(posterior, frame)[rows], row_sides(posterior)[rows]
    count = LEADING if len(parts) == 1 else _LEADING_OF_MANY
    found = []
    for part, side in zip(parts, sides, strict=True):
        lines = part[part["effect"] != 0].head(count).to_dict("records")
        longest = max((abs(line["effect"]) for line in lines), default=1.0)
        found.append({**side, "features": [_driver(line, longest, side) for line in lines]})
    return found


def _driver(line: dict[Hashable, Any], longest: float, side: dict[str, str]) -> dict[str, Any]:
    effect, chance = float(line["effect"]), 100 * float(line["probability"])
    share, clear = float(line["selected"]), line["clear"]
    return {
        "name": plain(line["feature"]),
        "share": effect / longest,
        "effect": ("+" if effect > 0 else "") + number(effect),
        "towards": side["right"] if effect > 0 else side["left"],
        "probability": ("+" if chance >= 0.5 else "") + number(chance, 0),
        "selected": f"{number(100 * share, 0)} %" if share == share else "",
        "is_clear": None if clear is pd.NA else bool(clear),
    }


def effects_data(posterior: Posterior, frame: pd.DataFrame, assessed: bool) -> dict[str, Any]:
    """Effects of all features on all decisions, for the table of the page.

    Returns
    -------
    dict
        ``features``, ``first`` and ``third`` (quartiles), ``assessed``, ``selected`` (whether by
        half-sample fits), ``spread`` (heading), ``caption`` and ``rows``: for every decision
        ``name``, ``left``, ``right``, ``largest``, ``order`` (features by the size of the effect),
        ``effect``, ``probability`` and, if assessed, ``sd``, ``selected`` (per cent) and ``clear``,
        by feature.
    """
    parts = by_row(posterior, frame)
    kept = _kept(parts)
    shared = parts[0].set_index("feature").reindex(kept)
    rows = []
    for part, side in zip(parts, row_sides(posterior), strict=True):
        own = part.set_index("feature").reindex(kept)
        effect = own["effect"].to_numpy(float)
        row: dict[str, Any] = {
            **side,
            "largest": float(f"{np.abs(effect).max():.4g}") or 1.0,
            "order": np.argsort(-np.abs(effect), kind="stable").tolist(),
            "effect": digits(own["effect"]),
            "probability": digits(own["probability"]),
        }
        if assessed:
            row |= {
                "sd": digits(own["sd"]),
                "clear": own["clear"].fillna(False).astype(int).tolist(),
            }
        if posterior.stability is not None:
            row["selected"] = digits(100 * own["selected"].astype(float), 3)
        rows.append(row)
    return {
        "features": [plain(name) for name in kept],
        "first": digits(shared["from"]),
        "third": digits(shared["to"]),
        "assessed": assessed,
        "selected": posterior.stability is not None,
        "spread": SPREAD,
        "caption": caption(len(kept), len(parts[0])),
        "rows": rows,
    }


def leading_tables(posterior: Posterior, frame: pd.DataFrame, assessed: bool) -> list[Table]:
    """The largest effects on every decision, for readers without JavaScript."""
    names = ["feature", "effect", "probability", "from", "to"]
    names += ["sd"] if assessed else []
    names += ["selected"] if posterior.stability is not None else []
    names += ["clear"] if assessed else []
    tables = []
    for part, side in zip(by_row(posterior, frame), row_sides(posterior), strict=True):
        shown = part.head(STATIC)
        if assessed:
            words = np.where(shown["clear"].fillna(False), "yes", "no")
            shown = shown.assign(clear=words, selected=100 * shown["selected"].astype(float))
        said = (
            f"{side['name']}: negative effects favour {side['left']}, positive ones "
            f"{side['right']}. {caption(len(shown), len(part))}"
        )
        tables.append(table_of(shown, names, "effects", said))
    return tables


def caption(n_shown: int, n_all: int) -> str:
    """Caption of the table of effects: what it shows, and for how many features."""
    which = (
        f"All {n_all} features."
        if n_shown == n_all
        else (f"The {n_shown} of {n_all} features with the largest effects.")
    )
    return (
        f"{which} Effect: change of the decision when the feature moves from its first to its "
        "third quartile. Change of probability: the same for the probability of the class."
    )


def _kept(parts: list[pd.DataFrame]) -> list[str]:
    """Features shown in the page: all, or those with the largest effect on any decision."""
    names = parts[0]["feature"].tolist()
    most = max(_MOST_NUMBERS // len(parts), LEADING)
    if len(names) <= most:
        return names
    size = pd.concat([part.set_index("feature")["effect"].abs() for part in parts], axis=1)
    largest = size.max(axis=1).sort_values(ascending=False, kind="stable")
    return largest.index[:most].tolist()


def digits(values: pd.Series[Any], count: int = 4) -> list[float | None]:
    """Numbers rounded to some significant digits; None where unknown."""
    return [None if one != one else float(f"{one:.{count}g}") for one in values.astype(float)]
