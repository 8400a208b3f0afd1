"""Classifiers on scores, fitted step by step while predictive training changes the scores.

`LinearDecider` is the labels' view of the linear model; `GatedDecider` has local classifiers
behind gates. Both give the gradient of the labels' bound in a sample's scores,

    q_n = sum_rows (rho_n - tau_n f_n) df_n / dz_n,

taken at fixed variances.
"""

from __future__ import annotations

import numpy as np

from rankfactor.classifiers.gated import Design, fit_gated
from rankfactor.classifiers.linear import place_gates
from rankfactor.classifiers.per_component import signed_of
from rankfactor.latent.gates import Gates
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import LabelLikelihood, NoParameters, Observed
from rankfactor.model import Model, ViewState
from rankfactor.steps.row import designs, update_view
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats

STEPS = 3  # of the classifier for one of the loadings


class LinearDecider:
    """The rows of the labels' view."""

    def __init__(self, model: Model, labels: Observed, pool: Workers) -> None:
        view, n_rows = model.label_view, labels.shape[0]
        rows = Normal.isotropic(np.zeros((n_rows, model.n_factors + 1)), 0.01)
        state = ViewState(rows, NoParameters(), view.shrinkage.start(n_rows, model.n_factors))
        self.item, self._pool = ObservedView(view, labels, state), pool

    def update(self, z: Normal) -> None:
        """Fit the coefficients a little more to the scores."""
        columns = designs(self.item, z)
        for _ in range(STEPS):
            update_view(self.item, z, self._pool, columns=columns)

    def pull(self, z: Normal) -> tuple[Floats, float]:
        """Gradient of the labels' bound in every sample's scores (N, K), and the bound."""
        rows, label = self.item.state.rows, self.item.view.likelihood
        assert isinstance(label, LabelLikelihood)
        f, var_f = product_moments(rows, z.with_one(), True)
        signed = signed_of(self.item.observed)
        sites, terms = label.label_sites(signed, f, var_f)
        slope = sites.rho - sites.tau * f
        return slope.T @ rows.mean[:, : z.order], float(terms.sum())


class GatedDecider:
    """Rows of local classifiers behind gates that stay where they are."""

    def __init__(
        self, label: LabelLikelihood, signed: Floats, gates: Gates, precision: Floats
    ) -> None:
        self._label, self._signed, self._precision = label, signed, precision
        self.gates = gates
        self.rows: Normal | None = None

    def update(self, z: Normal) -> None:
        """Fit the coefficients a little more to the scores."""
        steps = STEPS if self.rows is not None else 10 * STEPS
        self.rows = fit_gated(
            self._label,
            self._signed,
            Design.at(z, self.gates),
            self._precision,
            start=self.rows,
            tol=0.0,
            max_steps=steps,
        )

    def pull(self, z: Normal) -> tuple[Floats, float]:
        """Gradient of the labels' bound in every sample's scores (N, K), and the bound."""
        assert self.rows is not None
        design = Design.at(z, self.gates)
        f, var_f = design.decisions(self.rows)
        sites, terms = self._label.label_sites(self._signed, f, var_f)
        slope = sites.rho - sites.tau * f  # (R, N)
        order = z.order
        total = np.zeros(z.mean.shape)
        for row, g in zip(self.rows.mean, slope, strict=True):
            local = row.reshape(-1, order + 1)  # (gates, K + 1)
            values = design.scores.mean @ local.T  # (N, gates)
            move = design.gates @ local[:, :order] + self.gates.slope(z.mean, values)
            total += g[:, None] * move
        return total, float(terms.sum())


def make_decider(
    model: Model, labels: Observed, z: Normal, rng: np.random.Generator, pool: Workers
) -> LinearDecider | GatedDecider:
    """The classifier of a model, at the start of training on label-free scores (N, K)."""
    if model.experts is None or model.experts.gradient == "linear":
        return LinearDecider(model, labels, pool)
    assert model.label is not None
    gates = place_gates(model.experts, z, labels, rng)
    precision = model.experts.prior_precision(gates, model.label_view.intercept_precision)
    return GatedDecider(model.label, signed_of(labels), gates, precision)
