"""Tables of the page: what is read, what is sorted by, and what goes into a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.interpret import coefficient_table, edge_table, factor_table, top_features
from rankfactor.interpret.overview import leaders
from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.wording import number, percent, plain, rate, small
from rankfactor.posterior import Posterior

FEATURES_IN_TABLE = 25
_MOST_ROWS = 200  # of links or of gene sets


class Cell(NamedTuple):
    """A cell: its text, and the number that it is sorted and saved by (empty for text).

    An interval has two, with a bar between them.
    """

    text: str
    value: str = ""


class Column(NamedTuple):
    """A column of a frame: its heading, and how a number is written (None for text)."""

    heading: str
    write: Callable[[float], str] | None = None


class Table(NamedTuple):
    """A table of the page; ``name`` is that of the file that it can be saved as."""

    name: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]


def digits(count: int) -> Callable[[float], str]:
    """Writer of numbers with so many digits after the point."""
    return lambda value: number(value, count)


# Columns of all frames by their name there.
_COLUMNS = {
    "factor": Column("Factor"),
    "share": Column("Variance (%)", digits(1)),
    "n_features": Column("Clear features", digits(0)),
    "task": Column("Task"),
    "class": Column("Class"),
    "direction": Column("Direction"),
    "meaning": Column("What it stands for"),
    "coefficient": Column("Coefficient", digits(3)),
    "low": Column("Low", digits(3)),
    "high": Column("High", digits(3)),
    "lfsr": Column("LFSR", rate),
    "feature": Column("Feature"),
    "other": Column("Linked with"),
    "correlation": Column("Correlation", digits(3)),
    "set": Column("Set"),
    "overlap": Column("Overlap", digits(0)),
    "expected": Column("Expected", digits(1)),
    "size": Column("Size", digits(0)),
    "odds": Column("Odds ratio", digits(1)),
    "p": Column("p", small),
    "q": Column("q", small),
    "features": Column("Features"),
}


def cell(value: Any, write: Callable[[float], str] | None) -> Cell:
    """Cell of a value; numbers are kept with six digits for sorting and saving."""
    if write is None:
        return Cell(plain(value))
    return Cell(write(float(value)), kept(float(value)))


def kept(value: float) -> str:
    """Number with six digits, nothing where it is not known."""
    return f"{value:.6g}" if np.isfinite(value) else ""


def table_of(frame: pd.DataFrame, names: Sequence[str], name: str, caption: str) -> Table:
    """Table of some columns of a frame."""
    columns = [_COLUMNS[one] for one in names]
    rows = [
        [cell(value, column.write) for value, column in zip(line, columns, strict=True)]
        for line in frame[list(names)].itertuples(index=False, name=None)
    ]
    return Table(name, caption, columns, rows)


def factor_overview(posterior: Posterior, tested: pd.DataFrame | None = None) -> Table:
    """All factors in use: share, clear features, what they stand for."""
    frame = factor_table(posterior, tested).iloc[shown_factors(posterior)]
    frame = frame.assign(share=100 * frame["share"])
    caption = (
        "Factors in use. Variance: what a factor explains of the variance of all features. Clear "
        "features: see Methods. High and low name the features that lead a factor and are clear."
    )
    return table_of(frame, ["factor", "meaning", "share", "n_features"], "factors", caption)


def coefficients_in_full(posterior: Posterior) -> Table:
    """Coefficients of every factor in use, with their intervals."""
    frame = coefficient_table(posterior)
    used = {posterior.factor_names[k] for k in shown_factors(posterior)}
    return table_of(
        frame[frame["factor"].isin(used)],
        ("task", "class", "factor", "coefficient", "low", "high", "lfsr"),
        "coefficients",
        "Change of the decision for the class, for one standard deviation of the factor, with its "
        "90 % interval.",
    )


def factor_tables(posterior: Posterior, opened: set[int]) -> list[dict[str, Any]]:
    """Leading features of the factors in use; tables in ``opened`` are unfolded.

    A row's ``bar`` is the size of the loading in per cent of the factor's largest.
    """
    frame = top_features(posterior, n=FEATURES_IN_TABLE)
    tables = []
    for k in shown_factors(posterior):
        part = frame[frame["factor"] == posterior.factor_names[k]]
        longest = float(part["loading"].abs().max()) or 1.0
        rows = [
            {
                "name": plain(row["feature"]),
                "loading": cell(row["loading"], digits(3)),
                "pattern": cell(row["pattern"], digits(3)),
                "interval": Cell(
                    f"{number(row['low'])} to {number(row['high'])}",
                    f"{kept(row['low'])}|{kept(row['high'])}",
                ),
                "lfsr": cell(row["lfsr"], rate),
                "higher_in": plain(row["higher_in"]),
                "bar": round(100 * abs(row["loading"]) / longest),
                "negative": row["loading"] < 0,
            }
            for row in part.to_dict("records")
        ]
        tables.append(
            {
                "number": k + 1,
                "name": posterior.factor_names[k],
                "share": percent(posterior.shares[k]),
                "leaders": plain(leaders(posterior, k, 3)),
                "rows": rows,
                "is_open": k in opened,
            }
        )
    return tables


def edge_overview(graph: object) -> Table:
    """The strongest links of a network."""
    frame = edge_table(graph)
    caption = "All links, the strongest first."
    if len(frame) > _MOST_ROWS:
        caption = f"The {_MOST_ROWS} strongest of {len(frame)} links."
    columns = ("feature", "other", "correlation")
    return table_of(frame.head(_MOST_ROWS), columns, "network", caption)


def gene_sets_overview(found: pd.DataFrame) -> Table:
    """Gene sets by their q-value, the smallest first."""
    columns = "factor direction set overlap expected size odds p q features"
    return table_of(
        found.sort_values(["q", "p"], kind="stable").head(_MOST_ROWS),
        columns.split(),
        "gene-sets",
        f"At most {_MOST_ROWS} sets, the smallest q-values first; sets without an overlap are not "
        "listed.",
    )
