"""Names of the decisions, and the classes on either side of zero."""

from __future__ import annotations

from rankfactor.interpret.selection import row_classes
from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior


def row_sides(posterior: Posterior) -> list[dict[str, str]]:
    """Name, left and right class of every decision (classifier row), in their order."""
    assert posterior.classifiers is not None
    found = []
    for task in posterior.classifiers.tasks:
        for label in row_classes(task):
            right = plain(label)
            left = plain(task.classes[0]) if task.n_rows == 1 else f"not {right}"
            found.append({"name": f"{plain(task.name)}: {right}", "left": left, "right": right})
    return found
