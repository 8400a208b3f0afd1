"""How often 90 % intervals hold the truth: decisions, effects, coefficients and loadings.

    .venv/bin/python -m benchmarks.interval_coverage
    .venv/bin/python -m benchmarks.interval_coverage --of stability
    .venv/bin/python -m benchmarks.interval_coverage --of gibbs
    .venv/bin/python -m benchmarks.interval_coverage --of prior
    .venv/bin/python -m benchmarks.interval_coverage --of hinge

Decisions of new samples: tables are drawn from the model itself (Gaussian features with a noise of
their own, probit labels, three factors, half of the loadings zero), so that the true decision of
every new sample is known: f = beta . z + beta_0. The interval is `predict_interval(level=0.9)` of a
sample that was not in training.

``--of gibbs``: decisions of new samples, effects of features and coefficients after Gibbs sampling,
with probit labels and normalised likelihoods; the tables are the same with unit noise, and the
truth follows from the parameters that they were drawn with. Given the latent normals y of the
features, E[z | y] = V A^T y with V = (I + A^T A)^-1, so the effect of feature i is
``beta^T V a_i`` times its interquartile range, and the coefficient of factor k per standard
deviation of its label-free score is ``beta_k sqrt(1 - V_kk)``.

``--of prior``: the same with coefficients drawn from their prior, a row of the horseshoe with a
slab, in place of 1.5, -1 and 0.5. A posterior covers truths of its own prior, or it is wrong.

``--of hinge``: the same for the hinge and for max-margin ranks, whose posterior is that of a
pseudo-likelihood. Their decisions have a scale of their own, so the truth is multiplied by the
number that brings it nearest to the decisions found. The weight of a label is the power that its
likelihood is raised to (`class_weight`), a learning rate.

``--of stability``: effects of features, coefficients and loadings, with the intervals of refits to
half-samples (`rankfactor.posterior.certainty`). Tables are those of `benchmarks.sign_rates`. The
truth is what the same model finds in a table of LARGE samples of the same population, so that all
likelihoods, classifiers and trainings have one. Effects are given apart for the features that drive
the label and for those that do not. "Up to scale": the truth is multiplied by the number that
brings it nearest to the effects found, since shrinkage makes all decisions smaller together.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from benchmarks.sign_rates import MODELS, K, simulate_labels
from sklearn.exceptions import ConvergenceWarning

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.engine.alignment import match_factors
from rankfactor.evaluation import stability
from rankfactor.posterior.certainty import (
    Certainty,
    coefficient_certainty,
    effect_certainty,
    loading_certainty,
)
from rankfactor.shrinkage.tpbn import COEFFICIENT_SLAB

REPLICATES, N_NEW = 20, 200
LARGE = 8000
SAMPLED = Gibbs(n_draws=300, burn_in=200, n_chains=2, n_predict=60)
NORMALISED = {
    "G-L-Probit": {"model": "G-L-Probit"},
    "ordinal probit": {"likelihood": "ordinal_probit", "classifier": "probit"},
    "OR-L-Probit": {"model": "OR-L-Probit"},
}
PSEUDO = {
    f"{model}, labels of weight {c:g}": {"model": model, "class_weight": {False: c, True: c}}
    for model in ("G-L-BSVM", "R-L-BSVM")
    for c in (0.25, 0.5, 1.0, 2.0)
}
ENGINES = {"variational Bayes": "vb", "Gibbs": Gibbs(n_draws=200, burn_in=200, n_predict=50)}


def simulate(rng, n, d=30, k=3):
    """Features, labels and true decisions of n training and N_NEW new samples."""
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.5)
    z = rng.standard_normal((n + N_NEW, k))
    noise = rng.uniform(0.3, 1.0, d)
    X = z @ loadings.T + noise * rng.standard_normal((n + N_NEW, d))
    f = z @ np.array([1.5, -1.0, 0.0]) + 0.3
    y = f + rng.standard_normal(n + N_NEW) > 0
    return X[:n], y[:n], X[n:], f[n:]


def prior_coefficients(rng, k):
    """Coefficients (k,) from `TPBN.for_coefficients`: the slab accepts draws of the horseshoe."""
    while True:
        phi = rng.gamma(0.5) / rng.gamma(0.5)
        xi = rng.gamma(0.5, size=k) / (rng.gamma(0.5, size=k) / phi)
        beta = rng.standard_normal(k) * np.sqrt(xi)
        if rng.uniform() < np.exp(-0.5 * (beta**2).sum() / COEFFICIENT_SLAB**2):
            return beta


def simulate_known(rng, n, d=30, k=3, from_prior=False):
    """Like `simulate` with unit noise; with true effects (d,) and coefficients (k,)."""
    A = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.5)
    beta = prior_coefficients(rng, k) if from_prior else np.array([1.5, -1.0, 0.5])
    z = rng.standard_normal((n + N_NEW, k))
    X = z @ A.T + rng.standard_normal((n + N_NEW, d))
    f = z @ beta + 0.3
    y = f + rng.standard_normal(n + N_NEW) > 0
    V = np.linalg.inv(np.eye(k) + A.T @ A)
    low, high = np.quantile(X[:n], (0.25, 0.75), axis=0)
    effects = (A @ V @ beta) * (high - low)
    return X[:n], y[:n], X[n:], f[n:], effects, beta * np.sqrt(1 - np.diag(V)), A


def by_gibbs(
    models: dict, tables: int, sizes: tuple[int, ...], scaled: bool, from_prior: bool = False
) -> None:
    """Print how often intervals after Gibbs sampling hold the truth."""
    print("| model | samples | decisions | effects | coefficients | scale | width of decisions |")
    print("|---" * 7 + "|")
    for name, settings in models.items():
        for n in sizes:
            rng, rows = np.random.default_rng(0), []
            for _ in range(tables):
                X, y, new, f, effects, beta, A = simulate_known(rng, n, from_prior=from_prior)
                if len(np.unique(y)) < 2:  # nothing to learn
                    continue
                model = RankFactorClassifier(
                    **settings, n_factors=3, training="bayes", engine=SAMPLED, random_state=0
                ).fit(X, y)
                posterior = model.posterior_
                low, high = model.predict_interval(new, 0.9).T
                found = model.decision_function(new)
                scale = (found @ f) / (f @ f) if scaled else 1.0
                order, sign = match_factors(A, posterior.structure)
                coefficients = coefficient_certainty(posterior).at(0)
                rows.append(
                    [
                        np.mean((low <= scale * f) & (scale * f <= high)),
                        held(effect_certainty(posterior).at(0), scale * effects).mean(),
                        held(coefficients, scale * sign * beta[order]).mean(),
                        scale,
                        np.mean(high - low),
                    ]
                )
            cells = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
            print(f"| {name} | {n} | {cells} |", flush=True)


def held(certainty: Certainty, truth: np.ndarray) -> np.ndarray:
    """Which intervals hold the truth."""
    return (certainty.low <= truth) & (truth <= certainty.high)


def by_stability(tables: int, repeats: int) -> None:
    """Print how often intervals of half-sample fits hold what a large table says."""
    print(
        "| model | training | samples | effects that drive | the same up to scale | other effects "
        "| coefficients | loadings | scale |"
    )
    print("|---" * 9 + "|")
    for name, training in MODELS[:5]:
        for n in (100, 400):
            rows = [_coverage(name, training, n, seed, repeats) for seed in range(tables)]
            cells = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
            print(f"| {name} | {training} | {n} | {cells} |", flush=True)


def _coverage(name: str, training: str, n: int, seed: int, repeats: int) -> list[float]:
    model = RankFactorClassifier(
        name, n_factors=K, training=training, calibration="none", random_state=0, n_threads=1
    )
    X, y, _ = simulate_labels(LARGE, seed)
    large = model.fit(X, y).posterior_
    X, y, drives = simulate_labels(n, seed)
    posterior = model.fit(X, y).posterior_
    posterior = posterior.with_stability(
        stability(model, X, y, repeats=repeats, posterior=posterior)
    )
    order, sign = match_factors(large.structure, posterior.structure)
    effects, truth = effect_certainty(posterior).at(0), large.effects.decision[0]
    scale = (truth @ effects.mean) / (truth @ truth)
    right, similar = held(effects, truth), held(effects, scale * truth)
    true = large.classifiers.rows.mean[:, :K] * large.samples.sd
    coefficients = held(coefficient_certainty(posterior), sign * true[:, order])
    loadings = held(loading_certainty(posterior), sign * large.structure[:, order])
    found = right[drives], similar[drives], right[~drives], coefficients, loadings
    return [*(one.mean() for one in found), scale]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=("decisions", "gibbs", "prior", "hinge", "stability"))
    parser.set_defaults(of="decisions")
    parser.add_argument("--models", default="", help="beginning of the models' names (Gibbs)")
    parser.add_argument("--tables", type=int, default=10, help="simulated tables of a size")
    parser.add_argument("--repeats", type=int, default=50, help="half-sample fits")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)

    def some(models: dict) -> dict:
        return {name: one for name, one in models.items() if name.startswith(options.models)}

    if options.of == "stability":
        by_stability(options.tables, options.repeats)
        return
    if options.of == "gibbs":
        by_gibbs(some(NORMALISED), options.tables, (100, 400), scaled=False)
        return
    if options.of == "prior":
        by_gibbs(some(NORMALISED), options.tables, (100,), scaled=False, from_prior=True)
        return
    if options.of == "hinge":
        by_gibbs(some(PSEUDO), options.tables, (200,), scaled=True)
        return
    print("| training samples | engine | intervals that hold the truth | mean width |")
    print("|---|---|---|---|")
    for n in (100, 400):
        for name, engine in ENGINES.items():
            rng = np.random.default_rng(0)
            hits, widths = [], []
            for _ in range(REPLICATES):
                X, y, new, truth = simulate(rng, n)
                model = RankFactorClassifier(
                    "G-L-Probit", n_factors=6, training="bayes", engine=engine, random_state=0
                ).fit(X, y)
                low, high = model.predict_interval(new, 0.9).T
                hits.append(np.mean((low <= truth) & (truth <= high)))
                widths.append(np.mean(high - low))
            print(f"| {n} | {name} | {np.mean(hits):.3f} | {np.mean(widths):.2f} |", flush=True)


if __name__ == "__main__":
    main()
