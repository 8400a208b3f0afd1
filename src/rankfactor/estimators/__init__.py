"""The scikit-learn interface of rankfactor.

Names are imported on first use: the command line fits without scikit-learn.
"""

from rankfactor.lazy import importer

TYPE_CHECKING = False  # known to type checkers; avoids importing typing
if TYPE_CHECKING:
    from rankfactor.estimators.rank_residuals import RankResiduals
    from rankfactor.estimators.scikit_learn import RankFactorAnalysis, RankFactorClassifier
    from rankfactor.presets import PRESETS

_HOMES = {
    "PRESETS": "presets",
    "RankFactorAnalysis": "scikit_learn",
    "RankFactorClassifier": "scikit_learn",
    "RankResiduals": "rank_residuals",
}

__all__ = ["PRESETS", "RankFactorAnalysis", "RankFactorClassifier", "RankResiduals"]


__getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
