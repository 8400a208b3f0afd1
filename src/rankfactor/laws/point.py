"""A drawn value in place of its distribution.

Updates are written in expectations, ``E[x]``, ``E[1/x]`` and ``E[log x]``. Variational Bayes takes
those of a conditional distribution; the Gibbs sampler draws from the same distribution and takes
those of the draw. So a conditional is written once, and `settle` is where the two engines differ.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rankfactor.kernels.rng import Stream
from rankfactor.typing import Floats

Law = TypeVar("Law", bound=Any)  # one with a `draw`


@dataclass(frozen=True)
class Point:
    """Known positive values."""

    value: Floats

    @property
    def mean(self) -> Floats:
        """The value."""
        return self.value

    @property
    def inv_mean(self) -> Floats:
        """Its inverse."""
        return np.asarray(1.0 / self.value)

    @property
    def log_mean(self) -> Floats:
        """Its logarithm."""
        return np.asarray(np.log(self.value))


def settle(law: Law, stream: Stream | None, *labels: int | str) -> Law | Point:
    """The law itself or, with a stream, a draw of it; ``labels`` name the variable."""
    return law if stream is None else Point(law.draw(stream.child(*labels)))
