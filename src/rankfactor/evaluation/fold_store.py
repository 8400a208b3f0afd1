"""Fits of a cross-validation, and the folder that they are written to as they finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.evaluation.fit_folder import (
    NOT_COMPARED,
    FitFolder,
    as_read,
    as_written,
    hash_of_blocks,
    shared_problem,
)
from rankfactor.evaluation.watch import Heard
from rankfactor.storage.archive import Arrays, Format, plain
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

FORMAT = Format("rankfactor fold", "fold", "remove it and resume the run", version=1)
_NAMES = ("predicted", "positives", "decisions", "probabilities")


class Answer(NamedTuple):
    """What a model says of the n test samples that have a label of one task."""

    predicted: Integers  # (n,) class numbers, -1 for a class that the task does not have
    positives: Integers  # (m,) the class that each decision is for
    decisions: Floats  # (n, m)
    probabilities: Floats  # (n, m), NaN where the model gives none
    chosen: str  # settings that the model chose within the training part


class FoldFit(NamedTuple):
    """What one model did in one fold."""

    answers: dict[int, Answer]  # by number of the task
    seconds: float
    convergence: str
    heard: list[Heard]


class FoldFolder(FitFolder[FoldFit]):
    """A folder of finished fits, all of one cross-validation."""

    form, part, holds = FORMAT, "fit", "a cross-validation"

    def assembled(self, header: dict[str, Any], arrays: Arrays) -> FoldFit:
        """A fit from the content of its file."""
        answers = {
            int(task): Answer(**{name: arrays[f"{name}_{task}"] for name in _NAMES}, chosen=one)
            for task, one in header["chosen"].items()
        }
        heard = [as_read(one) for one in header["warnings"]]
        return FoldFit(answers, float(header["seconds"]), str(header["convergence"]), heard)

    def taken_apart(self, part: FoldFit) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays of a fit."""
        arrays = {
            f"{name}_{task}": np.asarray(getattr(answer, name))
            for task, answer in part.answers.items()
            for name in _NAMES
        }
        header = {
            "chosen": {str(task): answer.chosen for task, answer in part.answers.items()},
            "seconds": part.seconds,
            "convergence": part.convergence,
            "warnings": as_written(part.heard),
        }
        return header, arrays


def described(
    models: Mapping[str, Any],
    table: pd.DataFrame,
    tasks: Sequence[Task],
    class_index: Integers,
    groups: Integers | None,
    positive: Mapping[str, int],
    **division: int | None,
) -> dict[str, Any]:
    """What two runs must share for one to resume the other, as plain values."""
    return {
        **shared_problem(table, tasks, class_index, groups),
        "positive": dict(positive),
        **division,
        "models": list(models),
        **{f"the model {name}": _settings(one) for name, one in models.items()},
    }


def _settings(estimator: Any) -> dict[str, Any]:
    """Arguments of an estimator and of those within, but for those that change no number."""
    found = {
        name: one
        for name, one in estimator.get_params(deep=True).items()
        if name.split("__")[-1] not in NOT_COMPARED and not hasattr(one, "get_params")
    }
    blocks = hash_of_blocks(estimator.get_params(deep=False))
    return {**plain(found), "blocks": blocks, "class": type(estimator).__name__}
