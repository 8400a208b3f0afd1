"""Pairs of half-sample fits, and the folder that they are written to as they finish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rankfactor.__about__ import __version__
from rankfactor.estimators.base import FactorModel
from rankfactor.evaluation.fit_folder import (
    NOT_COMPARED,
    FitFolder,
    as_read,
    as_written,
    hash_of_table,
    sha256,
)
from rankfactor.evaluation.watch import Heard
from rankfactor.storage.archive import Format
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


class PairFolder(FitFolder):
    """A folder of finished pairs, all of one problem."""

    form, part, holds = FORMAT, "pair", "half-samples"

    def read(self, number: int) -> Pair | None:
        """A pair, None if it is not finished."""
        found = self.load(number)
        if found is None:
            return None
        header, arrays = found
        try:
            effects, loadings, coefficients = (arrays[name] for name in _NAMES)
            first, second = (tuple(map(as_read, given)) for given in header["warnings"])
        except (LookupError, TypeError, ValueError) as problem:
            raise FORMAT.damaged(self.file(number), repr(problem)) from problem
        return Pair(effects, loadings, coefficients, (first, second))

    def write(self, number: int, pair: Pair) -> None:
        """Write a finished pair."""
        arrays = {name: getattr(pair, name) for name in _NAMES}
        self.keep(number, arrays, warnings=[as_written(fit) for fit in pair.heard])


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
    blocks: list[Any] = [arguments.get(name) for name in ("blocks", "views")]
    by_name = [dict(one) if hasattr(one, "items") else one for one in blocks]
    ignored = (*NOT_COMPARED, "calibration")
    return {
        "library": __version__,
        "table": hash_of_table(table, estimator.covariates or ()),
        "labels": sha256([(one.name, one.classes) for one in tasks], class_index),
        "groups": None if groups is None else sha256(groups),
        "seed": seed,
        "blocks": sha256(by_name),
        "model": {name: one for name, one in arguments.items() if name not in ignored},
    }
