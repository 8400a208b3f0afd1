"""The paper's numbers: Tables 2 to 5 of Yuan, Henao, Tsalik, Langley and Carin (ICML 2015).

The models have this library's names; the paper's NL-SVM, an SVM with a radial kernel, is RBF-SVM.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple


class Error(NamedTuple):
    """Test error and its standard deviation over repeats in %, and seconds."""

    error: float = nan
    error_sd: float = nan
    seconds: float = nan


class Area(NamedTuple):
    """AUC with its error bar, accuracy, and seconds of one fold, all tasks together."""

    auc: float = nan
    auc_sd: float = nan
    accuracy: float = nan
    seconds: float = nan


def beside(numbers: Error | Area) -> dict[str, float]:
    """The paper's numbers under their column names."""
    return {f"paper_{name}": value for name, value in numbers._asdict().items()}


def _areas(tasks: list[str], printed: dict[str, list[float]]) -> dict[str, dict[str, Area]]:
    """Areas by task, then by model.

    Input by model: AUC, error bar and accuracy of every task, and the seconds.
    """
    return {
        task: {model: Area._make([*row[3 * i :][:3], row[-1]]) for model, row in printed.items()}
        for i, task in enumerate(tasks)
    }


USPS = {
    "G-L-Probit": Error(5.95, 0.005, 8.64),
    "G-L-BSVM": Error(5.86, 0.008, 10.29),
    "OR-L-Probit": Error(5.05, 0.013, 14.07),
    "OR-L-BSVM": Error(4.92, 0.027, 14.19),
    "R-L-BSVM": Error(4.53, 0.026, 16.05),
    "G-NL-BSVM": Error(3.88, 0.017, 23.81),
    "R-NL-BSVM": Error(3.23, 0.025, 36.63),
}

MNIST = {
    "G-L-BSVM": Error(5.05, 0.053, 150),
    "R-L-BSVM": Error(4.84, 0.014, 220),
    "L-SVM": Error(4.68, nan, 140),
    "G-NL-BSVM": Error(4.21, 0.010, 400),
    "R-NL-BSVM": Error(2.10, 0.007, 600),
    "RBF-SVM": Error(2.00, nan, 304),
}

# fmt: off
# The data are GSE39941.
TB = _areas(
    ["TB vs. Others", "Active TB vs. Others", "Latent TB vs. Others", "HIV(+) vs. HIV(-)"], {
    "PFA-L-BSVM": [.740, .102, .683,  .802, .070, .775,  .849, .051, .802,  .850, .056, .793,  130],
    "G-L-BSVM":   [.766, .093, .704,  .857, .050, .784,  .907, .037, .841,  .879, .055, .844,  141],
    "R-L-BSVM":   [.814, .052, .740,  .896, .028, .832,  .923, .041, .868,  .900, .055, .856,  180],
    "G-NL-BSVM":  [.847, .061, .778,  .921, .034, .853,  .934, .029, .874,  .915, .041, .850,  330],
    "R-NL-BSVM":  [.872, .025, .781,  .948, .021, .880,  .954, .025, .889,  .959, .051, .901,  450],
})

# The data are GSE63042.
RNASEQ = _areas(["SIRS vs. Se", "SeD vs. SeS", "SIRS vs. SeS"], {
    "PFA-L-BSVM": [.70, .04, .73,  .76, .05, .70,  .75, .02, .71,  179],
    "G-L-BSVM":   [.78, .02, .76,  .76, .01, .75,  .87, .01, .71,  175],
    "R-L-BSVM":   [.86, .01, .81,  .82, .02, .78,  .91, .01, .87,  226],
})
# fmt: on
