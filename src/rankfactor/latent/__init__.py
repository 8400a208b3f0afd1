"""Prior laws of the factor scores, and the local classifiers on them."""

from typing import Any

from rankfactor.latent.gates import Gates
from rankfactor.latent.mixed_experts import MixedExperts
from rankfactor.latent.standard_normal import StandardNormal

AnyLatent = StandardNormal
LATENT: dict[str, Any] = {"standard_normal": StandardNormal}

__all__ = ["LATENT", "AnyLatent", "Gates", "MixedExperts", "StandardNormal"]
