"""Likelihoods of data and of labels; a new one is one file here and a line in the registry."""

from rankfactor.likelihoods.base import (
    Coding,
    DataLikelihood,
    LabelLikelihood,
    Likelihood,
    NoParameters,
    Observed,
    ObservedArray,
    RowArrays,
)
from rankfactor.likelihoods.coding import Cuts
from rankfactor.likelihoods.gaussian import Gaussian, Noise, Scaling
from rankfactor.likelihoods.hinge import Hinge
from rankfactor.likelihoods.margin_rank import CutPoints, MarginRank, margin_for
from rankfactor.likelihoods.neighbour_rank import NeighbourBounds, NeighbourRank
from rankfactor.likelihoods.ordinal_probit import OrdinalProbit, Thresholds
from rankfactor.likelihoods.ordinary_rank import Boundaries, OrdinaryRank, RankTable
from rankfactor.likelihoods.probit import Probit

DATA_LIKELIHOODS: dict[str, type[DataLikelihood]] = {  # type: ignore[type-arg]
    "gaussian": Gaussian,
    "margin_rank": MarginRank,
    "neighbour_rank": NeighbourRank,
    "ordinal_probit": OrdinalProbit,
    "ordinary_rank": OrdinaryRank,
}
# What each data likelihood keeps: its coding and its parameters.
CODINGS: dict[str, type[Coding]] = {
    "gaussian": Scaling,
    "margin_rank": Cuts,
    "neighbour_rank": Cuts,
    "ordinal_probit": Cuts,
    "ordinary_rank": RankTable,
}
PARAMETERS: dict[str, type[RowArrays]] = {
    "gaussian": Noise,
    "margin_rank": CutPoints,
    "neighbour_rank": NeighbourBounds,
    "ordinal_probit": Thresholds,
    "ordinary_rank": Boundaries,
}
LABEL_LIKELIHOODS: dict[str, type[LabelLikelihood]] = {"hinge": Hinge, "probit": Probit}

__all__ = [
    "CODINGS",
    "DATA_LIKELIHOODS",
    "LABEL_LIKELIHOODS",
    "PARAMETERS",
    "Coding",
    "DataLikelihood",
    "Gaussian",
    "Hinge",
    "LabelLikelihood",
    "Likelihood",
    "MarginRank",
    "NeighbourRank",
    "NoParameters",
    "Observed",
    "ObservedArray",
    "OrdinalProbit",
    "OrdinaryRank",
    "Probit",
    "RowArrays",
    "margin_for",
]
