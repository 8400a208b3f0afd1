"""Course of a fit: its history, and the chains of Gibbs sampling with their R-hat."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rankfactor.errors import InputError
from rankfactor.plots.style import FAINT, MUTED, PALETTE, drawing, line, tidy
from rankfactor.posterior import Posterior
from rankfactor.posterior.diagnostics import MAX_R_HAT, MIN_DRAWS, convergence


def history_figure(posterior: Posterior) -> Figure:
    """Draw the ELBO and the standard deviation of w over the iterations.

    Returns
    -------
    Figure
        Two panels with a common axis of iterations. The ELBO of the starting point, far below all
        others, is left out if there are more than two. After predictive training the ELBO is that
        of the table alone, which may fall: the criterion of that stage includes the labels.
    """
    n = len(posterior.elbo)
    first = 1 if n > 2 else 0
    drawn = {"color": PALETTE[0], "linewidth": 1.8, "marker": "o" if n <= 3 else ""}
    alone = posterior.training in ("predictive", "label-free") or posterior.classifiers is None
    with drawing(5.4, 3.6) as figure:
        elbo, sd_w = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
        elbo.plot(range(first, n), posterior.elbo[first:], **drawn)
        elbo.set_title(f"ELBO of the table{'' if alone else ' and the labels'}")
        elbo.yaxis.set_major_formatter(FuncFormatter(_thousands))
        sd_w.plot(range(n), posterior.sd_w, **drawn)
        sd_w.set_title("Standard deviation of w")
        sd_w.set_ylim(0, 1.1 * float(np.nanmax(posterior.sd_w)) or 1.0)
        sd_w.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        sd_w.set_xlabel("Iteration")
        for axes in (elbo, sd_w):
            tidy(axes, grid="y")
            axes.yaxis.set_major_locator(MaxNLocator(4))
    return figure


def trace_figure(posterior: Posterior) -> Figure:
    """Draw the log likelihood of every chain by sweep, and the largest R-hat by kind of quantity.

    Parameters
    ----------
    posterior : Posterior
        Fitted with ``engine="gibbs"``.

    Returns
    -------
    Figure
        Burn-in sweeps are shaded. The second panel has a line at 1.01, the largest acceptable
        R-hat; it is left out if chains have fewer than four draws.
    """
    draws = posterior.draws
    if draws is None:
        raise InputError(
            'this model has no draws to trace: fit it with engine="gibbs", or draw its history.'
        )
    fewest = int(np.bincount(draws.chain).min())
    found = convergence(posterior) if fewest >= MIN_DRAWS else None
    traces = draws.log_likelihood
    n_panels = 1 if found is None else 2
    with drawing(5.4, 4.4 if found is not None else 2.8) as figure:
        panels = figure.subplots(n_panels, 1, squeeze=False, height_ratios=(1.9, 1)[:n_panels])
        axes = panels[0, 0]
        tidy(axes, grid="y")
        first = int(draws.sweep.min())
        if first > 1:
            axes.axvspan(0.5, first - 0.5, color=FAINT, alpha=0.5, linewidth=0)
        for chain, values in enumerate(traces):
            sweeps, label = range(1, len(values) + 1), f"chain {chain + 1}"
            axes.plot(sweeps, values, linewidth=1.0, label=label, **line(chain))
        # The first sweeps are far below all others and would compress the rest.
        kept = traces[:, min(first - 1, traces.shape[1] // 10) :]
        low, high = float(np.nanmin(kept)), float(np.nanmax(kept))
        room = 0.06 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(_thousands))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_title("Log likelihood by sweep (shaded: burn-in)")
        axes.set_xlabel("Sweep")
        if len(traces) > 1:
            figure.legend(loc="outside upper left", ncols=min(len(traces), 4))
        if found is not None:
            lower = panels[1, 0]
            tidy(lower, grid="x")
            ratios = found["r_hat"].to_numpy(float)
            rows = np.arange(len(found))
            lower.axvline(MAX_R_HAT, color=MUTED, linestyle=(0, (4, 3)), linewidth=1)
            good = ratios <= MAX_R_HAT
            for chosen, colour, marker in ((good, PALETTE[0], "o"), (~good, PALETTE[1], "D")):
                lower.plot(ratios[chosen], rows[chosen], marker, color=colour, markersize=5.5)
            lower.set_yticks(rows, [str(kind) for kind in found.index])
            lower.set_ylim(len(found) - 0.4, -0.6)
            top = float(np.nanmax(ratios, initial=MAX_R_HAT))
            lower.set_xlim(0.995, max(top + 0.08 * (top - 0.995), 1.03))
            lower.set_title(f"Largest R-hat (dashed: {MAX_R_HAT})")
    return figure


def _thousands(value: float, _: object = None) -> str:
    """Integer with thin spaces, or a short decimal number if values are small."""
    if abs(value) < 100:
        return f"{value:g}".replace("-", "\N{MINUS SIGN}")
    return f"{value:,.0f}".replace(",", "\N{THIN SPACE}").replace("-", "\N{MINUS SIGN}")
