"""How the figures look: colours, type sizes, names that fit, and the making of a figure.

Nothing global changes: `figure_style` is a context, and figures are plain `Figure` objects without
pyplot.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#1f2933"
MUTED = "#5f6b7a"
FAINT = "#d5dbe3"
UNCLEAR = "#8a94a3"

# Okabe and Ito's colours, which stay apart for colour-blind readers, darkened a little where they
# are too pale for white ground.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#B4558C", "#B98100", "#2F9FD6", "#55504A")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "solid",
    (0, (5, 2)),
    (0, (1.2, 1.4)),
    (0, (6, 2, 1.2, 2)),
    (0, (3, 1.5)),
)

# From this many points on, points are drawn as pixels inside the figure.
MANY_POINTS = 2000

_RC: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "axes.axisbelow": True,
    "text.color": INK,
    # A feature may be called "$a$": names are never formulas.
    "text.parse_math": False,
    "text.usetex": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 110.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "rankfactor",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Style of the figures; use it to make and to save one."""
    with rc_context(_RC), warnings.catch_warnings():
        # A name in a script that the measuring font lacks is still written as text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def new_figure(width: float, height: float) -> Figure:
    """Empty figure of that size in inches, whose layout leaves room for all labels."""
    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure) -> Figure:
    """Lay the figure out while the style holds, so that it looks the same wherever it is drawn."""
    figure.draw_without_rendering()
    return figure


def tidy(axes: Axes, *, grid: str = "") -> None:
    """Take away the box, soften the ticks; ``grid`` is "", "x", "y" or "both"."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5, length=3, width=0.8, color=MUTED, labelcolor=INK)
    if grid == "x" or grid == "both":
        axes.xaxis.grid(True, color=FAINT, linewidth=0.6)
    if grid == "y" or grid == "both":
        axes.yaxis.grid(True, color=FAINT, linewidth=0.6)


def plain(name: object) -> str:
    """Name on one line, without characters that a file may not hold."""
    text = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in str(name))
    return " ".join(text.split())


def shorten(name: object, length: int = 34) -> str:
    """Name of at most ``length`` characters; the middle is left out, as ends tell names apart."""
    text = plain(name)
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def percent(share: float) -> str:
    """Share in words: two digits at most below ten per cent, none after the point above."""
    value = 100 * share
    if value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.05 else "< 0.1 %"
