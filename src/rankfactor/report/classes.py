"""Figures and tables of how well each class is predicted on held-out samples."""

from __future__ import annotations

import pandas as pd

from rankfactor.interpret.accuracy import known_decisions
from rankfactor.interpret.held_out import class_table
from rankfactor.interpret.wording import joined, number, plain
from rankfactor.plots import confusion_figure, roc_figure
from rankfactor.posterior import Posterior
from rankfactor.report.figures import InlineFigure, inline_figure
from rankfactor.report.page_tables import Cell, Column, Table, cell, digits

_COLUMNS = ("sample", "task", "model", "label", "decision")


def predicted_tasks(posterior: Posterior, decisions: pd.DataFrame | None) -> list[tuple[int, str]]:
    """Number and name of the model's tasks with predicted classes in the decisions."""
    if posterior.classifiers is None or decisions is None or "predicted" not in decisions:
        return []
    there = set(known_decisions(decisions, _COLUMNS)["task"].astype(str))
    names = [task.name for task in posterior.classifiers.tasks]
    return [(place, name) for place, name in enumerate(names) if name in there]


def class_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """Confusion matrix of every task and, with more than two classes, one-vs-rest ROC curves."""
    figures = []
    for place, task in predicted_tasks(posterior, decisions):
        assert decisions is not None
        frame = class_table(decisions, task, tasks=posterior)
        name, classes = plain(task), [plain(label) for label in frame["class"]]
        right = joined(
            [f"{label} {number(100 * one, 0)} %" for label, one in _pairs(frame, "sensitivity")]
        )
        confusion = inline_figure(
            confusion_figure(decisions, task, tasks=posterior),
            f"fig-confusion-{place}",
            f"Confusion matrix of {name}, held-out samples. Predicted correctly: {right}.",
            f"{name}: held-out samples by true and predicted class. Shading: share of the true "
            "class. Framed: correct.",
        )
        figures.append(confusion)
        if len(classes) > 2 and "positive" in decisions:
            areas = joined([f"{label} {number(one)}" for label, one in _pairs(frame, "auc")])
            curves = inline_figure(
                roc_figure(decisions, task),
                f"fig-classes-{place}",
                f"One-vs-rest ROC of every class of {name}, held-out samples. AUC: {areas}.",
                f"{name}: one-vs-rest ROC of every class on held-out samples, mean over folds; AUC "
                "in parentheses.",
            )
            figures.append(curves)
    return figures


def class_tables(posterior: Posterior, decisions: pd.DataFrame | None) -> list[Table]:
    """Sensitivity, specificity, precision and AUC of the classes of every task."""
    tables = []
    for _, task in predicted_tasks(posterior, decisions):
        assert decisions is not None
        frame = class_table(decisions, task, tasks=posterior)
        columns = [
            Column("Class"),
            Column("Samples", digits(0)),
            *(Column(name, digits(2)) for name in ("Sensitivity", "Specificity", "Precision")),
            Column("AUC", digits(2)),
            Column("95 % interval"),
        ]
        rows = [
            [
                cell(row["class"], None),
                cell(row["n"], digits(0)),
                *(cell(row[name], digits(2)) for name in ("sensitivity", "specificity")),
                *(cell(row[name], digits(2)) for name in ("precision", "auc")),
                Cell(f"{number(row['auc_low'])} to {number(row['auc_high'])}"),
            ]
            for row in frame.to_dict("records")
        ]
        caption = (
            f"{plain(task)}: held-out samples by class. Sensitivity: share of the class that is "
            "predicted correctly. Specificity: share of the other samples that are not predicted "
            "as the class. Precision: share of the predictions of the class that are correct. AUC: "
            "one-vs-rest."
        )
        tables.append(Table("classes", caption, columns, rows))
    return tables


def _pairs(frame: pd.DataFrame, column: str) -> list[tuple[str, float]]:
    values = zip(frame["class"], frame[column].astype(float), strict=True)
    return [(plain(label), value) for label, value in values]
