"""Whether a model's uncertainty was assessed: by half-sample fits or by draws."""

from __future__ import annotations

from rankfactor.posterior import Posterior


def assessed(posterior: Posterior) -> bool:
    """Whether anything of the model may be called clear."""
    return posterior.draws is not None or getattr(posterior, "stability", None) is not None
