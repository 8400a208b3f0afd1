"""What decides on factor scores: linear, gated, per-component and kernel classifiers."""

from rankfactor.classifiers.base import Classifier, pull
from rankfactor.classifiers.fitting import begin_classifier, fit_classifier
from rankfactor.classifiers.gated import Gated
from rankfactor.classifiers.kernel import Kernel
from rankfactor.classifiers.linear import Linear

__all__ = ["Classifier", "Gated", "Kernel", "Linear", "begin_classifier", "fit_classifier", "pull"]
