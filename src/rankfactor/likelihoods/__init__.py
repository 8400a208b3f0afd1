"""Likelihoods of data and of labels.

A class with a `name` joins its family when it is defined (`rankfactor.parts`); the imports below
define those of the library.
"""

from rankfactor.likelihoods.base import DataLikelihood, LabelLikelihood, Likelihood, Tile
from rankfactor.likelihoods.by_block import LikelihoodByBlock
from rankfactor.likelihoods.gaussian import Gaussian
from rankfactor.likelihoods.hinge import Hinge
from rankfactor.likelihoods.margin_rank import MarginRank, margin_for
from rankfactor.likelihoods.neighbour_rank import NeighbourRank
from rankfactor.likelihoods.observed import Coding, Observed, ObservedArray
from rankfactor.likelihoods.ordinal_probit import OrdinalProbit
from rankfactor.likelihoods.ordinary_rank import OrdinaryRank
from rankfactor.likelihoods.probit import Probit
from rankfactor.likelihoods.row_arrays import NoParameters, RowArrays

DATA_LIKELIHOODS = DataLikelihood.choices
LABEL_LIKELIHOODS = LabelLikelihood.choices

__all__ = [
    "DATA_LIKELIHOODS",
    "LABEL_LIKELIHOODS",
    "Coding",
    "DataLikelihood",
    "Gaussian",
    "Hinge",
    "LabelLikelihood",
    "Likelihood",
    "LikelihoodByBlock",
    "MarginRank",
    "NeighbourRank",
    "NoParameters",
    "Observed",
    "ObservedArray",
    "OrdinalProbit",
    "OrdinaryRank",
    "Probit",
    "RowArrays",
    "Tile",
    "margin_for",
]
