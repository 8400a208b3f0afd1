"""The largest contributions to every sample's decisions, as the page's script draws them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior
from rankfactor.report.sides import row_sides
from rankfactor.typing import Floats, Integers

LARGEST = 10  # contributions shown one by one for a sample
_FEWEST = 3
_MOST_NUMBERS = 150_000  # contributions of all samples and decisions in a page
_AT_A_TIME = 20_000_000  # contributions of a block of samples


def contributions_data(posterior: Posterior, table: Any, samples: Integers) -> dict[str, Any]:
    """Contributions of the leading features to the decisions of training samples.

    Parameters
    ----------
    posterior : Posterior
        Fitted with labels.
    table : DataFrame or array
        The training table.
    samples : array of int
        Indices of the samples shown in the page.

    Returns
    -------
    dict
        ``features`` (names of those that lead for any sample), ``total`` (number of features in the
        model), ``count`` (contributions per sample) and ``rows``: for every decision its ``name``,
        ``left`` and ``right`` (classes), ``base`` and ``decision`` by sample, and by sample and
        rank ``feature`` (indices into ``features``), ``value`` and ``given`` (as in the table).
    """
    assert posterior.classifiers is not None
    n_rows, n_features = len(posterior.classifiers.rows.mean), len(posterior.feature_names)
    count = int(np.clip(_MOST_NUMBERS // max(n_rows * len(samples), 1), _FEWEST, LARGEST))
    # In blocks of samples, since the contributions of all features take much memory.
    size = max(_AT_A_TIME // (n_rows * n_features), 1)
    parts = [
        _of_block(posterior, table, samples[first : first + size], min(count, n_features))
        for first in range(0, len(samples), size)
    ]
    leading, values, data, base, decision = (
        np.concatenate(one, axis=1) for one in zip(*parts, strict=True)
    )
    named = np.unique(leading)
    rows = [
        {
            **sides,
            "base": rounded(base[row]),
            "decision": rounded(decision[row]),
            "feature": np.searchsorted(named, leading[row]).ravel().tolist(),
            "value": rounded(values[row].ravel()),
            "given": given(data[row].ravel()),
        }
        for row, sides in enumerate(row_sides(posterior))
    ]
    names = [plain(posterior.feature_names[i]) for i in named]
    count, total = leading.shape[2], len(posterior.coding.columns)
    return {"features": names, "total": total, "count": count, "rows": rows}


def _of_block(
    posterior: Posterior, table: Any, samples: Integers, count: int
) -> tuple[Integers, Floats, Floats, Floats, Floats]:
    """Leading features, contributions and values, (R, n, count); base and decision, (R, n)."""
    some = table.iloc[samples] if hasattr(table, "iloc") else table[samples]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # missing values were reported at the fit
        found = list(posterior.explain(some).values())
    leading = np.array([_leading(one.values, count) for one in found])
    pairs = list(zip(found, leading, strict=True))
    return (
        leading,
        np.array([np.take_along_axis(one.values, first, axis=1) for one, first in pairs]),
        np.array([np.take_along_axis(one.data, first, axis=1) for one, first in pairs]),
        np.array([one.base_values for one in found]),
        np.array([one.decisions for one in found]),
    )


def _leading(values: Floats, count: int) -> Integers:
    """Indices of the largest contributions of every sample, largest first."""
    return np.asarray(np.argsort(-np.abs(values), axis=1, kind="stable")[:, :count], np.int64)


def rounded(values: Floats) -> list[float]:
    """Numbers rounded to five decimals, so that sums are correct to four."""
    return [float(one) for one in np.round(np.asarray(values, float), 5).tolist()]


def given(values: Floats) -> list[float | None]:
    """Values of the table with four significant digits; None where missing."""
    return [None if one != one else float(f"{one:.4g}") for one in values.tolist()]
