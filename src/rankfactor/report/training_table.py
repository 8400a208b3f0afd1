"""Check that a table is the one that a model was fitted to."""

from __future__ import annotations

import warnings
from typing import Any

from rankfactor.errors import InputError
from rankfactor.posterior import Posterior
from rankfactor.posterior.posterior import hash_of_codes


def check_training_table(posterior: Posterior, table: Any) -> None:
    """Refuse a table that the model was not fitted to.

    The codes of the training values decide; where a model file has no hash of them, the names of
    the samples do.
    """
    names = getattr(table, "obs_names", getattr(table, "index", None))
    n_samples = posterior.samples.n_samples
    if len(table) != n_samples:
        raise InputError(
            f"the table has {len(table)} samples and the model was fitted to {n_samples}: give the "
            "training table."
        )
    if posterior.codes_sha256:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what is missing was said of the fit
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
