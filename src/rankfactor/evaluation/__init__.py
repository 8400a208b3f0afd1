"""How well models predict samples they have not seen: repeated, stratified cross-validation."""

from rankfactor.evaluation.choose_settings import ChooseFactors
from rankfactor.evaluation.crossvalidation import cross_validate
from rankfactor.evaluation.models import named_models
from rankfactor.evaluation.result import Evaluation

__all__ = ["ChooseFactors", "Evaluation", "cross_validate", "named_models"]
