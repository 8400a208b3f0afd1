"""The three forms of nonlinear classifiers of the models that have a name."""

from __future__ import annotations

from typing import Any

from rankfactor.errors import InputError
from rankfactor.latent import DPMixture, KernelExperts, MixedExperts
from rankfactor.presets import PRESETS, Preset, full_name

EXPERTS = ("auto", "kernel", "mixed", "per_component")


def local_parts(preset: Preset, experts: object, n_components: Any) -> dict[str, Any]:
    """Parts of a `rankfactor.model.Model` that make its classifiers nonlinear, by name.

    Parameters
    ----------
    preset : Preset
    experts : {"auto", "kernel", "mixed", "per_component"}
        "auto" is "kernel" if it improves the prediction of held-out labels. A linear model ignores
        "auto" and "mixed", formerly the default.
    n_components : int
    """
    if experts not in EXPERTS:
        raise InputError(f"experts must be one of {', '.join(EXPERTS)}, not {experts!r}.")
    if preset.linear:
        if experts in ("auto", "mixed"):
            return {}
        names = " or ".join(full_name(name) for name, one in PRESETS.items() if not one.linear)
        raise InputError(f"experts={experts!r} is for nonlinear models: set model to {names}.")
    if experts == "per_component":
        return {"latent": DPMixture(n_components)}
    if experts == "mixed":
        return {"experts": MixedExperts(n_components)}
    return {"experts": KernelExperts(optional=experts == "auto")}
