"""Prior laws of the factor scores, and the local classifiers on them."""

from typing import Any

from rankfactor.latent.base import Latent, ScorePrior
from rankfactor.latent.dp_mixture import DPMixture, Mixture
from rankfactor.latent.gates import Gates
from rankfactor.latent.mixed_experts import MixedExperts
from rankfactor.latent.standard_normal import StandardNormal

AnyLatent = Latent
LATENT: dict[str, Any] = {"standard_normal": StandardNormal, "dp_mixture": DPMixture}

__all__ = [
    "LATENT",
    "AnyLatent",
    "DPMixture",
    "Gates",
    "Latent",
    "MixedExperts",
    "Mixture",
    "ScorePrior",
    "StandardNormal",
]
