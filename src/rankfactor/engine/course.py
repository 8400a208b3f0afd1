"""`Course`: state of the iterations of a variational ascent."""

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
