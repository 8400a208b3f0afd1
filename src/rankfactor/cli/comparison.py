"""The table of a comparison of models, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

_MEASURES = {"auc": "AUC", "accuracy": "accuracy", "balanced_accuracy": "balanced"}


def print_comparison(title: str, summary: pd.DataFrame) -> None:
    """Print the summary of a cross-validation on stdout.

    Parameters
    ----------
    title : str
    summary : DataFrame
        As `rankfactor.evaluation.Evaluation.summary` gives it.
    """
    # Without vertical rules it fits a terminal of 80 columns.
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("task", overflow="fold")
    table.add_column("model", no_wrap=True)
    shown = {name: heading for name, heading in _MEASURES.items() if name in summary}
    for heading in (*shown.values(), "s a fold"):
        table.add_column(heading, justify="right", no_wrap=True)
    for _, row in summary.iterrows():
        table.add_row(
            str(row["task"]),
            str(row["model"]),
            *(f"{row[name]:.3f} ({row[name + '_sd']:.3f})" for name in shown),
            f"{row['seconds']:.1f}",
        )
    Console().print(table)
