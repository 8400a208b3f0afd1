r"""Gates: weights of the local classifiers as a function of a sample's scores.

    R_t(z) = softmax_t( temper ( log share_t + K/2 log psi_t - psi_t/2 |z - mu_t|^2 ) )

are the tempered responsibilities of a mixture of spherical normals: in many dimensions log ratios
add up and untempered gates are almost hard. A decision is

    f(z) = sum_g r_g(z) beta_g . (z, 1),     r = (1, R_1, ..., R_T)  or  (R_1, ..., R_T),

linear if there is one gate; the first form has coefficients shared by all gates and local
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
    temper: Floats  # (1,): from 0, equal gates, to 1, the mixture's responsibilities
    shared: NDArray[np.bool_]  # (1,): whether an always open gate comes first
    # (K, K): gates use ``z @ basis`` of scores z; empty means the identity.
    basis: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        """Use the identity if no basis is given."""
        if not len(self.basis):
            object.__setattr__(self, "basis", np.eye(self.centres.shape[1]))

    @property
    def n_gates(self) -> int:
        """Number of gates, including the always open one."""
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
        """Number of regions whose centre is nearest to at least 1 % of scores (N, K), and to one.

        Of coinciding centres, the first counts.
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
