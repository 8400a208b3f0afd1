"""Seconds to explain 1,000 samples of 5,000 features, and to encode them, side by side.

``--agreement``: first-order effects on the bundled Alzheimer table beside those of encoding all
samples again with a feature set to its quartiles, for the features among the 50 largest effects of
a task: correlation and slope for both tasks, and how many of a task's 50 have the other sign; then
the effect of the leading feature with a copy of it in the table, over that without.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd

from rankfactor import RankFactorClassifier, load_alzheimer

N, D, K, REPEATS = 1000, 5000, 20, 3
MODELS = (
    {},
    {"training": "bayes"},
    {"training": "predictive"},
    {"model": "G-L-BSVM"},
    {"likelihood": "ordinal_probit"},
    {"model": "OR-L-Probit"},
    {"model": "R-NL-BSVM", "experts": "mixed"},
    {"model": "R-NL-BSVM", "experts": "kernel"},
)


def fitted(table, labels, **settings):
    settings = {"random_state": 0, "calibration": "none", **settings}
    return RankFactorClassifier(**settings).fit(table, labels)


def agreement() -> None:
    """Print correlation and slope of both kinds of effects for every model."""
    data = load_alzheimer()
    table = data.table
    for settings in MODELS:
        model = fitted(table, data.labels, **settings)
        effects = model.feature_effects()["effect"]
        ends = model.posterior_.effects
        top = [effects[row].abs().nlargest(50).index for row in effects]
        first = top[0].union(top[1])
        again = []
        for name in first:
            i, known = effects.index.get_loc(name), table[name].notna().to_numpy()
            low, high = (
                np.column_stack(model.decision_function(table.assign(**{name: end[i]})))[known]
                for end in (ends.low, ends.high)
            )
            again.append((high - low).mean(axis=0))
        again = pd.DataFrame(again, first, effects.columns)
        pairs = [(again[row], effects.loc[first, row]) for row in effects]
        r = [f"{np.corrcoef(one, other)[0, 1]:.4f}" for one, other in pairs]
        slope = [f"{np.polyfit(one, other, 1)[0]:.3f}" for one, other in pairs]
        wrong = [
            int((again.loc[some, row] * effects.loc[some, row] < 0).sum())
            for some, row in zip(top, effects, strict=True)
        ]
        name = effects.iloc[:, 0].abs().idxmax()
        twice = fitted(table.assign(copy=table[name]), data.labels, **settings).feature_effects()
        half = twice["effect"].iloc[:, 0][name] / effects.iloc[:, 0][name]
        print(settings, "correlation", *r, "slope", *slope, "other sign", *wrong, flush=True)
        print(f"    {name} with a copy: {half:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agreement", action="store_true")
    warnings.simplefilter("ignore")
    if parser.parse_args().agreement:
        agreement()
        return
    rng = np.random.default_rng(0)
    z = rng.standard_normal((N, 5))
    X = z @ rng.standard_normal((5, D)) + rng.standard_normal((N, D))
    y = z[:, 0] + 0.5 * rng.standard_normal(N) > 0
    model = RankFactorClassifier(
        n_factors=K, training="label-free", calibration="none", max_iter=20, random_state=0
    ).fit(X[:300], y[:300])
    for name in ("transform", "explain", "feature_effects"):
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            getattr(model, name)(X)
            seconds.append(time.perf_counter() - start)
        print(f"{name}: {min(seconds):.2f} s (best of {REPEATS})", flush=True)


if __name__ == "__main__":
    main()
