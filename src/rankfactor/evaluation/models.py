"""Models by name: the factor models, and what they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rankfactor.baselines import RBFSVM, LinearSVM
from rankfactor.errors import InputError
from rankfactor.estimators import PRESETS, RankFactorClassifier
from rankfactor.evaluation.adjusted import Adjusted
from rankfactor.evaluation.choose_factors import ChooseFactors

BASELINES: dict[str, Callable[..., Any]] = {"L-SVM": LinearSVM, "RBF-SVM": RBFSVM}


def named_models(
    names: Sequence[str],
    *,
    n_factors: Sequence[int] = (20,),
    random_state: int | None = 0,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Estimators of the names given, ready for `cross_validate`.

    Parameters
    ----------
    names : sequence of str
        Presets of `RankFactorClassifier`, "L-SVM" and "RBF-SVM".
    n_factors : sequence of int
        Factors; with more than one number the best is chosen within every training part.
    random_state : int or None, default 0
    settings : mapping, optional
        Further arguments of `RankFactorClassifier`, for all factor models alike; ``covariates``
        and ``covariate_use`` hold for the others, too.

    Raises
    ------
    InputError
        For a name that there is not, or one given twice.
    """
    known = [*PRESETS, *BASELINES]
    given = dict(settings or {})
    models: dict[str, Any] = {}
    for name in names:
        if name not in known:
            raise InputError(f"models must be among {', '.join(known)}, not {name!r}.")
        if name in models:
            raise InputError(f"the model {name} is named twice: name it once.")
        if name in BASELINES:
            models[name] = BASELINES[name](random_state=random_state)
            if given.get("covariates"):
                use = given.get("covariate_use", "regress")
                models[name] = Adjusted(models[name], given["covariates"], use)
            continue
        model = RankFactorClassifier(
            name, n_factors=n_factors[0], random_state=random_state, **given
        )
        if len(n_factors) > 1:
            model = ChooseFactors(model, tuple(n_factors), random_state=random_state)
        models[name] = model
    if not models:
        raise InputError("models names no model: give at least one.")
    return models
