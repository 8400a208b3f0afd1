"""The models that have a name: the paper's codes, and plain words for them.

A code has three parts: the likelihood of the data (R max-margin ranks, G Gaussian, OR ordinary
ranks), linear (L) or nonlinear (NL) decisions, and the classifier (BSVM, a Bayesian support vector
machine, or Probit). Each code has a plain name, which is accepted wherever the code is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rankfactor.errors import InputError, did_you_mean


class Preset(NamedTuple):
    """Likelihood of the data, of the labels, whether classifiers are linear, and a plain name."""

    data: str
    label: str
    linear: bool
    plain: str


PRESETS: dict[str, Preset] = {
    "G-L-Probit": Preset("gaussian", "probit", True, "gaussian-probit"),
    "G-L-BSVM": Preset("gaussian", "hinge", True, "gaussian"),
    "R-L-BSVM": Preset("margin_rank", "hinge", True, "rank"),
    "OR-L-Probit": Preset("ordinary_rank", "probit", True, "ordinary-rank-probit"),
    "OR-L-BSVM": Preset("ordinary_rank", "hinge", True, "ordinary-rank"),
    "G-NL-BSVM": Preset("gaussian", "hinge", False, "gaussian-nonlinear"),
    "R-NL-BSVM": Preset("margin_rank", "hinge", False, "rank-nonlinear"),
}
_CODES = {preset.plain: code for code, preset in PRESETS.items()}


def code_of(name: str, argument: str = "model", others: Iterable[str] = ()) -> str:
    """Code of a model, given by its code or by its plain name.

    Parameters
    ----------
    name : str
    argument : str, default "model"
        What a message calls the name.
    others : iterable of str
        Names beside those of the presets, which are returned as they are.

    Raises
    ------
    InputError
        For any other name; the message lists codes and plain names.
    """
    code = _CODES.get(name, name) if isinstance(name, str) else None
    if code is not None and (code in PRESETS or code in others):
        return code
    known = ", ".join([*map(full_name, PRESETS), *others])
    near = did_you_mean(name, [*PRESETS, *_CODES, *others])
    raise InputError(f"{argument} must be one of {known}, not {name!r}.{near}")


def full_name(code: str) -> str:
    """A code with its plain name, such as "R-L-BSVM (rank)"; other names as they are."""
    return f"{code} ({PRESETS[code].plain})" if code in PRESETS else code


def heading(name: str, data: str) -> str:
    """A code and, if it is not the code's own, the likelihood of the data; other names as they are.

    Such as "R-L-BSVM with ordinal probit".
    """
    if name not in PRESETS or PRESETS[name].data == data:
        return name
    words = {"by_block": "likelihoods by block", "gaussian": "Gaussian"}
    return f"{name} with {words.get(data, data.replace('_', ' '))}"


def name_of_parts(data: str, label: str, linear: bool) -> str:
    """Code and plain name of the model that has these parts; empty if none has."""
    parts = data, label, linear
    return next((full_name(code) for code, one in PRESETS.items() if one[:3] == parts), "")
