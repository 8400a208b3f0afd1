"""What decides: linear, two-part, gated and per-component classifiers of factor scores."""

from rankfactor.classifiers.base import Classifier, pull
from rankfactor.classifiers.fitting import begin_classifier, fit_classifier
from rankfactor.classifiers.gated import Gated
from rankfactor.classifiers.linear import Linear
from rankfactor.classifiers.two_part import Residual, TwoPartFit

__all__ = [
    "Classifier",
    "Gated",
    "Linear",
    "Residual",
    "TwoPartFit",
    "begin_classifier",
    "fit_classifier",
    "pull",
]
