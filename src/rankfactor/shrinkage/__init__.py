"""Shrinkage priors of loadings and coefficients."""

from rankfactor.shrinkage.base import AnyShrinkage, Shrinkage
from rankfactor.shrinkage.tpbn import TPBN

SHRINKAGE: dict[str, type[AnyShrinkage]] = {"tpbn": TPBN}

__all__ = ["SHRINKAGE", "TPBN", "AnyShrinkage", "Shrinkage"]
