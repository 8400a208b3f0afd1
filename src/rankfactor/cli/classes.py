"""Classes named by options: those to leave out, and the positive ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.cli.settings import class_of_task
from rankfactor.errors import InputError, counted, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Options = Mapping[str, Any]


def dropped_classes(options: Options, tasks: Sequence[str]) -> dict[str, list[str]]:
    """Classes to leave out, by task."""
    dropped: dict[str, list[str]] = {}
    for text in options.get("drop_class") or ():
        task, label = class_of_task("--drop-class", text, tasks)
        dropped.setdefault(task, []).append(label)
    return dropped


def settled_labels(
    labels: pd.DataFrame, sources: Mapping[str, Path], options: Options
) -> tuple[pd.DataFrame, NDArray[np.bool_], list[str]]:
    """Labels after exclusions, a mask of the kept samples, and notes.

    ``sources`` are the files of the tasks. Labels that cannot be classified are refused.
    """
    import numpy as np

    labels, notes = labels.copy(), []
    dropped = dropped_classes(options, list(sources))
    for task, file in sources.items():
        found = labels[task].copy()
        notes += [_without_class(found, label) for label in dropped.get(task, ())]
        _check_classes(file, found)
        labels[task] = found
    kept = np.ones(len(labels), bool)
    if dropped and not (kept := labels.notna().any(axis=1).to_numpy()).all():
        notes.append(f"{counted(int((~kept).sum()), 'sample')} without any label left out.")
        labels = labels[kept]
    notes += [
        f"{missing} of {counted(len(labels), 'sample')} have no label {column!r}; they are "
        "kept, with the label unknown."
        for column, missing in labels.isna().sum().items()
        if missing
    ]
    return labels, kept, notes


def positive_of(labels: pd.DataFrame, options: Options) -> dict[str, str]:
    """Positive class by task, where one was given; unknown classes are refused."""
    from rankfactor.tasks import encode_labels, positive_classes

    positive = dict(
        class_of_task("--positive", text, list(labels.columns))
        for text in options.get("positive") or ()
    )
    if positive:
        positive_classes(encode_labels(labels, len(labels))[0], positive)
    return positive


def choices_of(options: Options, positive: dict[str, str]) -> dict[str, Any]:
    """Options on classes, as stored in a model file."""
    choices = {"drop_class": options.get("drop_class"), "positive": positive}
    return {name: value for name, value in choices.items() if value}


def _without_class(labels: pd.Series[Any], label: str) -> str:
    """Set the labels of a class to unknown, in place, and return a note with their number."""
    chosen = (labels == label).to_numpy()
    if not chosen.any():
        known = sorted(set(labels.dropna()))
        raise InputError(
            f"--drop-class {label} is not a class of {labels.name!r} ({', '.join(known)})."
            f"{did_you_mean(label, known)}"
        )
    labels[chosen] = None
    return f"the class {label!r} of {labels.name!r} is left out: {counted(chosen.sum(), 'sample')}."


def _check_classes(source: Path, labels: pd.Series[Any]) -> None:
    from rankfactor.data.labels import refuse_one_class

    refuse_one_class(labels, source)
    classes, known = labels.nunique(), int(labels.notna().sum())
    if classes > max(20, known // 3):
        raise InputError(
            f"{source}, column {labels.name!r} has {classes} classes for "
            f"{counted(known, 'labelled sample')}: it looks like a measurement or a name, so "
            "choose another column or bin it first."
        )
