"""Which local classifiers answer for which samples: responsibilities of the components."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankfactor.errors import InputError
from rankfactor.plots.select import classifiers_of, task_number
from rankfactor.plots.style import (
    INK,
    PALETTE,
    Floats,
    Integers,
    figure_style,
    finish,
    new_figure,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior

# A component is drawn if it has this share of the samples' weight at least.
_SHOWN = 0.005


def has_components(posterior: Posterior) -> bool:
    """Whether the model has local classifiers."""
    return posterior.classifiers is not None and posterior.classifiers.experts is not None


def training_responsibilities(posterior: Posterior) -> Floats:
    """Weights of the local classifiers for the training samples, shape (N, T), rows adding to 1.

    Raises
    ------
    InputError
        If the model is linear.
    """
    experts = None if posterior.classifiers is None else posterior.classifiers.experts
    if experts is None:
        raise InputError("a linear model has no components: choose a nonlinear one.")
    posterior.check_samples("responsibilities of training samples to draw")
    return experts.gates.responsibilities(posterior.scores.mean)


def responsibility_figure(posterior: Posterior, task: int | str = 0) -> Figure:
    """Draw the weight of every component for every training sample.

    Parameters
    ----------
    posterior : Posterior
        Of a nonlinear model.
    task : int or str, default 0
        Task by whose classes the samples are grouped.

    Returns
    -------
    Figure
        Columns are samples, grouped by class and, within one, by their leading component; rows are
        the components that have at least 0.5 % of the weight, by size.

    Raises
    ------
    InputError
        If the model is linear.
    """
    R = training_responsibilities(posterior)
    number = task_number(posterior, task)
    classifiers = classifiers_of(posterior)
    class_index = classifiers.class_index[:, number]
    part = classifiers.tasks[number]
    weight = R.mean(axis=0)
    rows = np.argsort(-weight, kind="stable")
    rows = rows[: max(int((weight >= _SHOWN).sum()), 1)]
    order = _order(class_index, R[:, rows])
    with figure_style():
        figure = new_figure(7.4, 1.5 + 0.24 * len(rows))
        axes = figure.subplots()
        tidy(axes)
        image = axes.imshow(
            R[np.ix_(order, rows)].T,
            cmap="Blues",
            vmin=0,
            vmax=1,
            aspect="auto",
            interpolation="none",
            gid="cells",
        )
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(len(rows)), [f"{t + 1} ({100 * weight[t]:.0f} %)" for t in rows])
        axes.set_ylabel("Component (weight)")
        sorted_classes = class_index[order]
        ticks, names = [], []
        for code in np.unique(sorted_classes):
            where = np.flatnonzero(sorted_classes == code)
            ticks.append(where.mean())
            name = "unknown" if code < 0 else shorten(part.classes[code], 18)
            names.append(f"{name}\n({len(where)})")
            if where[0] > 0:
                axes.axvline(where[0] - 0.5, color=PALETTE[1], linewidth=1.2)
        axes.set_xticks(ticks, names)
        axes.tick_params(length=0)
        bar = figure.colorbar(image, ax=axes, location="right", aspect=18, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8, length=2)
        bar.set_label("Responsibility", color=INK)
        axes.set_title(f"Samples by {shorten(part.name, 40)}")
        return finish(figure)


def _order(class_index: Integers, R: Floats) -> Integers:
    """Samples by class, leading component and its weight."""
    lead = R.argmax(axis=1)
    # Samples without a label come last.
    group = np.where(class_index < 0, class_index.max() + 1, class_index)
    return np.asarray(np.lexsort((-R.max(axis=1), lead, group)))
