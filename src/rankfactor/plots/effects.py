"""Effects of features on decisions, and contributions to the decision of one sample."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankfactor.errors import check_count
from rankfactor.interpret.effects import effect_table
from rankfactor.interpret.selection import classifiers_of, number_of, task_number
from rankfactor.interpret.wording import number, plain
from rankfactor.plots.coefficients import name_sides, side_colours
from rankfactor.plots.style import (
    MUTED,
    PALETTE,
    UNCLEAR,
    drawing,
    name_rows,
    shorten,
    tidy,
)
from rankfactor.posterior import Explanation, Posterior
from rankfactor.typing import Floats


def effect_figure(posterior: Posterior, task: int | str = 0, *, n_features: int = 10) -> Figure:
    """Draw the features with the largest effects on the decisions of a task.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.
    task : int or str, default 0
        Number or name of the task.
    n_features : int, default 10
        Features shown for each class.

    Returns
    -------
    Figure
        One panel for two classes, else one per class: the change of the decision when the feature
        moves from its first to its third quartile. Bars to the right favour the class named there.
        If stability was assessed, lines show ±1 standard deviation, effects that are not clear are
        grey, and the share of half-sample fits in which the feature is among the leading ones is
        printed at the right.
    """
    check_count("n_features", n_features)
    place = task_number(posterior, task)
    own = classifiers_of(posterior).tasks[place]
    table = effect_table(posterior)
    table = table[table["task"] == own.name]
    groups = [part.head(n_features) for _, part in table.groupby("class", sort=False)]
    rows = max(len(part) for part in groups)
    across = min(len(groups), 3)
    down = -(-len(groups) // across)
    with drawing(5.4 if across == 1 else 3.6 * across, down * (0.9 + 0.235 * rows)) as figure:
        panels = figure.subplots(down, across, squeeze=False).flat
        for row, axes in enumerate(panels):
            if row >= len(groups):
                axes.set_visible(False)
                continue
            part, known = groups[row], bool(groups[row]["clear"].notna().all())
            left, right = side_colours(own, row)
            effect, clear = part["effect"].to_numpy(), part["clear"].fillna(value=True)
            fill = np.where(clear.to_numpy(bool), np.where(effect > 0, right, left), UNCLEAR)
            spread = part["sd"].to_numpy() if known else None
            ends = [plain(f"{100 * one:.0f} %") for one in part["selected"] if np.isfinite(one)]
            _bars(axes, part["feature"].tolist(), effect, fill.tolist(), spread, ends)
            axes.set_xlabel("Effect on the decision")
            name_sides(axes, own, row)
    return figure


def contribution_figure(
    explanation: Explanation, sample: object = 0, *, n_features: int = 10
) -> Figure:
    """Draw the contributions to the decision of one sample as a waterfall plot.

    Parameters
    ----------
    explanation : Explanation
        One of the explanations returned by `Posterior.explain`.
    sample : int or name, default 0
        The sample, by its number or its name.
    n_features : int, default 10
        Features with the largest contributions to show; the others are summed.

    Returns
    -------
    Figure
        From the base value at the top to the decision at the bottom; each bar starts where the one
        above it ended.
    """
    check_count("n_features", n_features)
    names = [str(name) for name in explanation.sample_names]
    given = sample if isinstance(sample, int) else str(sample)
    n = number_of("sample", given, names, "")
    values = explanation.values[n]
    order = np.argsort(-np.abs(values), kind="stable")
    first, rest = order[:n_features], order[n_features:]
    steps = np.append(values[first], [values[rest].sum()] if len(rest) else [])
    labels = [
        f"{shorten(explanation.feature_names[i], 26)} = {_value(explanation.data[n, i])}"
        for i in first
    ]
    if len(rest):
        labels.append(f"{len(rest)} other features")
    base = float(explanation.base_values[n])
    starts = base + np.cumsum(steps) - steps
    with drawing(5.6, 0.9 + 0.235 * (len(steps) + 2)) as figure:
        axes = figure.subplots()
        tidy(axes)
        places = 1 + np.arange(len(steps))
        colours = [PALETTE[int(step > 0)] for step in steps]
        axes.barh(places, steps, left=starts, height=0.62, color=colours, gid="contributions")
        for place, start, step in zip(places, starts, steps, strict=True):
            axes.annotate(
                f"{'+' if step > 0 else ''}{number(step)}",
                (max(start, start + step), place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        decision = base + float(steps.sum())
        for value, row in ((base, 0), (decision, len(steps) + 1)):
            axes.plot(value, row, "D", color=MUTED, markersize=5)
        axes.axvline(0, color=MUTED, linewidth=0.8, zorder=0)
        name_rows(axes, [f"Base {number(base)}", *labels, f"Decision {number(decision)}"])
        axes.margins(x=0.12)
        axes.set_xlabel(f"Decision: {plain(explanation.output_name)}")
        axes.set_title(shorten(names[n], 40), loc="left")
    return figure


def _bars(
    axes: Axes,
    names: list[str],
    values: Floats,
    colours: list[str],
    spread: Floats | None,
    ends: list[str],
) -> None:
    """Signed bars around zero, with a text at the right of each."""
    tidy(axes)
    axes.barh(range(len(values)), values, height=0.62, color=colours, gid="effects")
    reach = np.abs(values)
    if spread is not None:
        low, high = values - spread, values + spread
        axes.hlines(range(len(values)), low, high, color=MUTED, linewidth=1.0, zorder=3)
        reach = reach + spread
    limit = 1.06 * float(reach.max(initial=0.0)) or 1.0
    axes.set_xlim(-limit, limit)
    axes.axvline(0, color=MUTED, linewidth=0.9)
    name_rows(axes, [shorten(name, 26) for name in names])
    for place, text in enumerate(ends):
        axes.annotate(
            text,
            (1.0, place),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=MUTED,
        )


def _value(value: float) -> str:
    return "missing" if np.isnan(value) else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
