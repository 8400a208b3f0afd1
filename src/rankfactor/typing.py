"""Aliases of array types."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Reals: TypeAlias = NDArray[np.floating[Any]]  # in working precision
Integers: TypeAlias = NDArray[np.int64]
Strings: TypeAlias = NDArray[np.str_]
Objects: TypeAlias = NDArray[np.object_]
Index: TypeAlias = slice | Integers
