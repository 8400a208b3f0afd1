"""The paper's numbers: Tables 2 to 5 of Yuan, Henao, Tsalik, Langley and Carin (ICML 2015).

The models have this library's names; the paper's NL-SVM, an SVM with a radial kernel, is RBF-SVM.
"""

from __future__ import annotations

from typing import NamedTuple


class Error(NamedTuple):
    """Test error and its standard deviation over repetitions in %, and seconds."""

    error: float
    sd: float | None
    seconds: float


class Area(NamedTuple):
    """AUC with its error bar, and accuracy."""

    auc: float
    sd: float
    accuracy: float


def _areas(
    tasks: list[str], printed: dict[str, list[float]]
) -> tuple[dict[str, dict[str, Area]], dict[str, float]]:
    """Areas by task, then by model, and seconds of one fold, all tasks together, by model.

    Printed are, by model, AUC, error bar and accuracy of every task, and the seconds.
    """
    areas = {
        task: {model: Area(*row[3 * i : 3 * i + 3]) for model, row in printed.items()}
        for i, task in enumerate(tasks)
    }
    return areas, {model: row[-1] for model, row in printed.items()}


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
    "L-SVM": Error(4.68, None, 140),
    "G-NL-BSVM": Error(4.21, 0.010, 400),
    "R-NL-BSVM": Error(2.10, 0.007, 600),
    "RBF-SVM": Error(2.00, None, 304),
}

# fmt: off
# The data are GSE39941.
TB, TB_SECONDS = _areas(
    ["TB vs. Others", "Active TB vs. Others", "Latent TB vs. Others", "HIV(+) vs. HIV(-)"], {
    "PFA-L-BSVM": [.740, .102, .683,  .802, .070, .775,  .849, .051, .802,  .850, .056, .793,  130],
    "G-L-BSVM":   [.766, .093, .704,  .857, .050, .784,  .907, .037, .841,  .879, .055, .844,  141],
    "R-L-BSVM":   [.814, .052, .740,  .896, .028, .832,  .923, .041, .868,  .900, .055, .856,  180],
    "G-NL-BSVM":  [.847, .061, .778,  .921, .034, .853,  .934, .029, .874,  .915, .041, .850,  330],
    "R-NL-BSVM":  [.872, .025, .781,  .948, .021, .880,  .954, .025, .889,  .959, .051, .901,  450],
})

# The data are GSE63042.
RNASEQ, RNASEQ_SECONDS = _areas(["SIRS vs. Se", "SeD vs. SeS", "SIRS vs. SeS"], {
    "PFA-L-BSVM": [.70, .04, .73,  .76, .05, .70,  .75, .02, .71,  179],
    "G-L-BSVM":   [.78, .02, .76,  .76, .01, .75,  .87, .01, .71,  175],
    "R-L-BSVM":   [.86, .01, .81,  .82, .02, .78,  .91, .01, .87,  226],
})
# fmt: on
