"""Quality of the training table: what is missing, tied, constant or suspect."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from rankfactor.interpret.quality import Quality, table_quality
from rankfactor.interpret.wording import plain
from rankfactor.plots import missing_figure
from rankfactor.posterior import Posterior
from rankfactor.report.figures import InlineFigure, inline_figure
from rankfactor.report.page_tables import Cell, Column, Table, cell, digits

_MOST_ROWS = 200  # features or samples of a table


class QualitySection(NamedTuple):
    """Parts of the section."""

    sentences: list[str]
    figures: list[InlineFigure]
    tables: list[Table]


def quality_section(posterior: Posterior, table: Any) -> QualitySection | None:
    """Sentences, figures and tables on the training table; None without it."""
    if table is None:
        return None
    found = table_quality(table, posterior)
    figures = [] if not found.missing else [_missing(found)]
    tables = [one for one in (_features(found), _samples(found)) if one is not None]
    return QualitySection([*map(plain, found.sentences())], figures, tables)


def _missing(found: Quality) -> InlineFigure:
    return inline_figure(
        missing_figure(found),
        "fig-missing",
        "Histograms of the share of missing values, by feature and by sample; the largest are in "
        "the tables.",
        "Features and samples by their share of missing values. Pale: none missing.",
    )


def _features(found: Quality) -> Table | None:
    """Features with missing values, few values or ties, the most conspicuous first."""
    frame = found.features
    odd = frame["constant"] | (frame["n_missing"] > 0) | frame["feature"].isin(found.tied)
    if not odd.any():
        return None
    chosen = frame[odd].sort_values(["missing", "commonest_share"], ascending=False, kind="stable")
    columns = [
        Column("Feature"),
        Column("Missing (%)", digits(1)),
        Column("Different values", digits(0)),
        Column("Commonest value (%)", digits(0)),
    ]
    rows = [
        [
            cell(row["feature"], None),
            cell(100 * row["missing"], digits(1)),
            cell(row["distinct"], digits(0)),
            cell(100 * row["commonest_share"], digits(0)),
        ]
        for row in chosen.head(_MOST_ROWS).to_dict("records")
    ]
    caption = _caption("features with missing values, many ties or a single value", chosen)
    return Table("data-quality-features", caption, columns, rows)


def _samples(found: Quality) -> Table | None:
    """Samples with missing values, the most first."""
    frame = found.samples[found.samples["n_missing"] > 0]
    if frame.empty:
        return None
    chosen = frame.sort_values("n_missing", ascending=False, kind="stable")
    columns = [Column("Sample"), Column("Missing", digits(0)), Column("Missing (%)", digits(1))]
    rows = [
        [
            Cell(plain(row["sample"])),
            cell(row["n_missing"], digits(0)),
            cell(100 * row["missing"], digits(1)),
        ]
        for row in chosen.head(_MOST_ROWS).to_dict("records")
    ]
    return Table(
        "data-quality-samples", _caption("samples with missing values", chosen), columns, rows
    )


def _caption(what: str, chosen: pd.DataFrame) -> str:
    if len(chosen) <= _MOST_ROWS:
        return f"All {what}, the most first."
    return f"The first {_MOST_ROWS} of {len(chosen)} {what}, the most first."
