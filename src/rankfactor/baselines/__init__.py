"""What the models of rankfactor are compared with."""

from rankfactor.baselines.svm import LinearSVM

__all__ = ["LinearSVM"]
