"""Checked labels, the settings of a fit, and the resolution of "auto"."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.chain import Gibbs
from rankfactor.engine.predictive import Predictive, why_not_predictive
from rankfactor.engine.vb import Progress, Settings
from rankfactor.errors import AUTO
from rankfactor.latent import KernelExperts
from rankfactor.model import Model
from rankfactor.tasks import Task
from rankfactor.typing import Floats

DEFAULT_PREDICTIVE = Predictive()
# With at most this many features, factors leave almost no residual for the labels.
FEW_FEATURES = 40
# From this many samples on, factors shaped by labels are worth their cost.
MANY_SAMPLES = 500


class Labels(NamedTuple):
    """Checked labels: tasks, class numbers (N, n_tasks), signed weights (rows, N), groups (N,)."""

    tasks: tuple[Task, ...]
    class_index: NDArray[np.int64]
    signed: Floats
    groups: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit.

    Attributes
    ----------
    ascent : Settings
        Of variational Bayes.
    training : {"auto", "bayes", "label-free", "predictive"}
    predictive : Predictive
        Settings of predictive training.
    gibbs : Gibbs or None
        None means variational Bayes.
    residual : {"auto", True, False}
        Whether decisions have a second part, from the residuals of the table.
    calibration : {"refit", "cross-validation", "none"}
    seed : int
    n_threads : int or None
        None uses every core.
    progress : callable or None
        Called with iteration, ELBO and its relative change.
    checkpoint : path or None
        Folder for checkpoints of variational Bayes and predictive training.
    """

    ascent: Settings
    training: str = "bayes"
    predictive: Predictive = DEFAULT_PREDICTIVE
    gibbs: Gibbs | None = None
    residual: bool | str = False
    calibration: str = "none"
    seed: int = 0
    n_threads: int | None = None
    progress: Progress | None = None
    checkpoint: str | os.PathLike[str] | None = None

    def trains(self, model: Model, n_samples: int, n_features: int) -> str:
        """The training for a table of this size: "auto" resolved, or as given."""
        if self.training != "auto":
            return self.training
        if isinstance(model.experts, KernelExperts):
            return "label-free"
        if n_features <= FEW_FEATURES or self.gibbs is not None or model.latent.n_components:
            return "bayes"
        many = n_samples >= MANY_SAMPLES or model.experts is not None
        return "predictive" if many and why_not_predictive(model, None) is None else "label-free"

    def is_predictive(self, training: str) -> bool:
        """Whether steps of predictive training follow; without a label weight none do."""
        return training == "predictive" and self.predictive.label_weight > 0

    def has_residual(self, model: Model, training: str, n_samples: int) -> bool:
        """Whether decisions have a second part.

        "auto" is True if factors do not depend on labels and there are too few samples for a kernel
        to predict the classes from the factors alone.
        """
        if self.residual != AUTO:
            return bool(self.residual)
        few = model.linear or n_samples < MANY_SAMPLES
        return training == "label-free" and few and why_no_residual(model, self.gibbs) is None


def why_no_residual(model: Model, gibbs: Gibbs | None) -> str | None:
    """Reason why decisions cannot have a second part, with advice; None if they can."""
    if gibbs is not None:
        return "decisions of two parts have no Gibbs sampler: use engine='vb' or residual=False."
    if not model.linear and not isinstance(model.experts, KernelExperts):
        return "local classifiers have no second part: use experts='kernel' or residual=False."
    return None
