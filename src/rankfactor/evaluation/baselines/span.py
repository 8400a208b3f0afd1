"""Wide tables in the coordinates of their samples: the same SVM at a fraction of the cost.

A support vector machine depends on the table only through inner products or distances of samples.
With more features than samples both are preserved by a rotation onto n axes that span all n
training samples: ``X^T = Q R``, Q (D, n) with orthonormal columns, and the samples have the
coordinates ``R^T`` (n, n). A new sample x has ``Q^T x``, and a part outside the span:

    |x - x_i|^2 = |Q^T x - Q^T x_i|^2 + |x - Q Q^T x|^2    for every training sample i.

The weights of a linear SVM lie in the span of the samples, so it needs only the first part. For a
radial kernel the length of the rest is one more coordinate, 0 for all training samples.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankfactor.typing import Floats


class SampleSpan(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Coordinates in the span of the training samples; other tables are unchanged.

    With ``rest`` the length of the part outside the span is the last coordinate, so that distances
    to training samples are preserved as well as inner products.
    """

    def __init__(self, rest: bool = False) -> None:
        self.rest = rest

    def fit(self, X: Floats, y: Any = None) -> Self:
        """Learn the axes from an array (N, D)."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Floats, y: Any = None) -> Floats:
        """Learn the axes from an array (N, D) and return its coordinates, (N, N) or one more."""
        self.axes_: Floats | None = None  # (D, N), orthonormal columns, of a wide table
        n, d = X.shape
        if d <= n:
            return X
        self.axes_, upper = np.linalg.qr(X.T)
        # Exactly zero: rounding errors would get weights of their own.
        return np.column_stack([upper.T, np.zeros(n)]) if self.rest else np.asarray(upper.T)

    def transform(self, X: Floats) -> Floats:
        """Coordinates of an array (N, D)."""
        check_is_fitted(self, "axes_")
        if self.axes_ is None:
            return X
        inside = X @ self.axes_
        if not self.rest:
            return np.asarray(inside)
        # The difference of squared lengths would lose half of the digits.
        outside = np.linalg.norm(X - inside @ self.axes_.T, axis=1)
        return np.column_stack([inside, outside])
