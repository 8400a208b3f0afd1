"""`Evaluation`: result of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from rankfactor.auc import NO_AUC, comparisons, fold_aucs

MEASURES = ["auc", "accuracy", "balanced_accuracy"]
FOLD_COLUMNS = [
    *("model", "task", "repeat", "fold", "n_train", "n_test"),
    *MEASURES,
    *("seconds", "chosen", "convergence"),
]
DECISION_COLUMNS = [
    *("sample", "task", "model", "repeat", "fold"),
    *("label", "predicted", "positive", "decision", "probability"),
]
GROUP = "group"  # further column of decisions, if groups were given


# Equality of frames is elementwise, so the generated comparison has no single truth value.
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of every fold and the decisions behind them.

    Attributes
    ----------
    folds : DataFrame
        One row per model, task, repeat and fold (numbered from 1): ``n_train`` and ``n_test``
        (samples with a label of the task), ``auc`` (one-vs-rest mean over classes with more than
        two), ``accuracy``, ``balanced_accuracy``, ``seconds`` (to fit all tasks together and to
        predict), ``chosen`` (settings chosen by inner cross-validation, such as "n_factors=10";
        empty if none) and ``convergence`` ("converged" or "not converged"; empty for other models).
    decisions : DataFrame
        One row per labelled sample, task, model and repeat: the decision for the class ``positive``
        when the sample was held out, its true ``label`` and the class ``predicted``. With two
        classes ``positive`` is the second, unless another was requested; with more there is one row
        per class. ``probability`` is that of the class ``positive``, NaN for models without
        probabilities. ``group`` is the number of the sample's group, if groups were given.
    complete : bool
        False if the cross-validation was interrupted; only finished folds are kept.
    n_planned : int
        Number of planned folds of all repeats.
    """

    folds: pd.DataFrame
    decisions: pd.DataFrame
    complete: bool = True
    n_planned: int = 0

    @property
    def n_done(self) -> int:
        """Number of finished folds of all repeats."""
        return len(self.folds.drop_duplicates(["repeat", "fold"]))

    def summary(self) -> pd.DataFrame:
        """One row per task and model, in the order given.

        Measures are means over folds, with standard deviations as ``auc_sd`` and so on (NaN with
        fewer than two folds). ``auc_low`` and ``auc_high`` are the 95 % interval of the AUC
        (`rankfactor.auc`). Folds without an AUC are left out of its mean. Further columns:
        ``seconds``, ``folds_done`` and ``folds_planned``.
        """
        rows = []
        areas = fold_aucs(self.decisions)
        for task in self.folds["task"].unique():
            for model in self.folds["model"].unique():
                part = self.folds[(self.folds["task"] == task) & (self.folds["model"] == model)]
                row = {"task": task, "model": model}
                for name in MEASURES:
                    row |= {name: part[name].mean(), f"{name}_sd": part[name].std()}
                    if name == "auc":
                        area = areas.get((str(task), str(model)), NO_AUC).interval()
                        row |= {"auc_low": area.low, "auc_high": area.high}
                row["seconds"] = part["seconds"].mean()
                row["folds_done"] = self.n_done
                row["folds_planned"] = self.n_planned or self.n_done
                rows.append(row)
        return pd.DataFrame(rows)

    def comparisons(self) -> pd.DataFrame:
        """Paired differences between the first model and each of the others, by task.

        Returns
        -------
        DataFrame
            task, model (the first), other, difference (of the AUC; positive where ``model`` is
            better), low and high (its 95 % interval, paired by samples), folds_better and
            folds_equal (of ``model``), folds (where both have an AUC).
        """
        return comparisons(self.decisions)
