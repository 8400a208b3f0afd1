"""Labels of a mixture: every component has a row of coefficients of its own for every label.

With q(t_n = t) = R_nt the term of label row r under component t counts R_nt times, with auxiliary
variables of its own. Weights multiply sites and bound already, so the labels' view is one of R x T
rows with observations ``signed_rn R_nt`` (row r T + t), and the updates of beta and of z, and the
bound, are those of any labels. Gibbs sampling is the same with an indicator for R_nt.

What a label says of its sample's component is its term at full weight, the augmentation at its
optimum in mean field and integrated out of a draw: ``-2 c max(0, 1 - y f_t)`` or
``c log Phi(y f_t)``. The sampler draws t_n under that, then all auxiliary variables afresh, so that
(t, lam) is one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import LabelLikelihood, Observed
from rankfactor.steps.score import ObservedView
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
    """Labels as the rows of the labels' view see them: a mixture's are shared out."""
    if not isinstance(prior, Mixture):
        return labels
    return ComponentLabels(signed_of(labels), prior.responsibilities)


def label_evidence(labels: ObservedView, z: Normal, samples: slice) -> Floats:
    """What the labels of some samples, scores z (n, K), say of their components, shape (n, T)."""
    likelihood, observed = labels.view.likelihood, labels.observed
    assert isinstance(likelihood, LabelLikelihood)
    assert isinstance(observed, ComponentLabels)
    T = observed.responsibilities.shape[1]
    f, var_f = product_moments(labels.state.rows, z.with_one(), True)
    signed = np.repeat(observed.signed[:, samples], T, axis=0)
    _, terms = likelihood.label_sites(signed, f, var_f)
    return np.asarray(terms.reshape(-1, T, len(z.mean)).sum(axis=0).T)


def assign_block(
    prior: ScorePrior,
    labels: ObservedView | None,
    z: Normal,
    samples: slice,
    stream: Stream | None = None,
) -> ScorePrior:
    """The prior of some samples after they have been assigned to components."""
    if not isinstance(prior, Mixture):
        return prior
    evidence = None if labels is None else label_evidence(labels, z, samples)
    return prior.assign(z, evidence, stream, samples.start)


def joined(prior: ScorePrior, parts: Sequence[ScorePrior]) -> ScorePrior:
    """The prior of all samples from those of consecutive blocks."""
    if not isinstance(prior, Mixture):
        return prior
    found = [part.responsibilities for part in parts if isinstance(part, Mixture)]
    return replace(prior, responsibilities=np.concatenate(found))
