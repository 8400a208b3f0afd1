"""Draw the rank histograms of docs/results/calibration.md and write its tables.

``python docs/build_calibration.py`` reads docs/results/calibration.json, which `python -m
benchmarks.simulation_calibration --json docs/results/calibration.json` writes, fills the part of
the page between the marks, and draws docs/images/calibration-NAME.png for every model.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binom

from rankfactor.plots.style import FAINT, MUTED, PALETTE, figure_style

DOCS = Path(__file__).parent
PAGE, DATA = DOCS / "results" / "calibration.md", DOCS / "results" / "calibration.json"
COLUMNS, BINS = 5, 8
PART = re.compile(r"(<!-- models: begin -->\n).*?(<!-- models: end -->)", re.DOTALL)


def image_name(model: str) -> str:
    """File name of a model's picture."""
    return "calibration-" + re.sub(r"[^a-z]+", "-", model.lower()) + ".png"


def histograms(found: dict[str, Any]) -> Figure:
    """One histogram of ranks per quantity, with the band that 99 % of uniform bars stay within."""
    n, names = found["replications"], list(found["rank_counts"])
    low, high = binom.interval(0.99, n, 1 / BINS)
    n_rows = -(-len(names) // COLUMNS)
    with figure_style():
        figure = Figure(figsize=(9.0, 1.15 * n_rows + 0.2), layout="constrained")
        axes = figure.subplots(n_rows, COLUMNS, sharey=True, squeeze=False)
        for place, axis in enumerate(axes.ravel()):
            axis.set_xticks([])
            axis.set_yticks([])
            for side in axis.spines.values():
                side.set_visible(False)
            if place >= len(names):
                continue
            counts = np.array(found["rank_counts"][names[place]]).reshape(BINS, -1).sum(axis=1)
            axis.axhspan(low, high, color=FAINT, zorder=0)
            axis.axhline(n / BINS, color=MUTED, linewidth=0.8, zorder=1)
            axis.bar(np.arange(BINS), counts, width=0.85, color=PALETTE[0], zorder=2, alpha=0.85)
            p = found["p_values"][names[place]]
            title = f"{names[place]}\np = {p:.2g}"
            axis.set_title(title, fontsize=5.8, fontweight="normal", pad=2)
            axis.set_ylim(0, max(2.2 * n / BINS, high + 1))
    return figure


def summary(done: dict[str, Any]) -> list[str]:
    """Markdown: one row a model."""
    lines = [
        "| model | tables | quantities | smallest p | of | effective draws, least "
        "| coverage of 90 % intervals | calibration error |",
        "|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    for name, found in done.items():
        lowest = min(found["p_values"], key=found["p_values"].get)
        coverage = np.array(found["coverage"])
        error = coverage.std(ddof=1) / len(coverage) ** 0.5
        predicted, true, count = np.array(found["reliability"])
        cells = [
            f"[{name}](#{re.sub(r'[^a-z]+', '-', name.lower())})",
            str(found["replications"]),
            str(len(found["p_values"])),
            f"{found['p_values'][lowest]:.2g}",
            lowest,
            f"{min(found['effective_draws'].values()):.0f} of {found['draws']}",
            f"{coverage.mean():.3f} ({error:.3f})",
            f"{np.abs(predicted - true).sum() / count.sum():.3f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def verdict(done: dict[str, Any]) -> str:
    """What the p-values of all models say together."""
    p = [value for found in done.values() for value in found["p_values"].values()]
    failed = sum(value <= 1e-4 for value in p)
    return (
        f"{len(p)} quantities of {len(done)} models: the smallest p-value is {min(p):.2g}, and "
        f"{failed or 'none'} of them {'is' if failed < 2 else 'are'} at or below 1e-4. "
        f"{sum(value < 0.05 for value in p)} are below 0.05, where {0.05 * len(p):.0f} are "
        "expected of uniform ranks."
    )


def main() -> None:
    done = json.loads(DATA.read_text())
    parts = [verdict(done), "", *summary(done), "", "## Histograms of ranks", ""]
    for name, found in done.items():
        image = image_name(name)
        histograms(found).savefig(DOCS / "images" / image, dpi=110)
        shape = f"{found['replications']} tables, {found['draws']} draws of each chain"
        spacing = f"{found['thin']} sweeps apart after {found['burn_in']}"
        parts += [f"### {name[0].upper() + name[1:]}", ""]
        parts += [f"![Histograms of ranks, {name}.](../images/{image})", ""]
        parts += [f"{shape}, {spacing}.", ""]
    PAGE.write_text(PART.sub(lambda m: m[1] + "\n".join(parts) + m[2], PAGE.read_text()))


if __name__ == "__main__":
    main()
