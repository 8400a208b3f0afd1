"""How a model is fitted: checked labels, the settings of a fit, and what "auto" comes to."""

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
# Of so few features the factors leave next to nothing out that labels could ask for.
FEW_FEATURES = 40
# From so many samples on, factors that labels have shaped are worth what they cost.
MANY_SAMPLES = 500


class Labels(NamedTuple):
    """Checked labels: tasks, class numbers (N, n_tasks), signed weights (rows, N), groups (N,)."""

    tasks: tuple[Task, ...]
    class_index: NDArray[np.int64]
    signed: Floats
    groups: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class FitSettings:
    """How a model is fitted.

    Attributes
    ----------
    ascent : Settings
        Of variational Bayes.
    training : {"auto", "bayes", "label-free", "predictive"}
    predictive : Predictive
        Settings of predictive training.
    gibbs : Gibbs or None
        None is variational Bayes.
    residual : {"auto", True, False}
        Whether decisions have a second part, what the factors leave of the table.
    calibration : {"refit", "cross-validation", "none"}
    seed : int
    n_threads : int or None
        None uses every core.
    progress : callable or None
        Called with iteration, ELBO and its relative change.
    checkpoint : path or None
        Folder that variational Bayes and predictive training are written to and resumed from.
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
        """The training of a table of this size: what "auto" comes to, or what was given."""
        if self.training != "auto":
            return self.training
        if isinstance(model.experts, KernelExperts):
            return "label-free"
        if n_features <= FEW_FEATURES or self.gibbs is not None or model.latent.n_components:
            return "bayes"
        many = n_samples >= MANY_SAMPLES or model.experts is not None
        return "predictive" if many and why_not_predictive(model, None) is None else "label-free"

    def has_residual(self, model: Model, training: str, n_samples: int) -> bool:
        """Whether decisions have a second part.

        "auto" is where factors have seen no labels and samples are not so many that a kernel tells
        the classes from the factors alone.
        """
        if self.residual != AUTO:
            return bool(self.residual)
        few = model.linear or n_samples < MANY_SAMPLES
        return training == "label-free" and few and why_no_residual(model, self.gibbs) is None


def why_no_residual(model: Model, gibbs: Gibbs | None) -> str | None:
    """What keeps decisions from having a second part, and what to do; None if nothing does."""
    if gibbs is not None:
        return "decisions of two parts have no Gibbs sampler: use engine='vb' or residual=False."
    if not model.linear and not isinstance(model.experts, KernelExperts):
        return "local classifiers have no second part: use experts='kernel' or residual=False."
    return None
