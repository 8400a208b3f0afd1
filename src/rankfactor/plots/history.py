"""The course of a fit: its bound, the size of w, and the factors in use."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rankfactor.plots.style import PALETTE, drawing, tidy
from rankfactor.posterior import Posterior


def history_figure(posterior: Posterior) -> Figure:
    """Draw the ELBO, the standard deviation of w and the factors in use over the iterations.

    Parameters
    ----------
    posterior : Posterior

    Returns
    -------
    Figure
        Three panels that share the iterations. The ELBO of the starting point, which is far below
        all others, is left out once there are more than two.
    """
    n = len(posterior.elbo)
    first = 1 if n > 2 else 0
    line = {"color": PALETTE[0], "linewidth": 1.8, "marker": "o" if n <= 3 else ""}
    with drawing(5.4, 4.6) as figure:
        elbo, sd_w, n_active = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1, 1))
        elbo.plot(range(first, n), posterior.elbo[first:], **line)
        elbo.set_title("Evidence lower bound (ELBO)")
        elbo.yaxis.set_major_formatter(FuncFormatter(thousands))
        sd_w.plot(range(n), posterior.sd_w, **line)
        sd_w.set_title("Standard deviation of w")
        sd_w.set_ylim(0, 1.1 * float(np.nanmax(posterior.sd_w)) or 1.0)
        n_active.plot(range(n), posterior.n_active, drawstyle="steps-mid", **line)
        n_active.set_title("Factors in use")
        n_active.set_ylim(0, posterior.n_factors * 1.08)
        n_active.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        n_active.set_xlabel("Iteration")
        for axes in (elbo, sd_w, n_active):
            tidy(axes, grid="y")
            axes.yaxis.set_major_locator(MaxNLocator(4, integer=axes is n_active))
    return figure


def thousands(value: float, _: object = None) -> str:
    """Whole number with thin spaces, or a short one where values are small."""
    if abs(value) < 100:
        return f"{value:g}".replace("-", "\N{MINUS SIGN}")
    return f"{value:,.0f}".replace(",", "\N{THIN SPACE}").replace("-", "\N{MINUS SIGN}")
