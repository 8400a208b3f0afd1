"""Check that a table is the training table of a model."""

from __future__ import annotations

import warnings
from typing import Any

from rankfactor.errors import InputError, counted
from rankfactor.posterior import Posterior
from rankfactor.posterior.posterior import hash_of_codes


def check_training_table(posterior: Posterior, table: Any) -> None:
    """Refuse a table that is not the model's training table.

    Compares the codes of the training values or, if the model file has no hash of them, the names
    of the samples.
    """
    names = getattr(table, "obs_names", getattr(table, "index", None))
    n_samples = posterior.samples.n_samples
    if table.shape[0] != n_samples:
        raise InputError(
            f"the table has {counted(table.shape[0], 'sample')} and the model was fitted to "
            f"{n_samples}: give the training table."
        )
    if posterior.codes_sha256:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # missing values were reported at the fit
            observed = posterior.coding.observe(posterior.match(table, "error"))
        same = hash_of_codes(observed) == posterior.codes_sha256
    else:
        own = posterior.sample_names.tolist()
        same = names is None or posterior.left_out is not None or [str(n) for n in names] == own
    if not same:
        raise InputError(
            "the values of the table are not those that the model was fitted to: give the training "
            "table, with its samples in the same order."
        )
