"""Table 2: handwritten 3 against 5 of USPS, 767 training and 773 test images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankfactor.data.collection import load
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.paper import USPS
from rankfactor.experiments.pictures import Fits, Pictures, digit_pictures
from rankfactor.experiments.split import run_split

# The paper's seven, then models that it did not run on these data.
MODELS = (*USPS, "PFA-L-BSVM", "NS-PCA-SVM", "L-SVM", "RBF-SVM", "RF")

IMAGE = (16, 16)


def run(models: Sequence[str] = MODELS, **settings: Any) -> Outcome:
    """Run the experiment; settings as for `rankfactor.experiments.split.run_split`."""
    title = "USPS 3 vs. 5: test error (paper: Table 2)"
    return run_split("usps", title, load("usps_3v5"), USPS, models=models, **settings)


def pictures(fits: Fits) -> Pictures:
    """Loadings of the supplement's four models as images."""
    return digit_pictures("usps", "USPS 3 vs. 5", load("usps_3v5"), IMAGE, fits)
