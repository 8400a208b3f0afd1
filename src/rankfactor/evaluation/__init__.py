"""How well models predict samples they have not seen: repeated, stratified cross-validation."""

from rankfactor.evaluation.crossvalidation import cross_validate
from rankfactor.evaluation.result import Evaluation

__all__ = ["Evaluation", "cross_validate"]
