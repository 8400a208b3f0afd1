"""Models by name: the factor models and the baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rankfactor.errors import AUTO, InputError, check_count
from rankfactor.estimators import RankFactorClassifier
from rankfactor.evaluation.adjusted import Adjusted
from rankfactor.evaluation.baselines import (
    RBFSVM,
    LinearSVM,
    NormalScoresPCASVM,
    PFAClassifier,
    RandomForest,
)
from rankfactor.evaluation.choose_settings import ChooseFactors
from rankfactor.presets import PRESETS, code_of

BASELINES: dict[str, Callable[..., Any]] = {
    "PFA-L-BSVM": PFAClassifier,
    "NS-PCA-SVM": NormalScoresPCASVM,
    "L-SVM": LinearSVM,
    "RBF-SVM": RBFSVM,
    "RF": RandomForest,
}


def named_models(
    names: Sequence[str],
    *,
    n_factors: Sequence[int | str] = (20,),
    random_state: int | None = 0,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Estimators of the names given, by code, ready for `cross_validate`.

    Parameters
    ----------
    names : sequence of str
        Presets of `RankFactorClassifier` by code or plain name, and the baselines "PFA-L-BSVM"
        (Poisson factor analysis), "NS-PCA-SVM" (normal scores and principal components), "L-SVM",
        "RBF-SVM" and "RF" (random forest).
    n_factors : sequence of int, or ("auto",)
        Number of factors, or of components of baselines; with several numbers the best is chosen
        within every training part. "auto", parallel analysis of every training part, is for the
        presets only.
    random_state : int or None, default 0
    settings : mapping, optional
        Further arguments of `RankFactorClassifier` for all factor models; ``covariates`` and
        ``covariate_use`` also apply to the baselines.

    Raises
    ------
    InputError
        For an unknown or duplicate name.
    """
    given = dict(settings or {})
    models: dict[str, Any] = {}
    for given_name in names:
        name = code_of(given_name, "models", BASELINES)
        if name in models:
            raise InputError(f"the model {name} is named twice: name it once.")
        own = given if name in PRESETS else {}
        kind = BASELINES.get(name) or partial(RankFactorClassifier, name)
        model = kind(random_state=random_state, **own)
        arguments = model.get_params()
        if name in BASELINES and "n_threads" in arguments:
            model.set_params(n_threads=given.get("n_threads"))
        if "n_factors" in arguments:
            if name in BASELINES and AUTO in n_factors:
                raise InputError(
                    f"n_factors={AUTO!r} is not available for {name}: give a number, or leave "
                    f"{name} out."
                )
            model.set_params(n_factors=n_factors[0])
            if len(n_factors) > 1:
                numbers = tuple(check_count("n_factors", one) for one in n_factors)
                model = ChooseFactors(model, numbers, random_state=random_state)
        if name in BASELINES and given.get("covariates"):
            use = given.get("covariate_use", "regress")
            model = Adjusted(model, given["covariates"], use)
        models[name] = model
    if not models:
        raise InputError("models is empty: give at least one.")
    return models
