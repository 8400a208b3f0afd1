"""The largest contributions to every sample's decisions, as the page's script draws them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior
from rankfactor.report.sides import row_sides
from rankfactor.typing import Floats, Integers

LARGEST = 10  # contributions of a sample that are shown one by one
_FEWEST = 3
_MOST_NUMBERS = 150_000  # contributions of all samples and decisions in a page


def contributions_data(posterior: Posterior, table: Any, samples: Integers) -> dict[str, Any]:
    """Contributions of the leading features to the decisions of training samples.

    Parameters
    ----------
    posterior : Posterior
        Fitted with labels.
    table : DataFrame or array
        The training table.
    samples : array of int
        Numbers of the samples that the page has.

    Returns
    -------
    dict
        ``features`` (names of those that lead anywhere), ``total`` (features of the model),
        ``count`` (of contributions a sample) and ``rows``: for every decision its ``name``,
        ``left`` and ``right`` (classes), ``base`` and ``decision`` by sample, and by sample and
        rank ``feature`` (numbers in ``features``), ``value`` and ``given`` (as in the table).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is missing was said of the fit
        found = list(posterior.explain(table).values())
    count = int(np.clip(_MOST_NUMBERS // max(len(found) * len(samples), 1), _FEWEST, LARGEST))
    count = min(count, found[0].values.shape[1])
    leading = [_leading(one.values[samples], count) for one in found]
    named = np.unique(np.concatenate([one.ravel() for one in leading]))
    rows = []
    for one, first, sides in zip(found, leading, row_sides(posterior), strict=True):
        values = np.take_along_axis(one.values[samples], first, axis=1)
        base = one.base_values[samples]
        rows.append(
            {
                **sides,
                "base": rounded(base),
                "decision": rounded(base + one.values[samples].sum(axis=1)),
                "feature": np.searchsorted(named, first).ravel().tolist(),
                "value": rounded(values.ravel()),
                "given": given(np.take_along_axis(one.data[samples], first, axis=1).ravel()),
            }
        )
    names = [plain(found[0].feature_names[i]) for i in named]
    return {"features": names, "total": len(posterior.coding.columns), "count": count, "rows": rows}


def _leading(values: Floats, count: int) -> Integers:
    """Numbers of the largest contributions of every sample, the largest first."""
    return np.asarray(np.argsort(-np.abs(values), axis=1, kind="stable")[:, :count], np.int64)


def rounded(values: Floats) -> list[float]:
    """Numbers with five digits after the point: sums stay right to four."""
    return [float(one) for one in np.round(np.asarray(values, float), 5).tolist()]


def given(values: Floats) -> list[float | None]:
    """Values of the table with four significant digits; None where missing."""
    return [None if one != one else float(f"{one:.4g}") for one in values.tolist()]
