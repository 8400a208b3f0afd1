"""How much of the explained variance each factor takes."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankfactor.plots.select import shown_factors
from rankfactor.plots.style import PALETTE, figure_style, finish, new_figure, percent, tidy
from rankfactor.posterior import Posterior


def share_figure(posterior: Posterior) -> Figure:
    """Draw the share of every factor in use in the variance of w.

    Parameters
    ----------
    posterior : Posterior

    Returns
    -------
    Figure
    """
    factors = shown_factors(posterior)
    shares = posterior.shares[factors]
    rows = np.arange(len(factors))
    with figure_style():
        figure = new_figure(5.0, 0.6 + 0.215 * len(factors))
        axes = figure.subplots()
        tidy(axes)
        axes.barh(rows, 100 * shares, height=0.68, color=PALETTE[0])
        for row, share in zip(rows, shares, strict=True):
            axes.annotate(
                percent(float(share)),
                (100 * share, row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
        axes.set_yticks(rows, [posterior.factor_names[k] for k in factors])
        axes.set_ylim(len(factors) - 0.4, -0.6)
        axes.set_xlim(0, 100 * max(float(shares.max()), 1e-3) * 1.14)
        axes.set_xlabel("Share of the explained variance (%)")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return finish(figure)
