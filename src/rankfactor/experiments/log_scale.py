"""`LogScale`: a classifier on the log scale, if a table needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rankfactor.evaluation.wrapper import Wrapper

# A non-negative table with larger values contains raw intensities or molecule counts; pixels (255)
# and log scales stay below.
RAW_SCALE = 1000.0


class LogScale(Wrapper):
    """A classifier on log2(1 + x), if the training table contains raw intensities or counts.

    This is assumed if all values are at least 0 and the largest exceeds 1000, or set by ``log``.
    Negative values count as zero. ``logged_`` records the decision.
    """

    def __init__(self, estimator: Any, log: bool | None = None) -> None:
        self.estimator = estimator
        self.log = log

    def _learned_table(self, X: Any) -> Any:
        self.logged_ = is_raw(X) if self.log is None else self.log
        return self._table(X)

    def _table(self, X: Any) -> Any:
        return np.log2(1.0 + np.maximum(X, 0.0)) if self.logged_ else X


def is_raw(X: Any) -> bool:
    """Whether a table contains raw intensities or counts, judged by its known values."""
    if isinstance(X, pd.DataFrame) and not all(map(pd.api.types.is_numeric_dtype, X.dtypes)):
        return False
    values = np.asarray(X, float)
    known = values[~np.isnan(values)]
    return bool(known.size and known.min() >= 0 and known.max() > RAW_SCALE)
