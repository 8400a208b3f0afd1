"""The scikit-learn face of rankfactor."""

from rankfactor.estimators.analysis import RankFactorAnalysis
from rankfactor.estimators.classifier import PRESETS, RankFactorClassifier

__all__ = ["PRESETS", "RankFactorAnalysis", "RankFactorClassifier"]
