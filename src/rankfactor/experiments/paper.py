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

# By task, then by model. The data are GSE39941.
TB = {
    "TB vs. Others": {
        "PFA-L-BSVM": Area(0.740, 0.102, 0.683),
        "G-L-BSVM": Area(0.766, 0.093, 0.704),
        "R-L-BSVM": Area(0.814, 0.052, 0.740),
        "G-NL-BSVM": Area(0.847, 0.061, 0.778),
        "R-NL-BSVM": Area(0.872, 0.025, 0.781),
    },
    "Active TB vs. Others": {
        "PFA-L-BSVM": Area(0.802, 0.070, 0.775),
        "G-L-BSVM": Area(0.857, 0.050, 0.784),
        "R-L-BSVM": Area(0.896, 0.028, 0.832),
        "G-NL-BSVM": Area(0.921, 0.034, 0.853),
        "R-NL-BSVM": Area(0.948, 0.021, 0.880),
    },
    "Latent TB vs. Others": {
        "PFA-L-BSVM": Area(0.849, 0.051, 0.802),
        "G-L-BSVM": Area(0.907, 0.037, 0.841),
        "R-L-BSVM": Area(0.923, 0.041, 0.868),
        "G-NL-BSVM": Area(0.934, 0.029, 0.874),
        "R-NL-BSVM": Area(0.954, 0.025, 0.889),
    },
    "HIV(+) vs. HIV(-)": {
        "PFA-L-BSVM": Area(0.850, 0.056, 0.793),
        "G-L-BSVM": Area(0.879, 0.055, 0.844),
        "R-L-BSVM": Area(0.900, 0.055, 0.856),
        "G-NL-BSVM": Area(0.915, 0.041, 0.850),
        "R-NL-BSVM": Area(0.959, 0.051, 0.901),
    },
}
# Of one fold, all tasks together.
TB_SECONDS = {
    "PFA-L-BSVM": 130.0,
    "G-L-BSVM": 141.0,
    "R-L-BSVM": 180.0,
    "G-NL-BSVM": 330.0,
    "R-NL-BSVM": 450.0,
}

# The data are GSE63042.
RNASEQ = {
    "SIRS vs. Se": {
        "PFA-L-BSVM": Area(0.70, 0.04, 0.73),
        "G-L-BSVM": Area(0.78, 0.02, 0.76),
        "R-L-BSVM": Area(0.86, 0.01, 0.81),
    },
    "SeD vs. SeS": {
        "PFA-L-BSVM": Area(0.76, 0.05, 0.70),
        "G-L-BSVM": Area(0.76, 0.01, 0.75),
        "R-L-BSVM": Area(0.82, 0.02, 0.78),
    },
    "SIRS vs. SeS": {
        "PFA-L-BSVM": Area(0.75, 0.02, 0.71),
        "G-L-BSVM": Area(0.87, 0.01, 0.71),
        "R-L-BSVM": Area(0.91, 0.01, 0.87),
    },
}
RNASEQ_SECONDS = {"PFA-L-BSVM": 179.0, "G-L-BSVM": 175.0, "R-L-BSVM": 226.0}
