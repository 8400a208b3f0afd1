"""Prior laws of the factor scores."""

from rankfactor.latent.standard_normal import StandardNormal

__all__ = ["StandardNormal"]
