"""Meaning of a factor in one line, based on evidence.

The line names the leading features with supported loadings, those that rise and those that fall
with the factor; the classes in which the factor is higher, if stated; the block with most of the
variance it explains, if the table has blocks; and the gene sets that its features overlap with, if
sets were tested. Without such evidence, the line says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.interpret.directions import Direction, task_directions
from rankfactor.interpret.selection import leading_rows, row_names, supported_words
from rankfactor.interpret.wording import joined, percent, plain, small
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import supported_loadings

N_LEADERS = 5
_WEAK = 0.5  # of the leading correlation; weaker features are not named
_MOSTLY = 0.6  # of the variance a factor explains; above it a block is named alone
_SMALL_Q = 0.05


def factor_meanings(posterior: Posterior, tested: pd.DataFrame | None = None) -> list[str]:
    """One line per factor, in their order.

    Parameters
    ----------
    posterior : Posterior
    tested : DataFrame, optional
        Result of `rankfactor.interpret.enrich`.
    """
    directions, features = task_directions(posterior), leading_features(posterior)
    return [
        "; ".join(
            [
                features[k],
                *_classes(directions[k]),
                *_block(posterior, k),
                *_sets(posterior.factor_names[k], tested),
            ]
        )
        for k in range(posterior.n_factors)
    ]


def leading_features(posterior: Posterior, count: int = N_LEADERS) -> list[str]:
    """Supported leading features of every factor in words: "high a and b and low c"."""
    supported = supported_loadings(posterior)
    return [_features(posterior, k, supported[:, k], count) for k in range(posterior.n_factors)]


def _features(posterior: Posterior, factor: int, supported: NDArray[np.bool_], count: int) -> str:
    rows = leading_rows(posterior, factor)
    loadings = posterior.structure[posterior.coding.columns[rows], factor]
    size = np.abs(loadings)
    kept = supported[rows] & (size >= _WEAK * size[0])
    rows, loadings = rows[kept][:count], loadings[kept][:count]
    if not len(rows):
        return f"no feature with {supported_words(posterior)}"
    names = [plain(name) for name in row_names(posterior, rows)]
    sides = [
        (word, [name for name, one in zip(names, loadings, strict=True) if one * sign > 0])
        for word, sign in (("high", 1), ("low", -1))
    ]
    return joined([f"{word} {joined(side)}" for word, side in sides if side])


def _classes(directions: Sequence[Direction]) -> list[str]:
    return [f"{one.in_words()} ({plain(one.task)})" for one in directions if one.stated]


def _block(posterior: Posterior, factor: int) -> list[str]:
    names = posterior.block_names
    if not names:
        return []
    every = np.asarray(posterior.blocks)[posterior.coding.columns]
    sizes = np.array([(every == name).sum() for name in names])
    explained = np.maximum(posterior.r2_by_block[:, factor] * sizes, 0.0)
    if not explained.sum():
        return []
    shares = explained / explained.sum()
    first = int(shares.argmax())
    if shares[first] >= _MOSTLY:
        return [f"{percent(shares[first])} of it in block {plain(names[first])}"]
    named = [plain(names[i]) for i in np.argsort(-shares, kind="stable")[:2]]
    return [f"shared by blocks {joined(named)}"]


def _sets(factor: str, tested: pd.DataFrame | None) -> list[str]:
    if tested is None:
        return []
    found = tested[(tested["factor"] == factor) & (tested["q"] < _SMALL_Q)]
    said = []
    for direction, part in found.groupby("direction", sort=False):
        best = part.sort_values(["q", "p"], kind="stable").iloc[0]
        said.append(f"{direction}: {plain(best['set'])} (q = {small(best['q'])})")
    return said
