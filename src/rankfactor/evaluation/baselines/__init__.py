"""Baselines for the models of rankfactor."""

from rankfactor.evaluation.baselines.forest import RandomForest
from rankfactor.evaluation.baselines.normal_scores import NormalScoresPCASVM
from rankfactor.evaluation.baselines.pfa_classifier import PFAClassifier
from rankfactor.evaluation.baselines.poisson import PoissonFactorAnalysis
from rankfactor.evaluation.baselines.svm import RBFSVM, LinearSVM

__all__ = [
    "RBFSVM",
    "LinearSVM",
    "NormalScoresPCASVM",
    "PFAClassifier",
    "PoissonFactorAnalysis",
    "RandomForest",
]
