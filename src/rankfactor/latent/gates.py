r"""Gates: which local classifiers a sample's scores call on.

    R_t(z) = softmax_t( temper ( log share_t + K/2 log psi_t - psi_t/2 |z - mu_t|^2 ) )

are the responsibilities of a mixture of spherical normals, tempered: in many dimensions log ratios
add up and untempered gates are all but hard. A decision is

    f(z) = sum_g r_g(z) beta_g . (z, 1),     r = (1, R_1, ..., R_T)  or  (R_1, ..., R_T),

linear where there is one gate; the first form has coefficients that all gates share and local
deviations from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rankfactor.typing import Floats

# A component is in use if it has at least this share of the samples, and at least one of them.
USED_SHARE = 0.01


@dataclass(frozen=True)
class Gates:
    """Soft regions of the scores."""

    centres: Floats  # (T, K): mu
    precision: Floats  # (T,): psi
    log_share: Floats  # (T,): log weights of the regions, up to a constant
    temper: Floats  # (1,): from 0, every gate open alike, to 1, the mixture's responsibilities
    shared: NDArray[np.bool_]  # (1,): whether a gate that is always open comes first
    # (K, K): gates see scores z as ``z @ basis``; empty means as they are.
    basis: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        """Scores as they are where no basis is given."""
        if not len(self.basis):
            object.__setattr__(self, "basis", np.eye(self.centres.shape[1]))

    @property
    def n_gates(self) -> int:
        """Number of gates, the one that is always open included."""
        return len(self.centres) + int(self.shared[0])

    def weights(self, z: Floats) -> Floats:
        """r(z) of scores (N, K), shape (N, gates)."""
        R = self.responsibilities(z)
        return np.column_stack([np.ones(len(R)), R]) if self.shared[0] else R

    def responsibilities(self, z: Floats) -> Floats:
        """R(z) of scores (N, K), shape (N, T)."""
        mu, z = self.centres, z @ self.basis
        squares = (z**2).sum(axis=1)[:, None] - 2 * z @ mu.T + (mu**2).sum(axis=1)
        logits = self.log_share + 0.5 * mu.shape[1] * np.log(self.precision)
        return np.asarray(softmax(self.temper[0] * (logits - 0.5 * self.precision * squares), 1))

    def n_used(self, z: Floats) -> int:
        """Number of regions with the nearest centre to 1 % of scores (N, K), and to one at least.

        Of centres that coincide, the first counts.
        """
        squares = (((z @ self.basis)[:, None, :] - self.centres) ** 2).sum(axis=2)
        sizes = np.bincount(squares.argmin(axis=1), minlength=len(self.centres))
        return int((sizes >= max(USED_SHARE * len(z), 1.0)).sum())

    def slope(self, z: Floats, values: Floats) -> Floats:
        """Gradient in z of ``sum_g r_g(z) values_g`` at fixed values (N, gates), shape (N, K)."""
        R = self.responsibilities(z)
        values = values[:, int(self.shared[0]) :]
        mean = (R * values).sum(axis=1, keepdims=True)
        pull = self.temper[0] * R * (values - mean) * self.precision  # (N, T)
        inner = pull @ self.centres - pull.sum(axis=1, keepdims=True) * (z @ self.basis)
        return np.asarray(inner @ self.basis.T)

    def transformed(self, matrix: Floats) -> Gates:
        """Gates of the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        return replace(self, basis=np.asarray(np.linalg.solve(matrix, self.basis), np.float64))
