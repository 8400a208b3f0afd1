"""A folder that finished fits of a longer computation are written to, so that it can be resumed.

The folder has ``problem.json``, which says what is computed, and an archive for every finished part
(`rankfactor.storage.archive`). Files are written beside their destination and renamed, so a process
that is killed leaves whole parts only. Arrays keep their precision: a run that is resumed gives the
same numbers as one that was not interrupted.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from rankfactor.__about__ import __version__
from rankfactor.data.fingerprint import fingerprint
from rankfactor.errors import InputError, convergence_warning
from rankfactor.evaluation.watch import Heard
from rankfactor.features.matching import NamedSparse, opened
from rankfactor.storage.archive import Arrays, Format, plain, read_archive, write_archive
from rankfactor.storage.files import folder, remove_parts, written_together
from rankfactor.storage.problem import check_same
from rankfactor.tasks import Task
from rankfactor.typing import Integers

PROBLEM = "problem.json"
# Arguments of estimators that change no number of a fit, or are described by a hash.
NOT_COMPARED = (
    *("n_threads", "progress", "checkpoint", "missing_features", "blocks", "views"),
    *("memory", "scratch", "cluster"),
)


Part = TypeVar("Part")


@dataclass(frozen=True)
class FitFolder(ABC, Generic[Part]):
    """A folder of finished parts, all of one problem."""

    path: Path
    form: ClassVar[Format]
    part: ClassVar[str]  # what a part is called in the name of its file
    holds: ClassVar[str]  # what messages call its content

    @property
    def files(self) -> list[Path]:
        """Files of the finished parts."""
        return sorted(self.path.glob(f"{self.part}-*.zip"))

    def check(self, problem: Mapping[str, Any]) -> bool:
        """Whether the folder has a problem; one that is another than this is refused."""
        file = self.path / PROBLEM
        if not file.exists():
            return False
        check_same(
            f"the folder {self.path} contains {self.holds}", "folder", _read(file), plain(problem)
        )
        return True

    def open(self, problem: Mapping[str, Any], resume: bool) -> None:
        """Create the folder; without ``resume``, parts of an earlier run are removed."""
        with folder(self.path):
            pass
        remove_parts(self.path, "problem", f"{self.part}-*")
        if resume and self.check(problem):
            return
        for one in self.files:
            try:
                one.unlink()
            except OSError as error:
                raise InputError(
                    f"{one} cannot be removed ({error.strerror}): choose another folder."
                ) from error
        with written_together(self.path / PROBLEM) as (part,):
            text = json.dumps(plain(problem), indent=1, allow_nan=False)
            part.write_text(f"{text}\n", "utf-8")

    def remove(self) -> None:
        """Remove a folder without parts."""
        (self.path / PROBLEM).unlink(missing_ok=True)
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def read(self, number: int) -> Part | None:
        """A part, None if it is not finished."""
        path = self.file(number)
        if not path.exists():
            return None
        header, arrays = read_archive(path, self.form)
        try:
            return self.assembled(header, arrays)
        except (LookupError, TypeError, ValueError, AttributeError) as problem:
            raise self.form.damaged(path, repr(problem)) from problem

    def write(self, number: int, part: Part) -> None:
        """Write a finished part."""
        header, arrays = self.taken_apart(part)
        about = {"format": self.form.name, "version": self.form.version, **header}
        write_archive(self.file(number), about, arrays)

    @abstractmethod
    def assembled(self, header: dict[str, Any], arrays: Arrays) -> Part:
        """A part from the content of its file."""

    @abstractmethod
    def taken_apart(self, part: Part) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays of a part."""

    def file(self, number: int) -> Path:
        """File of a part, numbered from 0."""
        return self.path / f"{self.part}-{number + 1:04}.zip"


def shared_problem(
    table: Any,
    tasks: Sequence[Task],
    class_index: Integers,
    groups: Integers | None,
    covariates: Sequence[str] = (),
) -> dict[str, Any]:
    """What two runs must share for one to resume the other: the library and the data."""
    return {
        "library": __version__,
        "table": hash_of_table(table, covariates),
        "labels": sha256([(one.name, one.classes) for one in tasks], class_index),
        "groups": None if groups is None else sha256(groups),
    }


def hash_of_blocks(arguments: Mapping[str, Any]) -> str:
    """Hash of the blocks among an estimator's arguments."""
    blocks: list[Any] = [arguments.get(name) for name in ("blocks", "views")]
    return sha256([dict(one) if hasattr(one, "items") else one for one in blocks])


def as_written(heard: Sequence[Heard]) -> list[tuple[str, str]]:
    """Warnings for a header."""
    return [(one.category.__name__, one.text) for one in heard]


def as_read(given: Any) -> Heard:
    """A warning of a header."""
    name, text = given
    known: tuple[type[Warning], ...] = (convergence_warning(), RuntimeWarning, FutureWarning)
    return Heard(next((one for one in known if one.__name__ == name), UserWarning), str(text))


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError, OSError) as problem:
        raise InputError(
            f"{file} cannot be read ({problem}): choose another folder, or remove it."
        ) from problem


def hash_of_table(table: Any, covariates: Sequence[str] = ()) -> str:
    """Hash of names and values."""
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
    return sha256(names, matrix.shape, matrix.indptr, matrix.indices, matrix.data)


def sha256(*values: Any) -> str:
    """Hash of arrays and plain values."""
    digest = hashlib.sha256()
    for value in values:
        is_array = isinstance(value, np.ndarray)
        digest.update(value.tobytes() if is_array else json.dumps(plain(value)).encode())
    return digest.hexdigest()
