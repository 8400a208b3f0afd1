"""Refuse tables that cannot be fitted; report features that are left out."""

from __future__ import annotations

import warnings

from rankfactor.errors import AUTO, InputError
from rankfactor.model import Model


def check_size(model: Model, n_samples: int) -> None:
    """Refuse a table with too few samples for the model."""
    if n_samples < 2:
        raise InputError(
            f"Found array with n_samples={n_samples}, 1 sample is not enough: at least 2 are "
            "needed."
        )
    for name, needed in (("n_factors", model.n_factors), ("n_components", model.n_components)):
        if needed not in (None, AUTO) and n_samples < needed:
            raise InputError(
                f"{name}={needed} needs at least as many samples, but the table has {n_samples}: "
                f"lower {name}."
            )


def report_constant(n_constant: int, n_features: int) -> None:
    """Warn of features that do not vary; refuse a table in which none does."""
    if n_constant == n_features:
        raise InputError(
            "no feature varies: every column is constant or missing, so nothing can be fitted."
        )
    if n_constant:
        warnings.warn(
            f"{n_constant} of {n_features} features are constant or all missing; they are kept "
            "with zero loadings.",
            UserWarning,
            stacklevel=4,
        )
