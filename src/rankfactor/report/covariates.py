"""Covariates of the training samples, to colour the scatter by."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats, Integers

_MOST_CLASSES = 12
_RANGES = 5  # for a numeric covariate


def covariate_colours(posterior: Posterior, table: Any, samples: Integers) -> list[dict[str, Any]]:
    """Name, classes and class numbers of the covariates in a training table.

    A numeric covariate with many values is split into up to five ``ordered`` ranges with equally
    many samples. A covariate with many words is left out.
    """
    found = []
    for name in posterior.covariate_names:
        frame = table if isinstance(table, pd.DataFrame) else getattr(table, "obs", None)
        if frame is None or name not in frame:
            continue
        column = frame[name].iloc[samples]
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > _RANGES:
            classes, codes = _ranges(column.to_numpy(float))
            found.append({"name": plain(name), "classes": classes, "codes": codes, "ordered": True})
        elif column.nunique() <= _MOST_CLASSES:
            numbers, labels = pd.factorize(column, sort=True)
            classes = [plain(label) for label in labels]
            found.append({"name": plain(name), "classes": classes, "codes": numbers.tolist()})
    return found


def _ranges(values: Floats) -> tuple[list[str], list[int]]:
    known = np.isfinite(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _RANGES + 1)))
    inner = edges[1:-1]
    codes = np.where(known, np.searchsorted(inner, values, side="left"), -1)
    classes = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges.tolist())]
    return classes, codes.tolist()
