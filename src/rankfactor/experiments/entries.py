"""The models of an experiment: by name, at the paper's settings and at chosen settings.

Probabilities are not calibrated, so seconds are those of the factors and classifiers.

- **K = 20**: as in the paper, by joint mean field (``training="bayes"``); everything else is the
  library's default, the same for all data.
- **default**: K = 20 and the library's default training, if different.
- **chosen**: the number of factors and, where there is a choice, the training (Bayes or
  predictive), chosen by 3-fold cross-validation within the training part.
- **margin chosen**: as "K = 20", with the margin and the number of cuts of the rank likelihood
  chosen by 5-fold cross-validation within the training part, repeated three times. The paper does
  not state its margin. Only on request: "all" does not include it.

Support vector machines and random forests have no such settings, or choose their own: they appear
in a table once. The Gaussian models and the support vector machines, which depend on the scale of
the data, get log2(1 + x) if a table contains raw intensities or counts
(`rankfactor.experiments.log_scale.LogScale`); digits do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankfactor.errors import InputError
from rankfactor.evaluation import named_models
from rankfactor.evaluation.choose_settings import ChooseSettings
from rankfactor.evaluation.models import BASELINES
from rankfactor.experiments.log_scale import LogScale
from rankfactor.presets import PRESETS

N_FACTORS = 20  # as in the paper
FACTORS = (10, 20, 40)
TRAINING = ("bayes", "predictive")
MARGINS = (0.02, 0.05, 0.1, 0.2, 0.4)
CUTS = (4, 8, 16, 32)
WAYS = ("paper", "default", "chosen", "margin", "all")
DEFAULT, CHOSEN, MARGIN = "default", "chosen", "margin chosen"
OWN = "its own"
_WITH_FACTORS = (*PRESETS, "PFA-L-BSVM", "NS-PCA-SVM")
_ON_LOG_SCALE = ("G-L-Probit", "G-L-BSVM", "G-NL-BSVM", "L-SVM", "RBF-SVM")


@dataclass(frozen=True)
class Entry:
    """One row of a table: a model and the origin of its settings."""

    model: str
    settings: str  # "K = 20", "default", "chosen", "margin chosen" or "its own"

    @property
    def name(self) -> str:
        """Name that is unique within a table."""
        several = self.settings in (DEFAULT, CHOSEN, MARGIN)
        return f"{self.model} ({self.settings})" if several else self.model


def check_models(names: Sequence[str]) -> list[str]:
    """Codes of the models, each once."""
    return list(named_models(list(names)))


def entries(names: Sequence[str], way: str, n_factors: int = N_FACTORS) -> list[Entry]:
    """Rows of a table for the named models, in one of `WAYS`.

    A model trained like the paper's by default gets "K = 20" for "default", and so does a model
    without a margin for "margin".
    """
    if way not in WAYS:
        raise InputError(f"settings must be one of {', '.join(WAYS)}, not {way!r}.")
    rows = []
    for name in check_models(names):
        if name not in _WITH_FACTORS:
            rows.append(Entry(name, OWN))
            continue
        paper = Entry(name, f"K = {n_factors}")
        default = Entry(name, DEFAULT) if _has_choice_of_training(name) else paper
        each = {"paper": paper, "default": default, "chosen": Entry(name, CHOSEN)}
        margin = Entry(name, MARGIN) if _has_margin(name) else paper
        rows += dict.fromkeys(each.values() if way == "all" else [{**each, "margin": margin}[way]])
    return rows


def build(
    entry: Entry,
    *,
    n_factors: int = N_FACTORS,
    most_factors: int | None = None,
    random_state: int | None = 0,
    n_threads: int | None = None,
    measure: str = "auc",
    log: bool | None = None,
) -> Any:
    """Estimator of a row.

    Parameters
    ----------
    n_factors, most_factors : int
        Number of factors if not chosen, and the maximum for the samples of a training part.
    measure : {"auc", "accuracy"}
        Measure by which settings are chosen.
    log : bool or None
        Whether scale-dependent models get the log scale; None decides by the training table.
    """
    most = max(FACTORS) if most_factors is None else most_factors
    factors = min(n_factors, most)
    # Calibration is not needed: classes and AUC are the same without it.
    fixed: dict[str, Any] = {"n_threads": n_threads, "calibration": "none"}
    if entry.settings != DEFAULT:  # the paper's training, not the library's default
        fixed["training"] = "bayes"
        if entry.model in PRESETS:
            fixed["experts"] = "mixed"
    model = named_models(
        [entry.model], n_factors=(factors,), random_state=random_state, settings=fixed
    )[entry.model]
    if entry.settings == CHOSEN:
        ways = candidates(entry.model, most)
        model = ChooseSettings(model, ways, measure=measure, random_state=random_state)
    elif entry.settings == MARGIN:
        ways = [{"margin": margin, "max_cuts": cuts} for margin in MARGINS for cuts in CUTS]
        inner: dict[str, Any] = {"n_folds": 5, "n_repeats": 3, "random_state": random_state}
        model = ChooseSettings(model, ways, measure=measure, **inner)
    needed = log is not False and entry.model in _ON_LOG_SCALE
    return LogScale(model, log) if needed else model


def candidates(name: str, most_factors: int) -> list[dict[str, Any]]:
    """Settings to choose from."""
    # An inner training part has two thirds of the samples.
    possible = [k for k in FACTORS if k <= 2 * most_factors // 3] or [min(FACTORS[0], most_factors)]
    ways = [{"n_factors": k} for k in possible]
    if not _has_choice_of_training(name):
        return ways
    return [{**one, "training": training} for one in ways for training in TRAINING]


def _has_choice_of_training(name: str) -> bool:
    """Whether a model has a choice of training: all except the ordinary rank likelihood."""
    return name not in BASELINES and PRESETS[name].data != "ordinary_rank"


def _has_margin(name: str) -> bool:
    return name not in BASELINES and PRESETS[name].data == "margin_rank"
