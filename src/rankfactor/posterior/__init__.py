"""Result of a fit: predictions, uncertainty and mixing of chains."""

from rankfactor.posterior.classifiers import Classifiers
from rankfactor.posterior.explanation import Explanation
from rankfactor.posterior.posterior import Posterior
from rankfactor.posterior.stability import Stability

__all__ = ["Classifiers", "Explanation", "Posterior", "Stability"]
