"""`pinned`: an estimator that fits the same model to fewer samples.

Choices of "auto" depend on the size of a table: the number of factors, the margin, the training,
whether decisions have a residual part, and how a nonlinear model decides. A half-sample fit must
not choose again, or it would fit another model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankfactor.engine.chain import Gibbs
from rankfactor.errors import AUTO, InputError
from rankfactor.estimators.base import FactorModel
from rankfactor.estimators.classifier import PlainClassifier
from rankfactor.latent import KernelExperts
from rankfactor.model import Model
from rankfactor.posterior import Posterior
from rankfactor.presets import PRESETS, code_of


def pinned(estimator: FactorModel, posterior: Posterior) -> dict[str, Any]:
    """Arguments that make an estimator fit the model of a posterior, without calibration.

    Parameters
    ----------
    estimator : RankFactorClassifier or RankFactorAnalysis
        The estimator that produced the posterior.
    posterior : Posterior
        Its fit to all samples.
    """
    engine = estimator.engine
    if isinstance(engine, Gibbs):  # files of the full fit must not be reused
        engine = replace(engine, checkpoint=None, store=None)
    arguments: dict[str, Any] = {
        "n_factors": posterior.n_factors,
        "likelihood": posterior.model.data,  # with the margin chosen by "auto"
        "engine": engine,
        "checkpoint": None,
        "progress": None,
    }
    if not isinstance(estimator, PlainClassifier) or posterior.classifiers is None:
        return arguments
    name = code_of(estimator.model)
    return arguments | {
        "model": _linear(name) if posterior.model.linear else name,
        "classifier": posterior.model.label,
        "experts": _experts(posterior.model),
        "training": posterior.training,
        "residual": posterior.classifiers.residual is not None,
        "label_weight": _label_weight(estimator, posterior),
        "calibration": "none",
    }


def _linear(name: str) -> str:
    """A linear model if the kernel was rejected; its parts are given."""
    return name if PRESETS[name].linear else "R-L-BSVM"


def _experts(model: Model) -> str:
    """How a nonlinear model decides; "auto" for a linear one, which ignores it."""
    if model.latent.n_components is not None:
        return "per_component"
    if model.experts is None:
        return AUTO
    return "kernel" if isinstance(model.experts, KernelExperts) else "mixed"


def _label_weight(estimator: PlainClassifier, posterior: Posterior) -> Any:
    """The weight used by predictive training; the argument for other training."""
    if estimator.label_weight != AUTO:
        return estimator.label_weight
    if posterior.training != "predictive":
        return 1.0  # unused by other training
    found = getattr(estimator, "label_weight_", None)
    if found is None:
        raise InputError(
            "only the fitted estimator knows which label_weight='auto' was chosen: give that "
            "estimator, or set label_weight to a number."
        )
    return found
