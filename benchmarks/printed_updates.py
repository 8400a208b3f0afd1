"""Why the paper's printed rank updates are not the default: the spread of w by iteration.

    export RANKFACTOR_DATA=FOLDER
    .venv/bin/python benchmarks/printed_updates.py docs/images/printed_updates.png

USPS 3 against 5, training part (usps_3v5.npz), K = 20, variational Bayes without labels.
"""

import sys
import warnings

from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorAnalysis
from rankfactor.data import data_directory, read_npz_split
from rankfactor.likelihoods import MarginRank, NeighbourRank

ITERATIONS = 250
CURVES = {
    "MarginRank (every sample meets every cut)": MarginRank(),
    "printed bounds, extremum": NeighbourRank(bounds="extremum"),
    "printed bounds, nearest value": NeighbourRank(bounds="nearest"),
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    folder = data_directory()
    if folder is None or len(sys.argv) != 2:
        sys.exit("usage: RANKFACTOR_DATA=FOLDER python benchmarks/printed_updates.py FIGURE.png")
    train, _ = read_npz_split(folder / "usps_3v5.npz")
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (name, part), style in zip(CURVES.items(), ("-", "--", ":"), strict=True):
        model = RankFactorAnalysis(part, n_factors=20, max_iter=ITERATIONS, tol=0.0, random_state=0)
        spread = model.fit(train.table).posterior_.sd_w
        axes.plot(spread, style, label=name, linewidth=2)
        shown = ", ".join(f"{spread[i]:.3g}" for i in (0, 20, 60, 120, len(spread) - 1))
        print(f"| {name} | {shown} |", flush=True)
    axes.set(xlabel="iteration", ylabel="standard deviation of w", yscale="log")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(sys.argv[1], dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
