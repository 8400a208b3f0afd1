"""Table 3: handwritten 3 against 5 of MNIST, 11,552 training and 1,902 test images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankfactor.data.collection import load
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.paper import MNIST
from rankfactor.experiments.pictures import Fits, Pictures, digit_pictures
from rankfactor.experiments.split import run_split

MODELS = tuple(MNIST)

IMAGE = (28, 28)


def run(models: Sequence[str] = MODELS, **settings: Any) -> Outcome:
    """Run the experiment; settings as for `rankfactor.experiments.split.run_split`."""
    title = "MNIST 3 vs. 5: test error (paper: Table 3)"
    return run_split("mnist", title, load("mnist_3v5"), MNIST, models=models, **settings)


def pictures(fits: Fits) -> Pictures:
    """Loadings of the supplement's four models as images."""
    return digit_pictures("mnist", "MNIST 3 vs. 5", load("mnist_3v5"), IMAGE, fits)
