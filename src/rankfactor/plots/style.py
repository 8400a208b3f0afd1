"""Style of the figures: colours, font sizes, shortened names, and figure creation.

Nothing global changes: `figure_style` is a context manager, and figures are plain `Figure` objects
without pyplot.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankfactor.interpret.wording import plain

INK = "#1f2933"
MUTED = "#5f6b7a"
FAINT = "#d5dbe3"
UNCLEAR = "#8a94a3"

# Okabe and Ito's colours, which colour-blind readers can distinguish, slightly darkened where they
# are too pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#B4558C", "#B98100", "#2F9FD6", "#55504A")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "solid",
    (0, (5, 2)),
    (0, (1.2, 1.4)),
    (0, (6, 2, 1.2, 2)),
    (0, (3, 1.5)),
)

# With at least this many points, points are rasterised.
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
    # Names such as "$a$" are text, never formulas.
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
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@contextmanager
def drawing(width: float, height: float, title: str = "") -> Iterator[Figure]:
    """Empty figure of the given size in inches, with a title; laid out on exit.

    The layout leaves room for all labels and is computed while the style holds, so that the figure
    looks the same wherever it is drawn.
    """
    with figure_style():
        figure = Figure(figsize=(width, height + (0.3 if title else 0.0)), layout="constrained")
        if title:
            figure.suptitle(plain(title), fontsize=10, fontweight="bold")
        yield figure
        figure.draw_without_rendering()


def tidy(axes: Axes, *, grid: Literal["", "x", "y", "both"] = "") -> None:
    """Remove the box and soften the ticks; ``grid`` names the axis of the grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5, length=3, width=0.8, color=MUTED, labelcolor=INK)
    if grid:
        axes.grid(True, axis=grid, color=FAINT, linewidth=0.6)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Label rows 0, 1, ... from the top down, without ticks or spine."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def colour_bar(figure: Figure, image: Any, axes: Any, label: str, **where: Any) -> None:
    """Add the scale of an image."""
    bar = figure.colorbar(image, ax=axes, **where)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.set_label(label)


def colour(number: int) -> str:
    """Colour of a class, a module or a line by its number."""
    return PALETTE[number % len(PALETTE)]


def marker(number: int) -> str:
    """Shape of a mark; when colours repeat, the shape changes."""
    return MARKERS[(number + number // len(PALETTE)) % len(MARKERS)]


def line(number: int) -> dict[str, Any]:
    """Colour and dashes of a line by its number."""
    return {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}


def shorten(name: object, length: int = 34) -> str:
    """Name of at most ``length`` characters; the middle is cut, since ends distinguish names."""
    text = plain(name)
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"
