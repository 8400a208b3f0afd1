"""What the models of rankfactor are compared with."""

from rankfactor.baselines.forest import RandomForest
from rankfactor.baselines.normal_scores import NormalScoresPCASVM
from rankfactor.baselines.pfa_classifier import PFAClassifier
from rankfactor.baselines.poisson import PoissonFactorAnalysis
from rankfactor.baselines.svm import RBFSVM, LinearSVM

__all__ = [
    "RBFSVM",
    "LinearSVM",
    "NormalScoresPCASVM",
    "PFAClassifier",
    "PoissonFactorAnalysis",
    "RandomForest",
]
