"""Responsibilities of the local classifiers for the samples."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankfactor.interpret.overview import training_responsibilities
from rankfactor.interpret.selection import classifiers_of, task_number
from rankfactor.plots.style import PALETTE, colour_bar, drawing, shorten, tidy
from rankfactor.posterior import Posterior

# Components with at least this share of the samples' weight are drawn.
_SHOWN = 0.005


def responsibility_figure(posterior: Posterior, task: int | str = 0) -> Figure:
    """Draw the weight of every component for every training sample.

    Parameters
    ----------
    posterior : Posterior
        A nonlinear model.
    task : int or str, default 0
        Task whose classes group the samples.

    Returns
    -------
    Figure
        Columns are samples, grouped by class and, within a class, by their leading component; rows
        are the components with at least 0.5 % of the weight, by size.
    """
    R = training_responsibilities(posterior)
    number, classifiers = task_number(posterior, task), classifiers_of(posterior)
    class_index, part = classifiers.class_index[:, number], classifiers.tasks[number]
    weight = R.mean(axis=0)
    rows = np.argsort(-weight, kind="stable")
    rows = rows[: max(int((weight >= _SHOWN).sum()), 1)]
    # Samples by class, leading component and its weight; samples without a label come last.
    group = np.where(class_index < 0, class_index.max() + 1, class_index)
    order = np.lexsort((-R[:, rows].max(axis=1), R[:, rows].argmax(axis=1), group))
    with drawing(7.4, 1.5 + 0.24 * len(rows)) as figure:
        axes = figure.subplots()
        tidy(axes)
        weights = R[np.ix_(order, rows)].T
        image = axes.imshow(weights, "Blues", aspect="auto", interpolation="none")
        image.set(clim=(0, 1), gid="cells")
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(len(rows)), [f"{t + 1} ({100 * weight[t]:.0f} %)" for t in rows])
        axes.set_ylabel("Component (weight)")
        ticks, names = [], []
        for code in np.unique(class_index[order]):
            where = np.flatnonzero(class_index[order] == code)
            ticks.append(where.mean())
            name = "unknown" if code < 0 else shorten(part.classes[code], 18)
            names.append(f"{name}\n({len(where)})")
            if where[0] > 0:
                axes.axvline(where[0] - 0.5, color=PALETTE[1], linewidth=1.2)
        axes.set_xticks(ticks, names)
        axes.tick_params(length=0)
        colour_bar(figure, image, axes, "Responsibility", location="right", aspect=18, pad=0.02)
        axes.set_title(f"Samples by {shorten(part.name, 40)}")
    return figure
