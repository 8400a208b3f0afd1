"""Summary of a table: kinds of features, missing values, ties, possible label columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfactor.data import as_classes
from rankfactor.features.words import is_of_words

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table

KINDS = ("continuous", "counts", "ordinal", "binary", "constant")
MOST_LEVELS = 12  # of an ordinal feature; integers with more levels are counts
MOST_CLASSES = 20  # of a column that could be a label


def describe(
    table: Table, labelled: tuple[pd.DataFrame, pd.DataFrame] | None = None
) -> dict[str, Any]:
    """Summary of a table, as plain values.

    Suspects, columns that separate classes perfectly, are searched among the features for the given
    labels; by default among all columns of numbers or words for the table's own label columns.
    """
    values = table.values.to_numpy()
    names = [str(name) for name in table.values.columns]
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    tied = 0
    for name, column in zip(names, values.T, strict=True):
        levels, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        kinds[kind_of(levels)].append(name)
        tied += int(counts[counts > 1].sum())
    missing = np.isnan(values)
    labels, others = _columns(table.annotations)
    words = [name for name in table.words if is_of_words(table.annotations[name])]
    if labelled is None:
        problems = [
            (table.with_words([one for one in words if one != name]), table.annotations[name])
            for name in labels
        ]
    else:
        problems = [(labelled[0], labelled[1][name]) for name in labelled[1]]
    blocks = {} if table.blocks is None else table.blocks.value_counts(sort=False).to_dict()
    return {
        "n_samples": values.shape[0],
        "n_features": values.shape[1],
        "notes": list(table.notes),
        "features": {
            kind: {"count": len(found), "names": found} for kind, found in kinds.items() if found
        },
        "missing": float(missing.mean()) if missing.size else 0.0,
        "features_with_missing": int(missing.any(axis=0).sum()),
        "samples_all_missing": int(missing.all(axis=1).sum()) if values.shape[1] else 0,
        "ties": tied / max(int((~missing).sum()), 1),
        "blocks": blocks,
        "label_columns": labels,
        "other_columns": others,  # with the reason why they cannot be labels
        "word_columns": words,  # features of a fit, unless the options use them otherwise
        "suspects": [text for problem in problems for text in _suspects(*problem)],
    }


def _suspects(features: pd.DataFrame, labels: pd.Series[Any]) -> Iterator[str]:
    """Sentences on columns that separate classes, and on classes that look the same."""
    from rankfactor.features.suspects import look_alikes, suspects
    from rankfactor.tasks import encode_labels

    tasks, class_index = encode_labels(labels, len(labels))
    yield from look_alikes(tasks[0], class_index[:, 0])
    yield from map(str, suspects(features, tasks, class_index))


def kind_of(levels: Any) -> str:
    """Kind of a feature, from its distinct values in increasing order."""
    if len(levels) < 2:
        return "constant"
    if len(levels) == 2:
        return "binary"
    whole = bool((levels == np.rint(levels)).all())
    if whole and len(levels) <= MOST_LEVELS and levels[-1] - levels[0] < 2 * MOST_LEVELS:
        return "ordinal"
    return "counts" if whole and levels[0] >= 0 else "continuous"


def _columns(annotations: pd.DataFrame) -> tuple[dict[str, Any], dict[str, str]]:
    labels: dict[str, Any] = {}
    others: dict[str, str] = {}
    for name in annotations.columns:
        cells = [one for one in as_classes(annotations[name]) if isinstance(one, str)]
        classes, counts = np.unique(np.array(cells, dtype=object), return_counts=True)
        if len(classes) < 2:
            others[str(name)] = "one value only" if len(classes) else "empty"
        elif len(classes) > min(MOST_CLASSES, max(len(cells) // 2, 2)):
            others[str(name)] = f"{len(classes)} different values, too many for classes"
        else:
            labels[str(name)] = {
                "classes": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
                "missing": len(annotations) - len(cells),
            }
    return labels, others
