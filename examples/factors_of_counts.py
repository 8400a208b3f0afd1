"""Factors of counts without labels: no logarithm, no pseudo-count, no choice of their number.

    python examples/factors_of_counts.py

Simulates counts of 40 genes that three programmes drive, finds the number of factors by parallel
analysis and compares found with true loadings. Writes loadings.png into the working folder.
"""

import numpy as np
import pandas as pd

from rankfactor import RankFactorAnalysis
from rankfactor.plots import loading_figure


def main() -> None:
    rng = np.random.default_rng(0)
    truth = np.zeros((40, 3))
    for programme in range(3):
        truth[12 * programme : 12 * programme + 12, programme] = 1.0  # the last four: noise
    activity = rng.normal(size=(300, 3))
    counts = rng.poisson(np.exp(0.5 + activity @ truth.T))
    table = pd.DataFrame(counts, columns=[f"gene {n}" for n in range(40)])

    model = RankFactorAnalysis(random_state=0).fit(table)
    print(model.posterior_.factor_count.in_words)
    found = model.structure_ / np.linalg.norm(model.structure_, axis=0)
    cosine = abs(found.T @ truth / np.linalg.norm(truth, axis=0)).max(axis=0)
    print("cosine of true and found loadings:", cosine.round(2))
    loading_figure(model.posterior_).savefig("loadings.png", dpi=120)


if __name__ == "__main__":
    main()
