"""State of the iterations of a variational ascent, and their history."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankfactor.steps.acceleration import Momentum


@dataclass
class Course:
    """State of the iterations of an ascent.

    Attributes
    ----------
    next_turn, wait : int
        The next iteration after which the factors are rotated, and the distance to the one after.
    iteration, first : int
        The next iteration, and the first of this run.
    previous, change : float
        ELBO of the last iteration, and its relative change.
    momentum : Momentum
    """

    next_turn: int
    wait: int
    iteration: int = 0
    first: int = 0
    previous: float = -np.inf
    change: float = np.nan
    momentum: Momentum = field(default_factory=Momentum)


@dataclass
class History:
    """History of the iterations: ELBO, standard deviation of w, number of active factors.

    An iteration is added in one step, so that Ctrl-C leaves whole ones.
    """

    iterations: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def elbo(self) -> list[float]:
        """ELBO of every iteration."""
        return [elbo for elbo, _, _ in self.iterations]

    @property
    def sd_w(self) -> list[float]:
        """Standard deviation of w after every iteration."""
        return [sd_w for _, sd_w, _ in self.iterations]

    @property
    def n_active(self) -> list[int]:
        """Number of active factors after every iteration."""
        return [n_active for _, _, n_active in self.iterations]
