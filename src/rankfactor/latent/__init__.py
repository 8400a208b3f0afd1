"""Priors of the factor scores, and the local classifiers on them."""

from rankfactor.latent.base import InBasis, Latent, ScorePrior
from rankfactor.latent.dp_mixture import DPMixture, Mixture
from rankfactor.latent.gates import Gates
from rankfactor.latent.kernel_experts import KernelExperts
from rankfactor.latent.mixed_experts import MixedExperts
from rankfactor.latent.standard_normal import StandardNormal

LATENT = Latent.choices

__all__ = [
    "LATENT",
    "DPMixture",
    "Gates",
    "InBasis",
    "KernelExperts",
    "Latent",
    "MixedExperts",
    "Mixture",
    "ScorePrior",
    "StandardNormal",
]
