"""Shrinkage priors of loadings and coefficients."""

from rankfactor.shrinkage.base import AnyShrinkage, Shrinkage
from rankfactor.shrinkage.by_view import ByView
from rankfactor.shrinkage.multiplicative_gamma import MultiplicativeGamma
from rankfactor.shrinkage.normal import NormalARD
from rankfactor.shrinkage.tpbn import TPBN

SHRINKAGE: dict[str, type[AnyShrinkage]] = {
    "tpbn": TPBN,
    "multiplicative_gamma": MultiplicativeGamma,
    "normal": NormalARD,
}

__all__ = [
    "SHRINKAGE",
    "TPBN",
    "AnyShrinkage",
    "ByView",
    "MultiplicativeGamma",
    "NormalARD",
    "Shrinkage",
]
