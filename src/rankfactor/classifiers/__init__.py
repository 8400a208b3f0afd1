"""Linear, two-part, gated, per-component and kernel classifiers of scores."""

from rankfactor.classifiers.base import Classifier, pull
from rankfactor.classifiers.fitting import begin_classifier, fit_classifier
from rankfactor.classifiers.gated import Gated
from rankfactor.classifiers.kernel import Kernel
from rankfactor.classifiers.linear import Linear
from rankfactor.classifiers.two_part import (
    FirstPart,
    Residual,
    TwoPartFit,
    kernel_part,
    linear_part,
)

__all__ = [
    "Classifier",
    "FirstPart",
    "Gated",
    "Kernel",
    "Linear",
    "Residual",
    "TwoPartFit",
    "begin_classifier",
    "fit_classifier",
    "kernel_part",
    "linear_part",
    "pull",
]
