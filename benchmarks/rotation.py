"""Effect of rotation to sparsity: ELBO, iterations, agreement between halves of a table.

Label-free rank fits from principal components as they are ("components"), from these after varimax
("varimax"), and with rotations during the fit as well ("moves", the library's own). ``--halves``
fits both halves of random divisions and matches their factors; ``--seeds`` fits two seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from benchmarks.sources import data_folder
from scipy.optimize import linear_sum_assignment

from rankfactor import RankFactorAnalysis
from rankfactor.engine import vb
from rankfactor.posterior import Posterior

SETS = (
    *("alzheimer_csf", "tb_gse19491", "alon", "usps_3v5", "bfi_ordinal", "golub", "singh"),
    *("khan_train", "sepsis_gse13015", "sepsis_metabolomics", "tb_suscept_counts"),
    "tb_hiv_gse37250",
)
VARIMAX, TURN = vb.varimax, vb.Fit.turn
LARGE = 0.05  # share from which a factor is counted among the large ones


def choose(mode: str) -> None:
    """Take a former start, or the library's own."""
    plain = mode == "components"
    vb.varimax = (lambda values: np.eye(values.shape[1])) if plain else VARIMAX
    vb.Fit.turn = TURN if mode == "moves" else lambda self: (np.eye(self.z.order), 0.0)


def table(name: str) -> np.ndarray:
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as arrays:
        return np.asarray(arrays["X_train" if "X_train" in arrays else "X"], float)


def fitted(X: np.ndarray, n_factors: int, seed: int = 0) -> RankFactorAnalysis:
    return RankFactorAnalysis(n_factors=n_factors, random_state=seed, n_threads=1).fit(X)


def agreement(one: Posterior, other: Posterior) -> tuple[float, float]:
    """|cosine| of matched factors: mean of those that are large in the first, median of all."""
    a, b = one.standardised_loadings, other.standardised_loadings
    norms = np.sqrt(np.outer((a**2).sum(axis=0), (b**2).sum(axis=0)))
    cosine = np.abs(a.T @ b) / np.maximum(norms, 1e-12)
    rows, columns = linear_sum_assignment(-cosine)
    found = cosine[rows, columns]
    large = (a**2).sum(axis=0) / (a**2).sum() > LARGE
    return float(found[large].mean()) if large.any() else np.nan, float(np.median(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--factors", type=int, default=20)
    parser.add_argument("--halves", type=int, default=0, help="divisions")
    parser.add_argument("--seeds", action="store_true")
    parser.add_argument("--modes", default="components,varimax,moves")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | start | ELBO | iterations | seconds | agreement: large factors, median of all |")
    print("|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        X = table(name)
        for mode in options.modes.split(","):
            choose(mode)
            found = []
            if options.halves:
                for number in range(options.halves):
                    order = np.random.default_rng(number).permutation(len(X))
                    parts = np.array_split(order, 2)
                    pair = [fitted(X[part], options.factors).posterior_ for part in parts]
                    found.append(agreement(*pair))
                cells = ["", "", ""]
            else:
                begin = time.perf_counter()
                model = fitted(X, options.factors)
                seconds = time.perf_counter() - begin
                cells = [f"{model.elbo_:.0f}", str(model.n_iter_), f"{seconds:.1f}"]
                if options.seeds:
                    found.append(
                        agreement(model.posterior_, fitted(X, options.factors, 1).posterior_)
                    )
            mean = np.mean(found, axis=0) if found else ()
            cells.append(", ".join(f"{value:.3f}" for value in mean))
            print(f"| {name} | {mode} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
