"""Shrinkage priors of loadings and coefficients; a class with a `name` registers itself."""

from rankfactor.shrinkage.base import AnyShrinkage, Shrinkage

# isort: split
# The default first: messages and options list the choices in this order.
from rankfactor.shrinkage.tpbn import TPBN

# isort: split
from rankfactor.shrinkage.by_block import ShrinkageByBlock
from rankfactor.shrinkage.multiplicative_gamma import MultiplicativeGamma
from rankfactor.shrinkage.normal import NormalARD

SHRINKAGE = Shrinkage.choices

__all__ = [
    "SHRINKAGE",
    "TPBN",
    "AnyShrinkage",
    "MultiplicativeGamma",
    "NormalARD",
    "Shrinkage",
    "ShrinkageByBlock",
]
