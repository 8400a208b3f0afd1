"""Pairs of half-sample fits, and the folder that they are written to as they finish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rankfactor.estimators.base import FactorModel
from rankfactor.evaluation.fit_folder import (
    NOT_COMPARED,
    FitFolder,
    as_read,
    as_written,
    hash_of_blocks,
    shared_problem,
)
from rankfactor.evaluation.watch import Heard
from rankfactor.storage.archive import Arrays, Format
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

FORMAT = Format(
    "rankfactor half-sample pair", "pair of half-samples", "remove it and resume the run", version=1
)
_NAMES = ("effects", "loadings", "coefficients")


class Pair(NamedTuple):
    """Results of two half-sample fits, with factors in the order of their own fits.

    R classifier rows, d features of the fit to all samples, K factors.
    """

    effects: Floats  # (2, R, d)
    loadings: Floats  # (2, d, K)
    coefficients: Floats  # (2, R, K), per unit of a factor's standard deviation
    heard: tuple[tuple[Heard, ...], tuple[Heard, ...]]  # warnings of both fits


class PairFolder(FitFolder[Pair]):
    """A folder of finished pairs, all of one problem."""

    form, part, holds = FORMAT, "pair", "half-samples"

    def assembled(self, header: dict[str, Any], arrays: Arrays) -> Pair:
        """A pair from the content of its file."""
        first, second = (tuple(map(as_read, given)) for given in header["warnings"])
        return Pair(**{name: arrays[name] for name in _NAMES}, heard=(first, second))

    def taken_apart(self, part: Pair) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays of a pair."""
        header = {"warnings": [as_written(fit) for fit in part.heard]}
        return header, {name: getattr(part, name) for name in _NAMES}


def described(
    estimator: FactorModel,
    table: Any,
    tasks: Sequence[Task],
    class_index: Integers,
    groups: Integers | None,
    seed: int | None,
) -> dict[str, Any]:
    """What two runs must have in common to resume, as plain values.

    Whatever "auto" comes to follows from the table, and nothing is calibrated.
    """
    arguments = estimator.get_params(deep=False)
    ignored = (*NOT_COMPARED, "calibration")
    return {
        **shared_problem(table, tasks, class_index, groups, estimator.covariates or ()),
        "seed": seed,
        "blocks": hash_of_blocks(arguments),
        "model": {name: one for name, one in arguments.items() if name not in ignored},
    }
