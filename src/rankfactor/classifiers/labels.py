"""Labels for a classifier's rows: signed weights, optionally divided among components.

With q(t_n = t) = R_nt the term of label row r under component t counts R_nt times, with its own
auxiliary variables. Weights already multiply sites and bound, so the labels' view has R x T rows
with observations ``signed_rn R_nt`` (row r T + t), and the updates of beta and of z, and the bound,
are those of any labels. Gibbs sampling is the same with an indicator for R_nt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.latent import Mixture, ScorePrior
from rankfactor.likelihoods import Observed
from rankfactor.typing import Floats, Index


@dataclass(frozen=True)
class ComponentLabels(Observed):
    """Signed weights of label rows times responsibilities, row r T + t.

    Attributes
    ----------
    signed : array, shape (R, N)
    responsibilities : array, shape (N, T)
    """

    signed: Floats
    responsibilities: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, R T, and of samples."""
        return len(self.signed) * self.responsibilities.shape[1], self.signed.shape[1]

    def tile(self, rows: slice, samples: Index) -> NDArray[Any]:
        """Some rows and samples."""
        T = self.responsibilities.shape[1]
        label, component = np.divmod(np.arange(self.shape[0])[rows], T)
        return np.asarray(
            self.signed[label][:, samples] * self.responsibilities[samples][:, component].T
        )


def signed_of(labels: Observed) -> Floats:
    """Signed weights of the labels themselves, shape (R, N)."""
    if isinstance(labels, ComponentLabels):
        return labels.signed
    return np.asarray(labels.tile(slice(0, labels.shape[0]), slice(0, labels.shape[1])))


def shared_out(labels: Observed, prior: ScorePrior) -> Observed:
    """Labels for the rows of the labels' view; those of a mixture are divided."""
    if not isinstance(prior, Mixture):
        return labels
    return ComponentLabels(signed_of(labels), prior.responsibilities)
