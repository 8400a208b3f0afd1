"""The scikit-learn face of rankfactor."""

from rankfactor.estimators.analysis import RankFactorAnalysis
from rankfactor.estimators.classifier import RankFactorClassifier
from rankfactor.estimators.presets import PRESETS
from rankfactor.estimators.rank_residuals import RankResiduals

__all__ = ["PRESETS", "RankFactorAnalysis", "RankFactorClassifier", "RankResiduals"]
