"""What decides on factor scores: linear, gated and per-component classifiers."""

from rankfactor.classifiers.base import Classifier, pull
from rankfactor.classifiers.fitting import begin_classifier, fit_classifier
from rankfactor.classifiers.gated import Gated
from rankfactor.classifiers.linear import Linear

__all__ = ["Classifier", "Gated", "Linear", "begin_classifier", "fit_classifier", "pull"]
