"""`pinned`: an estimator that fits the same model to fewer samples.

What "auto" comes to depends on the size of a table: the number of factors, the margin, the
training, whether decisions have a second part, and how a nonlinear model decides. A fit to half of
the samples must not choose again, or it would be a fit of another model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankfactor.engine.chain import Gibbs
from rankfactor.errors import AUTO, InputError
from rankfactor.estimators.base import FactorModel
from rankfactor.estimators.classifier import PlainClassifier
from rankfactor.estimators.presets import PRESETS
from rankfactor.latent import KernelExperts
from rankfactor.model import Model
from rankfactor.posterior import Posterior


def pinned(estimator: FactorModel, posterior: Posterior) -> dict[str, Any]:
    """Arguments that make an estimator fit the model of a posterior, without calibration.

    Parameters
    ----------
    estimator : RankFactorClassifier or RankFactorAnalysis
        As the posterior was fitted with.
    posterior : Posterior
        What it was fitted to all samples.
    """
    engine = estimator.engine
    if isinstance(engine, Gibbs):  # files of the fit to all samples are its own
        engine = replace(engine, checkpoint=None, store=None)
    arguments: dict[str, Any] = {
        "n_factors": posterior.n_factors,
        "likelihood": posterior.model.data,  # with the margin that "auto" came to
        "engine": engine,
        "checkpoint": None,
        "progress": None,
    }
    if not isinstance(estimator, PlainClassifier) or posterior.classifiers is None:
        return arguments
    return arguments | {
        "model": _linear(estimator.model) if posterior.model.linear else estimator.model,
        "classifier": posterior.model.label,
        "experts": _experts(posterior.model),
        "training": posterior.training,
        "residual": posterior.classifiers.residual is not None,
        "label_weight": _label_weight(estimator, posterior),
        "calibration": "none",
    }


def _linear(name: str) -> str:
    """A linear model in place of one whose kernel was not worth having; its parts are given."""
    return name if PRESETS[name].linear else "R-L-BSVM"


def _experts(model: Model) -> str:
    """How a nonlinear model decides; "auto" for a linear one, which ignores it."""
    if model.latent.n_components is not None:
        return "per_component"
    if model.experts is None:
        return AUTO
    return "kernel" if isinstance(model.experts, KernelExperts) else "mixed"


def _label_weight(estimator: PlainClassifier, posterior: Posterior) -> Any:
    """The weight that predictive training had; of other training the argument."""
    if estimator.label_weight != AUTO:
        return estimator.label_weight
    if posterior.training != "predictive":
        return 1.0  # which no other training looks at
    found = getattr(estimator, "label_weight_", None)
    if found is None:
        raise InputError(
            "which label_weight='auto' chose is known to the fitted estimator alone: give that "
            "one, or set label_weight to a number."
        )
    return found
