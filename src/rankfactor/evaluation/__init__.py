"""Cross-validation, baselines and stability of models.

Names are imported on first use: a fit on the command line needs none of the baselines.
"""

from rankfactor.lazy import importer

TYPE_CHECKING = False  # known to type checkers; avoids importing typing
if TYPE_CHECKING:
    from rankfactor.evaluation.choose_settings import ChooseFactors
    from rankfactor.evaluation.crossvalidation import cross_validate
    from rankfactor.evaluation.half_samples import stability
    from rankfactor.evaluation.models import named_models
    from rankfactor.evaluation.result import Evaluation

_HOMES = {
    "ChooseFactors": "choose_settings",
    "Evaluation": "result",
    "cross_validate": "crossvalidation",
    "named_models": "models",
    "stability": "half_samples",
}

__all__ = ["ChooseFactors", "Evaluation", "cross_validate", "named_models", "stability"]


__getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
