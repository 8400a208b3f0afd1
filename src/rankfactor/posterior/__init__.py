"""What a fit leaves: what it predicts, how certain it is and how its chains mixed."""

from rankfactor.posterior.posterior import Classifiers, Posterior

__all__ = ["Classifiers", "Posterior"]
