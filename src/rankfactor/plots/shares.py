"""How much of the explained variance each factor takes."""

from __future__ import annotations

from matplotlib.figure import Figure

from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.wording import percent
from rankfactor.plots.style import PALETTE, drawing, name_rows, tidy
from rankfactor.posterior import Posterior


def share_figure(posterior: Posterior) -> Figure:
    """Draw the share of every factor in use in the variance of w."""
    factors = shown_factors(posterior)
    shares = posterior.shares[factors]
    with drawing(5.0, 0.6 + 0.215 * len(factors)) as figure:
        axes = figure.subplots()
        tidy(axes)
        bars = axes.barh(range(len(factors)), 100 * shares, height=0.68, color=PALETTE[0])
        axes.bar_label(bars, [percent(float(share)) for share in shares], padding=4, fontsize=8.5)
        name_rows(axes, [posterior.factor_names[k] for k in factors])
        axes.set_xlim(0, 100 * max(float(shares.max()), 1e-3) * 1.14)
        axes.set_xlabel("Share of the explained variance (%)")
    return figure
