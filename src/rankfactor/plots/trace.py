"""How the chains of a Gibbs fit went: their log likelihoods, and R-hat."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rankfactor.errors import InputError
from rankfactor.plots.history import thousands
from rankfactor.plots.style import FAINT, MUTED, PALETTE, drawing, line, name_rows, tidy
from rankfactor.posterior import Posterior
from rankfactor.posterior.diagnostics import MAX_R_HAT, MIN_DRAWS, convergence


def trace_figure(posterior: Posterior) -> Figure:
    """Draw the log likelihood of every chain by sweep, and the largest R-hat by kind of quantity.

    Parameters
    ----------
    posterior : Posterior
        Of a fit with ``engine="gibbs"``.

    Returns
    -------
    Figure
        The shaded sweeps are burn-in. The second panel has a line at 1.01, which R-hat should stay
        below; it is left out where chains have fewer than four draws.

    Raises
    ------
    InputError
        If there are no draws.
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
        # The first sweeps are far below all others and would flatten the rest.
        kept = traces[:, min(first - 1, traces.shape[1] // 10) :]
        low, high = float(np.nanmin(kept)), float(np.nanmax(kept))
        room = 0.06 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(thousands))
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
            name_rows(lower, [str(kind) for kind in found.index])
            top = float(np.nanmax(ratios, initial=MAX_R_HAT))
            lower.set_xlim(0.995, max(top + 0.08 * (top - 0.995), 1.03))
            lower.set_title(f"Largest R-hat (dashed: {MAX_R_HAT})")
    return figure
