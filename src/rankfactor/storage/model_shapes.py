"""Whether the arrays of a model file fit together.

Compiled code does not look whether an index leads out of an array, so a file whose arrays
contradict one another could make it read or write any memory. The checksum of a file detects
damage, but whoever edits a file can renew it. `check_arrays` therefore compares all shapes and
indices before anything is computed from them: with D features, d of them in rows, K factors, N
training samples, T tasks, R rows of coefficients and S draws, as docs/reference/model-file.md has
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.codes import MAX_CUTS
from rankfactor.kernels.packed import packed_size

Arrays = dict[str, NDArray[Any]]

_SHAPES = {
    "feature_names": "D",
    "views": "D",
    "sample_names": "N",
    "label_codes": "NT",
    "probability_scale": "T",
    "basis": "KK",
    "elbo": "I",
    "sd_w": "I",
    "n_active": "I",
    "scores.mean": "NK",
    "rows.mean": "dW",  # with an intercept, or without
    "variance.structure": "dK",
    "variance.r2": "dK",
    **dict.fromkeys(("effects.low", "effects.high"), "d"),
    **dict.fromkeys((f"effects.{one}" for one in ("decision", "probability", "sd", "mean")), "Rd"),
    **dict.fromkeys(("stability.effect_sd", "stability.effect_selected"), "Rd"),
    **dict.fromkeys(("stability.loading_sd", "stability.loading_selected"), "dK"),
    "stability.factor_match": "K",
    "stability.coefficient_sd": "RK",
    "gates.centres": "GK",
    "gates.precision": "G",
    "gates.log_share": "G",
    "gates.temper": "1",
    "gates.shared": "1",
    "covariates.knots": "DQ",
    "covariates.scores": "DQ",
    "covariates.n_knots": "D",
    "draws.chain": "S",
    "draws.sweep": "S",
    "draws.loadings": "SdW",
}
_INTEGERS = ("columns", "n_cuts", "n_knots", "label_codes", "chain", "chosen", "sweep", "n_active")
# Parameters with a column for every cut, or for every level, which is one more.
_BY_CUT = {"mean": 0, "variance": 0, "h": 0, "low": 1, "high": 1}
_TEXT = ("feature_names", "sample_names", "views", "blocks")


def check_arrays(arrays: Arrays, n_factors: int, n_tasks: int) -> None:
    """Raise ValueError if arrays of a model file contradict one another.

    ``arrays`` have the names of the members. Those that a file does not have are not missed here.
    """
    for name, array in arrays.items():
        *outer, last = name.split(".")
        _check(not {"mean", "cov", "log_det"} & set(outer), name, array)  # arrays, not groups
        _check(last not in _INTEGERS or array.dtype.kind in "iu", name, array)
        plain = array.dtype.kind in "fiub" or name.startswith("classes_") or last in _TEXT
        _check(plain, name, array)
        _check(name not in _TEXT or array.dtype.kind == "U", name, array)
    n_rows = _check_coding(arrays)
    classes = [arrays[f"classes_{number}"] for number in range(n_tasks)]
    for number, one in enumerate(classes):
        _check(one.ndim == 1 and len(one) > 1, f"classes_{number}", one)
    sizes = {
        "1": 1,
        "K": n_factors,
        "d": n_rows,
        "T": n_tasks,
        "R": sum(1 if len(one) == 2 else len(one) for one in classes),
    }
    for name, dims in _SHAPES.items():
        if name in arrays:
            array = arrays[name]
            # The first array with a dimension that is not known yet says how long it is.
            _check(array.ndim == len(dims), name, array)
            expected = [sizes.setdefault(d, n) for d, n in zip(dims, array.shape, strict=True)]
            _check(list(array.shape) == expected, name, array)
    _check_laws(arrays, sizes)
    _check_range(arrays, "covariates.n_knots", 0, sizes.get("Q", 0))
    if "draws.chain" in arrays:
        _check_range(arrays, "draws.chain", 0, sizes["S"])
        _check_range(arrays, "draws.chosen", 0, sizes["S"] - 1)
    for number, one in enumerate(classes):
        if "label_codes" in arrays:
            codes = arrays["label_codes"][:, number]
            _check(bool(((codes >= -1) & (codes < len(one))).all()), "label_codes", codes)


def _check(holds: bool, name: str, array: NDArray[Any]) -> None:
    if not holds:
        raise ValueError(
            f"the array {name}, shape {array.shape} and type {array.dtype}, does not fit the others"
        )


def _check_range(arrays: Arrays, name: str, least: int, most: int) -> None:
    if name in arrays:
        array = arrays[name]
        _check(bool(((array >= least) & (array <= most)).all()), name, array)


def _check_coding(arrays: Arrays) -> int:
    """Check how values become codes, and the parameters of likelihoods; gives the rows of all."""
    n_features, n_rows = len(arrays["feature_names"]), 0
    for place in [name for name in arrays if name.endswith("columns") and "coding" in name]:
        coding = place.removesuffix("columns")
        part = coding.removeprefix("coding.")  # of a block
        columns = arrays[place]
        _check(columns.ndim == 1, place, columns)
        _check_range(arrays, place, 0, n_features - 1)
        n_rows += len(columns)
        values = arrays.get(f"{coding}values", np.zeros((len(columns), 0)))
        n_cuts = values.shape[-1]
        _check(values.ndim == 2 and n_cuts <= MAX_CUTS, f"{coding}values", values)
        prefixes = (coding, f"params.{part}", f"draws.params.{part}")
        for name, array in arrays.items():
            prefix = next((one for one in prefixes if name.startswith(one)), None)
            last = "" if prefix is None else name.removeprefix(prefix)
            if not last or "." in last:
                continue
            shape = array.shape[1:] if name.startswith("draws.") else array.shape
            _check(len(shape) in (1, 2) and shape[0] == len(columns), name, array)
            if last == "n_cuts":
                _check_range(arrays, name, 0, n_cuts)
            elif last in _BY_CUT and f"{coding}values" in arrays:
                _check(shape[1:] == (n_cuts + _BY_CUT[last],), name, array)
    return n_rows


def _check_laws(arrays: Arrays, sizes: dict[str, int]) -> None:
    """Check means and packed covariances, and that rows and coefficients are of the factors."""
    for name, mean in arrays.items():
        law, _, last = name.rpartition(".")
        if last != "mean" or f"{law}.log_det" not in arrays:
            continue
        cov, log_det = arrays[f"{law}.cov"], arrays[f"{law}.log_det"]
        _check(mean.ndim >= 2, name, mean)
        _check(cov.shape == (*mean.shape[:-1], packed_size(mean.shape[-1])), f"{law}.cov", cov)
        _check(log_det.shape == mean.shape[:-1], f"{law}.log_det", log_det)
    n_factors = sizes["K"]
    _check(sizes["W"] in (n_factors, n_factors + 1), "rows.mean", arrays["rows.mean"])
    for name in ("coefficients.mean", "joint_coefficients.mean"):
        if name in arrays:
            _check(arrays[name].shape == (sizes["R"], n_factors + 1), name, arrays[name])
