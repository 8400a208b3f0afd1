"""Figure of the missing values of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rankfactor.interpret.quality import Quality
from rankfactor.plots.style import INK, PALETTE, drawing, tidy

_BINS = np.linspace(0.0, 100.0, 21)
_NONE = -7.5  # position of the bar of complete features or samples


def missing_figure(quality: Quality) -> Figure:
    """Draw histograms of the share of missing values, by feature and by sample.

    The pale bar, apart from the others, counts those without missing values.

    Parameters
    ----------
    quality : Quality
        As returned by `rankfactor.interpret.table_quality`.
    """
    shares = [
        100 * frame["missing"].to_numpy(float) for frame in (quality.features, quality.samples)
    ]
    end = max(10.0, *(np.ceil(share.max(initial=0.0) / 5) * 5 for share in shares))
    ticks = [tick for tick in range(0, 101, 10 if end <= 50 else 20) if 0 < tick <= end]
    with drawing(4.3, 3.4) as figure:
        panels = figure.subplots(2, 1, sharex=True)
        for axes, share, what in zip(panels, shares, ("Features", "Samples"), strict=True):
            tidy(axes, grid="y")
            counts, _ = np.histogram(share[share > 0], _BINS)
            axes.bar(_BINS[:-1] + 2.5, counts, 4.5, color=PALETTE[0])
            none = int((share == 0).sum())
            axes.bar(_NONE, none, 4.5, color=PALETTE[0], alpha=0.45)
            axes.annotate(str(none), (_NONE, none), (0, 1), textcoords="offset points", **_ABOVE)
            axes.set_ylabel(what)
            axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.set_ylim(0, 1.2 * max(none, counts.max(), 1))
        axes.set_xticks([_NONE, *ticks], ["none", *map(str, ticks)])
        axes.set_xlim(-12.0, end + 1)
        axes.set_xlabel("Missing values (%)")
    return figure


_ABOVE: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 8, "color": INK}
