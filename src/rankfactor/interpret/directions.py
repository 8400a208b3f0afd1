"""Direction of factors and features: the class in which each is higher.

The sign of a factor is arbitrary: negating scores, loadings and coefficients gives the same model.
Only the product of a coefficient's sign and a loading's has a meaning. A positive coefficient means
that high scores favour the class of its row, with the other factors held fixed. A factor is called
higher in a class only if the class means of the scores agree. With more than two classes, the
classifier with the largest coefficient represents the task, with stated coefficients preferred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfactor.interpret.selection import shown_factors, task_number
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import assessed, coefficient_certainty, nonzero_coefficients

HELD_FIXED = "other factors held fixed"


@dataclass(frozen=True)
class Direction:
    """Direction of a factor on a task.

    Attributes
    ----------
    factor : int
        Number of the factor, from 0.
    task : str
    classes : tuple of str
        The task's classes.
    positive : int
        The class that a positive coefficient favours.
    coefficient : float
        Per unit of the factor's standard deviation.
    stated : bool
        Whether sentences mention it: the coefficient is clear (`rankfactor.posterior.certainty`)
        or, if stability was not assessed, the posterior separates it from zero.
    agrees : bool
        Whether the class means of the scores differ in the same direction.
    """

    factor: int  # its number, from 0
    task: str
    classes: tuple[str, ...]
    positive: int  # the class that a positive coefficient favours
    coefficient: float  # per unit of the factor's standard deviation
    stated: bool  # whether sentences mention it
    agrees: bool  # whether the class means of the scores differ in the same direction

    @property
    def strength(self) -> float:
        """Strength of the factor: the absolute coefficient."""
        return abs(self.coefficient)

    def high_class(self, sign: int = 1) -> str:
        """Class associated with high values of a feature with this sign on the factor."""
        up = self.coefficient * sign > 0
        name = self.classes[self.positive]
        if len(self.classes) == 2:
            return name if up else self.classes[1 - self.positive]
        return name if up else f"not {name}"

    def in_words(self) -> str:
        """Where the factor is higher, in words."""
        two = len(self.classes) == 2
        word = "higher" if two or self.coefficient > 0 else "lower"
        target = self.high_class() if two else self.classes[self.positive]
        if not self.agrees:
            return f"with the {HELD_FIXED}, {word} values favour {target}"
        return f"{word} in {target}" + ("" if two else " than in the other classes")


def task_directions(posterior: Posterior) -> list[list[Direction]]:
    """Direction of every factor on every task, by factor and then task; empty without labels."""
    classifiers = posterior.classifiers
    directions: list[list[Direction]] = [[] for _ in range(posterior.n_factors)]
    if classifiers is None:
        return directions
    found = coefficient_certainty(posterior)
    every = found.clear if assessed(posterior) else nonzero_coefficients(posterior)
    for number, task in enumerate(classifiers.tasks):
        rows, classes = classifiers.rows_of(number), tuple(str(one) for one in task.classes)
        mean, stated = found.mean[rows], every[rows]
        strongest = np.lexsort((np.abs(mean), stated), axis=0)[-1]
        for k, row in enumerate(strongest.tolist()):
            positive, size = 1 if task.n_rows == 1 else row, float(mean[row, k])
            agrees = bool(posterior.samples.higher[rows][row, k] * size > 0)
            said = bool(stated[row, k])
            one = Direction(k, task.name, classes, positive, size, said, agrees)
            directions[k].append(one)
    return directions


def higher_in(directions: list[Direction], sign: int) -> str:
    """Classes associated with high values of a feature with this sign on the factor, by task.

    "task: class" for every task on which the factor's direction is stated.
    """
    return "; ".join(
        f"{one.task}: {one.high_class(sign)}" + ("" if one.agrees else f" ({HELD_FIXED})")
        for one in directions
        if one.stated
    )


def main_direction(directions: list[Direction]) -> Direction | None:
    """The stated direction with the largest coefficient; None without any."""
    stated = [one for one in directions if one.stated]
    return max(stated, key=lambda one: one.strength, default=None)


def directions_on(posterior: Posterior, task: int | str) -> list[Direction]:
    """Direction of every factor in use on a task, strongest first.

    With more than two classes a factor appears once, with the classifier in which it is strongest;
    stated coefficients are preferred.
    """
    number, every = task_number(posterior, task), task_directions(posterior)
    found = [every[k][number] for k in shown_factors(posterior)]
    return sorted(found, key=lambda one: -one.strength)
