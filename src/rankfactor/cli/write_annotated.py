"""Write scores, loadings and effects to a copy of an AnnData or MuData file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.errors import InputError
from rankfactor.storage.files import written_together

if TYPE_CHECKING:
    from rankfactor.posterior import Posterior

_READERS = {".h5ad": ("anndata", "read_h5ad"), ".h5mu": ("mudata", "read_h5mu")}


def check_annotated(table: Path, out: Path) -> None:
    """Refuse a table of another format, and a destination of another kind."""
    if table.suffix not in _READERS:
        raise InputError(
            f"--annotated is for tables in .h5ad and .h5mu files, which {table} is not: leave it "
            "out, and use --scores of `rankfactor predict`."
        )
    if out.suffix != table.suffix:
        raise InputError(f"--annotated {out} must end in {table.suffix}, as the table does.")


def write_annotated(
    out: Path, table: Path, posterior: Posterior, settings: Mapping[str, Any]
) -> None:
    """Write a copy of a file with the factors of a fit."""
    from rankfactor.data import write_back

    package, reader = _READERS[table.suffix]
    with warnings.catch_warnings():
        # Future changes of these packages concern developers; reading already gave other warnings.
        warnings.simplefilter("ignore")
        data = getattr(import_module(package), reader)(table)
    features = posterior.table_features.tolist()
    # Plain values only: others may have no HDF5 representation.
    kept: dict[str, Any] = {
        name: value if isinstance(value, str | int | float) else str(value)
        for name, value in settings.items()
    }
    effects = None
    if posterior.classifiers is not None:
        effects = posterior.feature_effects()["effect"].to_numpy()[: len(features)]
        kept["effect_columns"] = posterior.classifiers.row_names()
    write_back(
        data,
        scores=posterior.scores.mean,
        loadings=posterior.structure[: len(features)],
        features=features,
        samples=posterior.sample_names.tolist(),
        settings=kept,
        effects=effects,
    )
    with written_together(out) as (part,), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.write(part)
