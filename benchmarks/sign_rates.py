"""Do rules for what is clear keep what they promise? Simulated tables with known sparse loadings.

Factors are matched to the true ones by order and sign. ``--by posterior``: the mean |cosine| of
found and true standardised loadings; then, of all loadings with a local false sign rate of the
posterior below 0.05, and of the ten largest of each factor: the share whose true loading is zero,
the share whose true loading has the other sign, and the mean rate, which is the share of both that
is promised. ``--start components`` fits from principal components without any rotation, as earlier
versions did; ``--figure`` draws true against found loadings of one table from both starts.

``--by stability``: refits to half-samples (`rankfactor.evaluation.stability`), and two rules:
|m| > 1.96 sd, and that of `rankfactor.posterior.certainty`, Benjamini and Hochberg's at 5 % on
p-values of Student's t. For each, the share of what is clear that is truly zero, and the share of
what is truly not zero that is clear. With ``--of effects`` the same of the effects of features on
the decision, by model and training, in tables in which every feature has one factor at most and
the label depends on two factors of three: the effects of all other features are truly zero.

``--by draws``: the same of effects and loadings by draws of Gibbs sampling, without refits.
"""

from __future__ import annotations

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.rotation import choose
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtr

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier
from rankfactor.evaluation import stability
from rankfactor.interpret import top_features
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import effect_certainty, loading_certainty

D, K, NOISE = 60, 3, 0.7


def simulate(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((D, K)) * (rng.random((D, K)) < 0.4)
    scores = rng.standard_normal((n, K))
    return scores @ loadings.T + NOISE * rng.standard_normal((n, D)), loadings


def simulate_labels(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table whose features have one factor at most, labels of the first two, and who drives."""
    rng = np.random.default_rng(seed)
    factor = rng.integers(0, 2 * K, D)  # from K on: noise
    size = rng.uniform(0.5, 1.5, D) * rng.choice((-1.0, 1.0), D)
    loadings = np.where(factor[:, None] == np.arange(K), size[:, None], 0.0)
    scores = rng.standard_normal((n, K))
    table = scores @ loadings.T + NOISE * rng.standard_normal((n, D))
    labels = scores @ np.array([1.5, -1.0, 0.0]) + 0.5 * rng.standard_normal(n) > 0
    return table, labels, factor < 2


def matched(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """True loadings in the order and with the signs of those found."""
    product = found.T @ truth
    norms = np.sqrt(np.outer((found**2).sum(axis=0), (truth**2).sum(axis=0)))
    own, other = linear_sum_assignment(-np.abs(product / norms))
    result = np.zeros_like(truth)
    result[:, own] = truth[:, other] * np.sign(product[own, other])
    return result


def standardised(loadings: np.ndarray) -> np.ndarray:
    """True loadings in units of a feature's standard deviation."""
    return loadings / np.sqrt((loadings**2).sum(axis=1) + NOISE**2)[:, None]


def cosine(truth: np.ndarray, found: np.ndarray) -> float:
    """Mean |cosine| of factors in the same order."""
    norms = np.sqrt((truth**2).sum(axis=0) * (found**2).sum(axis=0))
    return float(np.mean(np.abs((truth * found).sum(axis=0)) / norms))


def draw(path: str) -> None:
    """True against found standardised loadings of one table of 400 samples, from both starts."""
    X, loadings = simulate(400, 0)
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.6), sharex=True, sharey=True)
    for mode, name, axes in zip(
        ("components", "moves"),
        ("principal components, no rotation", "rotated to sparsity"),
        panels,
        strict=True,
    ):
        choose(mode)
        posterior = RankFactorAnalysis(n_factors=K, random_state=0).fit(X).posterior_
        found = posterior.standardised_loadings
        truth = matched(standardised(loadings), found)
        for k, mark in enumerate("os^"):
            axes.plot(truth[:, k], found[:, k], mark, markersize=4, alpha=0.7)
        axes.plot([-1, 1], [-1, 1], color="0.6", linewidth=0.8, zorder=0)
        axes.set_title(f"{name} (cosine {cosine(truth, found):.3f})", fontsize=9)
        axes.set_xlabel("True standardised loading")
    panels[0].set_ylabel("Found standardised loading")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def shares(truth: np.ndarray, found: np.ndarray, rates: np.ndarray) -> list[float]:
    """Share of true zeros, of other signs, and the mean rate."""
    return [(truth == 0).mean(), (truth * found < 0).mean(), rates.mean()]


def posterior_rates(posterior: Posterior) -> np.ndarray:
    """Local false sign rates of the posterior itself, shape (d, K)."""
    if posterior.draws is not None:
        return loading_certainty(posterior).lfsr
    law = posterior.rows
    return ndtr(-np.abs(law.mean[:, :K]) / np.sqrt(law.variance[:, :K]))


def judged(clear: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Share of the clear that is truly zero, and share of the truly nonzero that is clear."""
    return float((~true[clear]).mean()) if clear.any() else 0.0, float(clear[true].mean())


def of_loadings(likelihood: str, n: int, seed: int, repeats: int) -> list[tuple[float, float]]:
    """What both rules find among the loadings of a table."""
    X, loadings = simulate(n, seed)
    model = RankFactorAnalysis(likelihood, n_factors=K, random_state=0, n_threads=1)
    posterior = model.fit(X).posterior_
    found = stability(model, X, repeats=repeats, posterior=posterior)
    true = matched(loadings, posterior.structure) != 0
    certainty = loading_certainty(posterior.with_stability(found))
    simple = np.abs(certainty.mean) > 1.96 * certainty.sd
    return [judged(one, true) for one in (simple, certainty.clear)]


def of_effects(
    name: str, training: str, n: int, seed: int, repeats: int
) -> list[tuple[float, float]]:
    """What both rules find among the effects of the features of a table."""
    X, y, drives = simulate_labels(n, seed)
    chosen = {"likelihood": name} if name in LIKELIHOODS else {"model": name}
    model = RankFactorClassifier(
        **chosen, n_factors=K, training=training, calibration="none", random_state=0, n_threads=1
    )
    posterior = model.fit(X, y).posterior_
    found = stability(model, X, y, repeats=repeats, posterior=posterior)
    certainty = effect_certainty(posterior.with_stability(found)).at(0)
    simple = np.abs(certainty.mean) > 1.96 * certainty.sd
    return [judged(one, drives) for one in (simple, certainty.clear)]


MODELS = (
    ("G-L-Probit", "bayes"),
    ("G-L-BSVM", "label-free"),
    ("R-L-BSVM", "label-free"),
    ("R-L-BSVM", "bayes"),
    ("R-L-BSVM", "predictive"),
    ("OR-L-Probit", "bayes"),
    ("ordinal_probit", "bayes"),
    ("ordinal_probit", "label-free"),
)
LIKELIHOODS = ("gaussian", "margin_rank", "ordinal_probit", "ordinary_rank")


def by_stability(what: str, tables: range, repeats: int, first: int = 0) -> None:
    """Print the shares of both rules, means over tables."""
    effects = what == "effects"
    head = "| model | training |" if effects else "| likelihood |"
    rule = "truly zero, found"
    print(f"{head} samples | |m| > 1.96 sd: {rule} | Benjamini and Hochberg: {rule} |")
    print("|---" * (head.count("|") + 2) + "|")
    for case in MODELS[first:] if effects else [(one,) for one in LIKELIHOODS]:
        for n in (100, 400):
            of = of_effects if effects else of_loadings
            shares = [of(*case, n, seed, repeats) for seed in tables]
            cells = [f"{zero:.3f}, {power:.3f}" for zero, power in np.mean(shares, axis=0)]
            print(f"| {' | '.join(case)} | {n} | {' | '.join(cells)} |", flush=True)


def by_draws(tables: range) -> None:
    """Print what is clear by draws: of effects, and of loadings without labels."""
    engine = Gibbs(n_draws=300, burn_in=300, n_chains=2, n_predict=50)
    print(
        "| model | samples | effects with a rate below 0.05: truly zero, found "
        "| clear effects: the same | clear loadings: the same |"
    )
    print("|---|---|---|---|---|")
    for name, likelihood in (("G-L-Probit", "gaussian"), ("R-L-BSVM", "margin_rank")):
        for n in (100, 400):
            found = []
            for seed in tables:
                X, y, drives = simulate_labels(n, seed)
                settings = {"n_factors": K, "random_state": 0, "engine": engine}
                model = RankFactorClassifier(name, calibration="none", **settings)
                effects = effect_certainty(model.fit(X, y).posterior_).at(0)
                rules = [judged(one, drives) for one in (effects.lfsr < 0.05, effects.clear)]
                X, loadings = simulate(n, seed)
                alone = RankFactorAnalysis(likelihood, **settings).fit(X).posterior_
                true = matched(loadings, alone.structure) != 0
                found.append([*rules, judged(loading_certainty(alone).clear, true)])
            cells = [f"{zero:.3f}, {power:.3f}" for zero, power in np.mean(found, axis=0)]
            print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--gibbs-tables", type=int, default=4)
    parser.add_argument("--start", choices=("components", "varimax", "moves"), default="moves")
    parser.add_argument("--figure", help="draw this file, and nothing else")
    parser.add_argument("--by", choices=("posterior", "stability", "draws"), default="posterior")
    parser.add_argument("--of", choices=("loadings", "effects"), default="loadings")
    parser.add_argument("--repeats", type=int, default=50, help="half-sample fits")
    parser.add_argument("--models", type=int, default=0, help="number of the first model")
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.figure:
        draw(options.figure)
        return
    choose(options.start)
    tables = range(options.first, options.first + options.tables)
    if options.by == "draws":
        by_draws(tables)
        return
    if options.by == "stability":
        by_stability(options.of, tables, options.repeats, options.models)
        return
    gibbs = Gibbs(n_draws=300, burn_in=300, n_chains=1)
    print(
        "| likelihood | engine | samples | cosine | clear: zero, other sign, promised "
        "| top 10: the same |"
    )
    print("|---|---|---|---|---|---|")
    for likelihood, engine, count in (
        ("gaussian", "vb", options.tables),
        ("margin_rank", "vb", options.tables),
        ("ordinal_probit", "vb", options.tables),
        ("gaussian", gibbs, options.gibbs_tables),
    ):
        for n in (100, 400):
            clear, top, cosines = [], [], []
            for seed in range(count):
                X, loadings = simulate(n, seed)
                model = RankFactorAnalysis(likelihood, n_factors=K, random_state=0, engine=engine)
                posterior = model.fit(X).posterior_
                found, rates = posterior.rows.mean[:, :K], posterior_rates(posterior)
                truth = matched(loadings, found)
                known = posterior.standardised_loadings
                cosines.append(cosine(matched(standardised(loadings), known), known))
                sure = rates < 0.05
                clear.append(shares(truth[sure], found[sure], rates[sure]))
                names = posterior.feature_names.tolist()
                for k in range(K):
                    first = top_features(posterior, 10, factor=k)
                    place = [names.index(name) for name in first["feature"]]
                    top.append(shares(truth[place, k], found[place, k], rates[place, k]))
            cells = [
                ", ".join(f"{value:.3f}" for value in np.mean(part, axis=0))
                for part in (clear, top)
            ]
            kind = "Gibbs" if engine is gibbs else "variational Bayes"
            cells = [f"{np.mean(cosines):.3f}", *cells]
            print(f"| {likelihood} | {kind} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
