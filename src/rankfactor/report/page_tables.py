"""Tables of the page: displayed text, sort keys and values saved as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.auc import Difference
from rankfactor.interpret import coefficient_table, edge_table, factor_table, top_features
from rankfactor.interpret.accuracy import Score
from rankfactor.interpret.directions import higher_in, task_directions
from rankfactor.interpret.meaning import leading_features
from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.wording import number, percent, plain, small
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import assessed
from rankfactor.report.held_out_samples import misclassified
from rankfactor.report.labels import SPREAD

FEATURES_IN_TABLE = 25
_MOST_ROWS = 200  # of links, gene sets or misclassified samples
_SIDES = (("positive", 1), ("negative", -1))


class Cell(NamedTuple):
    """A cell: its text, and the number used for sorting and saving (empty for text).

    An interval has two numbers, separated by a bar.
    """

    text: str
    value: str = ""


class Column(NamedTuple):
    """A column: its heading, its number format (None for text), and whether it holds prose."""

    heading: str
    write: Callable[[float], str] | None = None
    prose: bool = False


class Table(NamedTuple):
    """A table of the page; ``name`` is the name of its CSV file."""

    name: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]


def digits(count: int) -> Callable[[float], str]:
    """Number format with this many decimals."""
    return lambda value: number(value, count)


def short(value: float) -> str:
    """Number with four significant digits."""
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}") if np.isfinite(value) else "–"


# Columns of all frames by their name there.
_COLUMNS = {
    "factor": Column("Factor"),
    "share": Column("Variance (%)", digits(1)),
    "n_features": Column("Clear features", digits(0)),
    "match": Column("Match", digits(2)),
    "task": Column("Task"),
    "class": Column("Class"),
    "direction": Column("Direction"),
    "meaning": Column("What it stands for", prose=True),
    "coefficient": Column("Coefficient", digits(3)),
    "sd": Column(SPREAD, digits(3)),
    "feature": Column("Feature"),
    "effect": Column("Effect", digits(3)),
    "probability": Column("Change of probability", digits(3)),
    "from": Column("First quartile", short),
    "to": Column("Third quartile", short),
    "selected": Column("Selected (%)", digits(0)),
    "clear": Column("Clear"),
    "other": Column("Linked with"),
    "correlation": Column("Correlation", digits(3)),
    "set": Column("Set"),
    "overlap": Column("Overlap", digits(0)),
    "expected": Column("Expected", digits(1)),
    "size": Column("Size", digits(0)),
    "odds": Column("Odds ratio", digits(1)),
    "p": Column("p", small),
    "q": Column("q", small),
    "features": Column("Features", prose=True),
}


def cell(value: Any, write: Callable[[float], str] | None) -> Cell:
    """Cell of a value; numbers keep six digits for sorting and saving."""
    if write is None:
        return Cell(plain(value))
    return Cell(write(float(value)), kept(float(value)))


def kept(value: float) -> str:
    """Number with six digits; empty where unknown."""
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
    """All factors in use: share, meaning and, if assessed, number of clear features."""
    frame = factor_table(posterior, tested).iloc[shown_factors(posterior)]
    frame = frame.assign(share=100 * frame["share"])
    names = ["factor", "meaning", "share"]
    caption = (
        "Factors in use. Variance: the share of the variance of all features that a factor "
        "explains. High and low: the factor's leading features."
    )
    if assessed(posterior):
        names.append("n_features")
        caption += " Clear features: see Methods."
    if posterior.stability is not None:
        names.append("match")
        frame["match"] = posterior.stability.factor_match[shown_factors(posterior)]
        caption += " Match: mean cosine between the loadings and those of the half-sample fits."
    return table_of(frame, names, "factors", caption)


def variance_by_block(posterior: Posterior) -> Table:
    """R^2 of every block, in total and by factor in use, in per cent."""
    used, shares = shown_factors(posterior), 100 * posterior.r2_by_block
    percent_of = digits(1)
    columns = [Column("Block"), Column("All factors", percent_of)]
    columns += [Column(posterior.factor_names[k], percent_of) for k in used]
    rows = [
        [cell(name, None), *(cell(value, percent_of) for value in (own.sum(), *own[used]))]
        for name, own in zip(posterior.block_names, shares, strict=True)
    ]
    caption = (
        "R² by block: the share of the variance of a block's features that the factors explain, in "
        "per cent."
    )
    return Table("variance", caption, columns, rows)


def coefficients_in_full(posterior: Posterior) -> Table:
    """Coefficients of every factor in use, with their spread if assessed."""
    frame = coefficient_table(posterior)
    used = {posterior.factor_names[k] for k in shown_factors(posterior)}
    names = ["task", "class", "factor", "coefficient"]
    if assessed(posterior):
        names.append("sd")
    return table_of(
        frame[frame["factor"].isin(used)],
        names,
        "coefficients",
        "Change of the decision for the class, for one standard deviation of the factor.",
    )


def factor_tables(posterior: Posterior, opened: set[int]) -> list[dict[str, Any]]:
    """Leading features of the factors in use; tables in ``opened`` are unfolded.

    A row's ``share`` is its loading in units of the factor's largest.
    """
    frame = top_features(posterior, n=FEATURES_IN_TABLE)
    effects, named, tables = task_directions(posterior), leading_features(posterior, 3), []
    for k in shown_factors(posterior):
        part = frame[frame["factor"] == posterior.factor_names[k]]
        longest = float(part["loading"].abs().max()) or 1.0
        rows = [
            {
                "name": plain(row["feature"]),
                "loading": cell(row["loading"], digits(3)),
                "share": row["loading"] / longest,
                "pattern": cell(row["pattern"], digits(3)),
                "sd": cell(row["sd"], digits(3)),
                "is_clear": "yes" if row["clear"] is True else "no",
            }
            for row in part.to_dict("records")
        ]
        sides = [(word, higher_in(effects[k], sign)) for word, sign in _SIDES]
        tables.append(
            {
                "number": k + 1,
                "name": posterior.factor_names[k],
                "share": percent(posterior.shares[k]),
                "leaders": named[k],
                "sides": " ".join(
                    f"Features with {word} loadings are higher in: {plain(text)}."
                    for word, text in sides
                    if text
                ),
                "rows": rows,
                "is_open": k in opened,
            }
        )
    return tables


def paired_differences(
    scores: Mapping[str, Sequence[Score]], found: Mapping[str, Mapping[str, Difference]]
) -> Table | None:
    """AUC of the report's model minus that of each other model; None where unknown."""
    columns = [Column("Task"), Column("Compared with"), Column("Difference", digits(3))]
    columns += [Column("95 % interval"), Column("Better in folds"), Column("Folds", digits(0))]
    rows = [
        [
            Cell(task),
            Cell(other),
            cell(one.difference, digits(3)),
            Cell("–" if np.isnan(one.low) else f"{number(one.low, 3)} to {number(one.high, 3)}"),
            Cell(str(one.folds_better)),
            cell(one.folds, digits(0)),
        ]
        for task, others in found.items()
        for other, one in others.items()
        if task in scores
    ]
    caption = (
        "Paired differences: AUC of this report's model minus that of the other model, on the "
        "same held-out samples."
    )
    return Table("differences", caption, columns, rows) if rows else None


def missed_samples(data: dict[str, Any]) -> list[Table]:
    """Misclassified samples of every task, for readers without JavaScript."""
    tables = []
    for task in data["tasks"]:
        wrong, n_known = misclassified(np.array(task["codes"]), task)
        if wrong is None:
            continue
        names, classes = data["samples"], task["classes"]
        rows = [
            [Cell(names[i]), Cell(classes[task["codes"][i]]), Cell(classes[task["predicted"][i]])]
            for i in wrong[:_MOST_ROWS].tolist()
        ]
        caption = (
            f"{task['name']}: {len(wrong)} of {n_known} samples are misclassified when held out."
        )
        columns = [Column("Sample"), Column("Class"), Column("Predicted")]
        tables.append(Table("misclassified", caption, columns, rows))
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
