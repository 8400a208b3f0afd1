"""Gene sets that overlap with the leading features of a factor by more than chance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from rankfactor.interpret import enrich
from rankfactor.plots.style import plain
from rankfactor.posterior import Posterior
from rankfactor.report.page_tables import Column, Table, digits, table_of
from rankfactor.report.words import number

SETS_IN_TABLE = 200
_SMALL = 0.05
_NAMED = 5

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Enrichment(NamedTuple):
    """What the section says, and its table."""

    sentences: list[str]
    table: Table | None


def enriched(posterior: Posterior, gene_sets: Mapping[str, Collection[str]]) -> Enrichment:
    """Test the sets on every factor in use, both directions.

    Raises
    ------
    InputError
        If no set has enough features of the model.
    """
    frame = enrich(posterior, {name: frozenset(sets) for name, sets in gene_sets.items()})
    said = [
        f"{len(gene_sets)} sets were given. For every factor in use, and for its clear features "
        "with positive (up) and with negative loadings (down), the overlap with a set is compared "
        f"with chance among the {len(posterior.coding.columns)} features of the model "
        "(hypergeometric test). q is p adjusted for all sets tested on all lists together, after "
        "Benjamini and Hochberg."
    ]
    found = frame[frame["q"] < _SMALL]
    if found.empty:
        said.append(f"No set has a q-value below {_SMALL}.")
        return Enrichment(said, _table(frame) if len(frame) else None)
    best = found.sort_values(["q", "p"], kind="stable").head(_NAMED)
    named = "; ".join(
        f"{plain(name)} ({factor}, {side}: {overlap} of {size}, q = {small(q)})"
        for name, factor, side, overlap, size, q in zip(
            *(best[c] for c in ("set", "factor", "direction", "overlap", "size")),
            best["q"].to_numpy(float).tolist(),
            strict=True,
        )
    )
    said.append(f"{len(found)} overlaps have a q-value below {_SMALL}. The smallest: {named}.")
    return Enrichment(said, _table(frame))


def small(value: float) -> str:
    """A p-value: three digits, or its power of ten where it is smaller."""
    if not np.isfinite(value) or value >= 1e-3:
        return number(value, 3)
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"


def _table(frame: pd.DataFrame) -> Table:
    """Gene sets by their q-value, the smallest first."""
    frame = frame.sort_values(["q", "p"], kind="stable").head(SETS_IN_TABLE)
    return table_of(
        frame,
        {
            "factor": Column("Factor"),
            "direction": Column("Direction"),
            "set": Column("Set"),
            "overlap": Column("Overlap", digits(0)),
            "expected": Column("Expected", digits(1)),
            "size": Column("Size", digits(0)),
            "odds": Column("Odds ratio", digits(1)),
            "p": Column("p", small),
            "q": Column("q", small),
            "features": Column("Features"),
        },
        "gene-sets",
        f"At most {SETS_IN_TABLE} sets, the smallest q-values first; sets without an overlap are "
        "not listed.",
    )
