"""Tables of the page: what is read, what is sorted by, and what goes into a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.interpret import coefficient_table, edge_table, factor_table, top_features
from rankfactor.plots.select import shown_factors
from rankfactor.plots.style import percent, plain
from rankfactor.posterior import Posterior
from rankfactor.report.words import leaders, number

FEATURES_IN_TABLE = 25
EDGES_IN_TABLE = 200


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


class FeatureRow(NamedTuple):
    """A line of a factor's table; ``bar`` is the loading's size in per cent of the largest."""

    name: str
    loading: Cell
    interval: Cell
    lfsr: Cell
    higher_in: str
    bar: int
    negative: bool


class FactorTable(NamedTuple):
    """Leading features of a factor."""

    number: int
    name: str
    share: str
    leaders: str
    rows: list[FeatureRow]
    is_open: bool


def rate(value: float) -> str:
    """A rate with three digits, never rounded to zero."""
    return "< 0.001" if value < 5e-4 else number(value, 3)


def digits(count: int) -> Callable[[float], str]:
    """Writer of numbers with so many digits after the point."""
    return lambda value: number(value, count)


def cell(value: Any, write: Callable[[float], str] | None) -> Cell:
    """Cell of a value; numbers are kept with six digits for sorting and saving."""
    if write is None:
        return Cell(plain(value))
    return Cell(write(float(value)), kept(float(value)))


def kept(value: float) -> str:
    """Number with six digits, nothing where it is not known."""
    return f"{value:.6g}" if np.isfinite(value) else ""


def table_of(frame: pd.DataFrame, columns: Mapping[str, Column], name: str, caption: str) -> Table:
    """Table of some columns of a frame."""
    rows = [
        [cell(value, column.write) for value, column in zip(line, columns.values(), strict=True)]
        for line in frame[list(columns)].itertuples(index=False, name=None)
    ]
    return Table(name, caption, list(columns.values()), rows)


def factor_overview(posterior: Posterior) -> Table:
    """All factors in use: share, clear features, what they speak for."""
    frame = factor_table(posterior).iloc[shown_factors(posterior)]
    frame = frame.assign(share=100 * frame["share"])
    columns = {
        "factor": Column("Factor"),
        "share": Column("Share (%)", digits(1)),
        "n_features": Column("Clear features", digits(0)),
        "task": Column("Task"),
        "direction": Column("Direction"),
        "top_features": Column("Led by"),
    }
    if posterior.classifiers is None:
        del columns["task"], columns["direction"]
    return table_of(
        frame,
        columns,
        "factors",
        "Factors in use. Share: of what all factors explain. Clear features: see Methods."
        + ("" if posterior.classifiers is None else " Task: where its coefficient is largest."),
    )


def coefficients_in_full(posterior: Posterior) -> Table:
    """Coefficients of every factor in use, with their intervals."""
    frame = coefficient_table(posterior)
    used = {posterior.factor_names[k] for k in shown_factors(posterior)}
    frame = frame[frame["factor"].isin(used)]
    return table_of(
        frame,
        {
            "task": Column("Task"),
            "class": Column("Class"),
            "factor": Column("Factor"),
            "coefficient": Column("Coefficient", digits(3)),
            "low": Column("Low", digits(3)),
            "high": Column("High", digits(3)),
            "lfsr": Column("LFSR", rate),
        },
        "coefficients",
        "Change of the decision for the class, for one standard deviation of the factor, with its "
        "90 % interval.",
    )


def factor_tables(posterior: Posterior, opened: set[int]) -> list[FactorTable]:
    """Leading features of the factors in use; tables in ``opened`` are unfolded."""
    frame = top_features(posterior, n=FEATURES_IN_TABLE)
    tables = []
    for k in shown_factors(posterior):
        part = frame[frame["factor"] == posterior.factor_names[k]]
        longest = float(part["loading"].abs().max()) or 1.0
        rows = [
            FeatureRow(
                plain(row.feature),
                cell(row.loading, digits(3)),
                Cell(
                    f"{number(row.low, 2)} to {number(row.high, 2)}",
                    f"{kept(row.low)}|{kept(row.high)}",
                ),
                cell(row.lfsr, rate),
                plain(row.higher_in),
                round(100 * abs(row.loading) / longest),
                bool(row.loading < 0),
            )
            for row in part.itertuples(index=False)
        ]
        tables.append(
            FactorTable(
                int(k) + 1,
                posterior.factor_names[k],
                percent(posterior.shares[k]),
                leaders(posterior, int(k)),
                rows,
                int(k) in opened,
            )
        )
    return tables


def edge_overview(graph: object) -> Table:
    """The strongest links of a network."""
    frame = edge_table(graph)
    caption = f"The {EDGES_IN_TABLE} strongest of {len(frame)} links."
    return table_of(
        frame.head(EDGES_IN_TABLE),
        {
            "feature": Column("Feature"),
            "other": Column("Linked with"),
            "correlation": Column("Correlation", digits(3)),
        },
        "network",
        caption if len(frame) > EDGES_IN_TABLE else "All links, the strongest first.",
    )
