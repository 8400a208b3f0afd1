"""Kernel experts: the hyper-parameters of a classifier with a radial kernel on the scores.

The scores keep their standard normal prior. After the factors are fitted, one classifier is fitted
to the label-free scores, the sum of a linear and a smooth function
(`rankfactor.classifiers.kernel`). Width, precision and the metric of the kernel are chosen on
held-out labels (`rankfactor.classifiers.kernel_choice`).
"""

from dataclasses import dataclass
from typing import ClassVar

from rankfactor.errors import InputError, check_count, check_positive


@dataclass(frozen=True)
class KernelExperts:
    """A classifier with a radial kernel on label-free scores.

    Attributes
    ----------
    n_landmarks : int
        Maximum number of landmarks of the kernel, at most half the number of samples.
    linear : float
        Prior variance of the linear part relative to that of the kernel's part, for scores whose
        squared length is 1 on average.
    rounds : int
        Maximum number of rounds of the metric: each weights the directions of the scores by how
        much the decision of the round before changes along them.
    optional : bool
        Whether the model becomes a linear one, with its own training, if a kernel on label-free
        scores does not predict held-out labels clearly better than a linear classifier on them.
    """

    n_landmarks: int = 300
    linear: float = 1.0
    rounds: int = 2
    optional: bool = False

    # A kernel has no regions, and predictive training follows a linear classifier.
    n_components: ClassVar[None] = None
    gradient: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        check_count("n_landmarks", self.n_landmarks)
        check_positive("linear", self.linear)
        if not (isinstance(self.rounds, int) and self.rounds >= 0):
            raise InputError(f"rounds must be a whole number of at least 0, not {self.rounds!r}.")
