"""How well models predict samples they have not seen: repeated, stratified cross-validation.

Names are imported on first use: a fit on the command line needs none of the baselines.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it, without the time that importing typing takes
if TYPE_CHECKING:
    from rankfactor.evaluation.choose_settings import ChooseFactors
    from rankfactor.evaluation.crossvalidation import cross_validate
    from rankfactor.evaluation.models import named_models
    from rankfactor.evaluation.result import Evaluation

_HOMES = {
    "ChooseFactors": "choose_settings",
    "Evaluation": "result",
    "cross_validate": "crossvalidation",
    "named_models": "models",
}

__all__ = ["ChooseFactors", "Evaluation", "cross_validate", "named_models"]


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rankfactor.evaluation' has no attribute {name!r}")
    value: object = getattr(import_module(f"rankfactor.evaluation.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
