"""Pairs of half-sample fits, and the folder that they are written to as they finish.

The folder has ``problem.json``, which says what was fitted, and an archive for every finished pair
(`rankfactor.storage.archive`). Files are written beside their destination and renamed, so a
process that is killed leaves whole pairs only. Arrays are stored in double precision: a run that
is resumed gives the same numbers as one that was not interrupted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from rankfactor.__about__ import __version__
from rankfactor.data.fingerprint import fingerprint
from rankfactor.errors import InputError, convergence_warning
from rankfactor.estimators.base import FactorModel
from rankfactor.evaluation.watch import Heard
from rankfactor.features.matching import NamedSparse, opened
from rankfactor.storage.archive import Format, plain, read_archive, write_archive
from rankfactor.storage.files import folder, remove_parts, written_together
from rankfactor.storage.problem import check_same
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

FORMAT = Format(
    "rankfactor half-sample pair", "pair of half-samples", "remove it and resume the run", version=1
)
PROBLEM = "problem.json"
_NAMES = ("effects", "loadings", "coefficients")


class Pair(NamedTuple):
    """What two half-sample fits found, with factors in the order of their own fits.

    R classifier rows, d features of the fit to all samples, K factors.
    """

    effects: Floats  # (2, R, d)
    loadings: Floats  # (2, d, K)
    coefficients: Floats  # (2, R, K), per unit of a factor's standard deviation
    heard: tuple[tuple[Heard, ...], tuple[Heard, ...]]  # warnings of both fits


@dataclass(frozen=True)
class PairFolder:
    """A folder of finished pairs, all of one problem."""

    path: Path

    def check(self, problem: Mapping[str, Any]) -> bool:
        """Whether the folder has a problem; one that is another than this is refused."""
        file = self.path / PROBLEM
        if not file.exists():
            return False
        place = f"the folder {self.path} holds half-samples"
        check_same(place, "folder", _read(file), plain(problem))
        return True

    def open(self, problem: Mapping[str, Any], resume: bool) -> None:
        """Create the folder; without ``resume``, pairs of an earlier run are removed."""
        with folder(self.path):
            pass
        remove_parts(self.path, "problem", "pair-*")
        if resume and self.check(problem):
            return
        file, new = self.path / PROBLEM, plain(problem)
        for one in self.path.glob("pair-*.zip"):
            one.unlink()
        with written_together(file) as (part,):
            part.write_text(json.dumps(new, indent=1, allow_nan=False) + "\n", "utf-8")

    def read(self, number: int) -> Pair | None:
        """A pair, None if it is not finished."""
        path = self._file(number)
        if not path.exists():
            return None
        header, arrays = read_archive(path, FORMAT)
        try:
            effects, loadings, coefficients = (arrays[name] for name in _NAMES)
            first, second = (tuple(map(_heard, given)) for given in header["warnings"])
        except (LookupError, TypeError, ValueError) as problem:
            raise FORMAT.damaged(path, repr(problem)) from problem
        return Pair(effects, loadings, coefficients, (first, second))

    def write(self, number: int, pair: Pair) -> None:
        """Write a finished pair."""
        header = {
            "format": FORMAT.name,
            "version": FORMAT.version,
            "warnings": [[(one.category.__name__, one.text) for one in fit] for fit in pair.heard],
        }
        write_archive(self._file(number), header, {name: getattr(pair, name) for name in _NAMES})

    def _file(self, number: int) -> Path:
        return self.path / f"pair-{number + 1:04}.zip"


def _heard(given: Any) -> Heard:
    name, text = given
    known: tuple[type[Warning], ...] = (convergence_warning(), RuntimeWarning, FutureWarning)
    return Heard(next((one for one in known if one.__name__ == name), UserWarning), str(text))


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, OSError) as problem:
        raise InputError(
            f"{file} cannot be read ({problem}): choose another folder, or remove it."
        ) from problem


# Arguments that change no number of a half-sample fit, or are described by a hash.
_NOT_COMPARED = (
    *("n_threads", "progress", "checkpoint", "missing_features", "calibration", "blocks", "views"),
    *("memory", "scratch", "cluster"),
)


def described(
    estimator: FactorModel,
    table: Any,
    tasks: Sequence[Task],
    class_index: Integers,
    groups: Integers | None,
    seed: int | None,
) -> dict[str, Any]:
    """What two runs must share for one to resume the other, as plain values.

    Whatever "auto" comes to follows from the table.
    """
    arguments = estimator.get_params(deep=False)
    blocks: list[Any] = [arguments.get(name) for name in ("blocks", "views")]
    by_name = [dict(one) if hasattr(one, "items") else one for one in blocks]
    return {
        "library": __version__,
        "table": _hash_of_table(table, estimator.covariates or ()),
        "labels": _sha256([(one.name, one.classes) for one in tasks], class_index),
        "groups": None if groups is None else _sha256(groups),
        "seed": seed,
        "blocks": _sha256(by_name),
        "model": {name: one for name, one in arguments.items() if name not in _NOT_COMPARED},
    }


def _hash_of_table(table: Any, covariates: Sequence[str]) -> str:
    given = opened(table, covariates)
    if isinstance(given, pd.DataFrame):
        return str(fingerprint(given)["table_sha256"])
    names: list[Any] = []
    if isinstance(given, NamedSparse):
        extra = fingerprint(given.extra)["table_sha256"]
        names, given = [list(given.index), list(given.columns), extra], given.matrix
    if not issparse(given):
        return str(fingerprint(pd.DataFrame(np.asarray(given)))["table_sha256"])
    matrix = given.tocsr()
    return _sha256(names, matrix.shape, matrix.indptr, matrix.indices, matrix.data)


def _sha256(*values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        is_array = isinstance(value, np.ndarray)
        digest.update(value.tobytes() if is_array else json.dumps(plain(value)).encode())
    return digest.hexdigest()
