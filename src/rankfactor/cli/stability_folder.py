"""Folder of a stability run: writing, reading, and checking that it belongs to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.__about__ import __version__
from rankfactor.cli.belonging import (
    check_files,
    data_difference,
    record_of,
    setting_differences,
    well_formed,
)
from rankfactor.cli.console import in_options
from rankfactor.cli.stability import ARRAYS, RECORD
from rankfactor.errors import InputError
from rankfactor.storage.archive import Format, read_archive, write_archive

if TYPE_CHECKING:
    from rankfactor.posterior import Posterior
    from rankfactor.posterior.stability import Stability

FORMAT = Format("rankfactor stability", "stability file", "run the stability again", version=1)
# Largest difference of a loading between two fits considered equal.
_SAME = 1e-3


def write_arrays(path: Path, posterior: Posterior) -> None:
    """Write the stability of a posterior, and its loadings."""
    stability = posterior.stability
    assert stability is not None
    values = {field.name: getattr(stability, field.name) for field in fields(stability)}
    numbers = {name: one for name, one in values.items() if isinstance(one, int)}
    arrays = {name: one for name, one in values.items() if name not in numbers}
    header = {"format": FORMAT.name, "version": FORMAT.version, "library": __version__, **numbers}
    write_archive(path, header, {**arrays, "structure": posterior.structure})


def read_stability(
    folder: Path, model: Path, posterior: Posterior, header: Mapping[str, Any]
) -> tuple[Stability, dict[str, Any]]:
    """The stability in a folder, and its record, if it belongs to the model.

    ``header`` is that of the model file.
    """
    import numpy as np

    from rankfactor.posterior.stability import Stability

    for name in (RECORD, ARRAYS):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder} has no {name}: give the folder that `rankfactor stability` wrote."
            )
    record = record_of(folder / RECORD, "stability")
    with well_formed(folder / RECORD, "stability"):
        ours, theirs = header.get("provenance", {}).get("data", {}), record.get("data", {})
        found = data_difference(ours, theirs) if ours and theirs else None
        if found is None:
            differing = setting_differences(header, record, "stability run")
            found = f"other settings ({in_options('; '.join(differing))})" if differing else None
    about, arrays = read_archive(folder / ARRAYS, FORMAT)
    check_files(folder, record, "stability", ARRAYS)
    try:
        structure = arrays.pop("structure")
        numbers = {name: int(about[name]) for name in ("n_fits", "top")}
        stability = Stability(**numbers, **arrays)  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError) as problem:
        raise FORMAT.damaged(folder / ARRAYS, repr(problem)) from problem
    if found is None:
        same = structure.shape == posterior.structure.shape
        if not same or np.abs(structure - posterior.structure).max() > _SAME:
            found = "its factors differ"
    if found is not None:
        raise InputError(
            f"the stability in {folder} does not belong to {model}: {found}; run `rankfactor "
            "stability` on the table and labels of the model, with its settings, or leave "
            "--stability out."
        )
    return stability, record
