"""What the models of rankfactor are compared with."""

from rankfactor.baselines.svm import RBFSVM, LinearSVM

__all__ = ["RBFSVM", "LinearSVM"]
