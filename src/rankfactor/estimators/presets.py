"""The models that have a name, and the three forms of nonlinear classifiers."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankfactor.errors import InputError
from rankfactor.latent import DPMixture, KernelExperts, MixedExperts


class Preset(NamedTuple):
    """Likelihood of the data, likelihood of the labels, and whether classifiers are linear."""

    data: str
    label: str
    linear: bool


# The paper's names.
PRESETS: dict[str, Preset] = {
    "G-L-Probit": Preset("gaussian", "probit", True),
    "G-L-BSVM": Preset("gaussian", "hinge", True),
    "R-L-BSVM": Preset("margin_rank", "hinge", True),
    "OR-L-Probit": Preset("ordinary_rank", "probit", True),
    "OR-L-BSVM": Preset("ordinary_rank", "hinge", True),
    "G-NL-BSVM": Preset("gaussian", "hinge", False),
    "R-NL-BSVM": Preset("margin_rank", "hinge", False),
}
EXPERTS = ("auto", "kernel", "mixed", "per_component")


def local_parts(preset: Preset, experts: object, n_components: Any) -> dict[str, Any]:
    """Parts of a `rankfactor.model.Model` that make its classifiers nonlinear, by name.

    Parameters
    ----------
    preset : Preset
    experts : {"auto", "kernel", "mixed", "per_component"}
        "auto" is "kernel" where hidden labels gain by it. A linear model ignores "auto" and
        "mixed", once the default.
    n_components : int
    """
    if experts not in EXPERTS:
        raise InputError(f"experts must be one of {', '.join(EXPERTS)}, not {experts!r}.")
    if preset.linear:
        if experts in ("auto", "mixed"):
            return {}
        names = " or ".join(name for name, one in PRESETS.items() if not one.linear)
        raise InputError(f"experts={experts!r} is for nonlinear models: set model to {names}.")
    if experts == "per_component":
        return {"latent": DPMixture(n_components)}
    if experts == "mixed":
        return {"experts": MixedExperts(n_components)}
    return {"experts": KernelExperts(optional=experts == "auto")}
