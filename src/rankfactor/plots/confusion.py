"""Confusion matrix of held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rankfactor.interpret.held_out import confusion_table
from rankfactor.interpret.wording import number
from rankfactor.plots.style import FAINT, INK, MUTED, PALETTE, drawing, shorten
from rankfactor.posterior import Posterior
from rankfactor.tasks import Task

# With more classes there is no room for a number in every cell.
_MOST_TOLD = 12
_DARKEST = 0.55  # share of the colour in a full cell; text stays readable on it


def confusion_figure(
    decisions: pd.DataFrame,
    task: str,
    *,
    model: str | None = None,
    tasks: Posterior | Sequence[Task] | None = None,
) -> Figure:
    """Draw the confusion matrix of held-out samples.

    The shade of a cell is its share of the true class; its numbers are samples (means over repeats)
    and, with up to four classes, that share. Correct predictions are framed.

    Parameters
    ----------
    decisions : DataFrame
        Out-of-fold decisions with the column ``predicted``, as in
        `rankfactor.evaluation.Evaluation.decisions`.
    task : str
    model : str, optional
        By default the first model of the task.
    tasks : Posterior or sequence of Task, optional
        Gives the order of the classes; by default they are sorted.
    """
    counts = confusion_table(decisions, task, model=model, tasks=tasks)
    shares = confusion_table(decisions, task, model=model, tasks=tasks, shares=True)
    samples, parts = counts.to_numpy(float), shares.to_numpy(float)
    n = len(counts)
    size = min(0.75, 3.0 / n)
    length = 16 if n <= 6 else 11
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": INK}
    style["fontsize"] = 9 if n <= 6 else 7
    with drawing(4.3, n * size + 1.0) as figure:
        axes = figure.subplots()
        for row in range(n):
            for column in range(n):
                share, count = float(parts[row, column]), float(samples[row, column])
                corner = (column - 0.5, row - 0.5)
                axes.add_patch(_cell(corner, share, row == column))
                if count and n <= _MOST_TOLD:
                    text = number(count, 0 if count == round(count) else 1)
                    text += f"\n{100 * share:.0f} %" if n <= 4 else ""
                    axes.text(column, row, text, style)
        names = [shorten(label, length) for label in counts.index]
        axes.set(xlim=(-0.55, n - 0.45), ylim=(n - 0.45, -0.55), aspect="equal")
        axes.set_yticks(range(n), names)
        below = [shorten(name, 10) for name in counts.columns] if n <= 3 else names
        axes.set_xticks(range(n), below, rotation=0 if n <= 3 else 90)
        axes.tick_params(length=0, labelsize=8.5 if n <= 15 else 6, labelcolor=INK)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("Predicted class", color=MUTED)
        axes.set_ylabel("True class", color=MUTED)
    return figure


def _cell(corner: tuple[float, float], share: float, right: bool) -> Rectangle:
    fill = to_rgba(PALETTE[0], _DARKEST * share if share == share else 0.0)
    edge, width = (MUTED, 1.4) if right else (FAINT, 0.6)
    zorder = 2 if right else 1
    return Rectangle(corner, 1, 1, facecolor=fill, edgecolor=edge, linewidth=width, zorder=zorder)
