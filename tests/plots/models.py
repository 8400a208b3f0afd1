"""Small fitted models for the figures and the report."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from rankfactor import Gibbs
from rankfactor.estimators import RankFactorAnalysis, RankFactorClassifier
from rankfactor.laws.normal import Normal
from rankfactor.posterior import Posterior, Stability

SCRIPT = '<script>alert("x")</script>'
QUOTES = "a & b \"quoted\" 'x' $y_1$ and $z$"
LONG = "ENSG00000139618.a_very_long_name_of_a_probe_set_that_does_not_seem_to_end_201_at"
CHINESE = "蛋白质\x01\n二"


@cache
def table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """60 samples; the four awkward features follow the first factor, which makes the group."""
    rng = np.random.default_rng(3)
    n = 60
    scores = rng.standard_normal((n, 2))
    loadings = np.zeros((13, 2))
    loadings[:4, 0] = (2.0, 1.8, 1.6, -1.4)
    loadings[4:8, 1] = (2.2, 2.0, 1.8, 1.6)
    X = scores @ loadings.T + 0.3 * rng.standard_normal((n, 13))
    X[:, 12] = 7.0
    names = [SCRIPT, QUOTES, LONG, CHINESE, *(f"f{i}" for i in range(4, 12)), "constant"]
    group = np.where(scores[:, 0] > 0, "case <b>", "control & co")
    stage = np.array(["I", "II", "III"], object)[np.digitize(scores[:, 1], [-0.5, 0.5])]
    stage[:5] = None
    samples = [f"s{i}" for i in range(n)]
    labels = pd.DataFrame({"group": group, "stage": stage}, index=samples).astype(object)
    return pd.DataFrame(X, columns=names, index=samples), labels


def _fit(estimator, *args) -> Posterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="1 of 13 features are constant")
        return estimator.fit(*args).posterior_


@cache
def two_tasks() -> Posterior:
    """A task of two classes and one of three with missing labels; a fit that has not converged."""
    # Of a small margin, so that some loadings are uncertain.
    settings = {"n_factors": 3, "margin": 0.05, "max_iter": 10, "training": "bayes"}
    return _fit(RankFactorClassifier(random_state=0, **settings), *table())


@cache
def unsupervised() -> Posterior:
    return _fit(RankFactorAnalysis(n_factors=3, max_iter=10, random_state=0), table()[0])


@cache
def counted() -> Posterior:
    """Two factors, the number found by parallel analysis."""
    return _fit(RankFactorAnalysis(n_factors="auto", max_iter=10, random_state=0), table()[0])


def none_found() -> Posterior:
    """The same model as if no eigenvalue exceeded chance."""
    posterior = counted()
    count = posterior.factor_count
    chance = count.eigenvalues[0] + np.zeros_like(count.chance)
    return replace(posterior, factor_count=replace(count, n_factors=1, common=0, chance=chance))


def of_blocks() -> Posterior:
    """The same model as if a block had added one of the factors."""
    posterior = counted()
    added = {"blocks": np.array(["genes", SCRIPT]), "added": np.array([0, 1])}
    return replace(posterior, factor_count=replace(posterior.factor_count, common=1, **added))


@cache
def one_factor() -> Posterior:
    X, labels = table()
    return _fit(RankFactorClassifier(n_factors=1, max_iter=5, random_state=0), X, labels["stage"])


@cache
def sampled() -> Posterior:
    """Two chains, far too short."""
    engine = Gibbs(n_draws=8, burn_in=4, n_chains=2)
    estimator = RankFactorClassifier(n_factors=2, max_iter=5, engine=engine, random_state=0)
    X, labels = table()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*R-hat")
        return _fit(estimator, X, labels["group"])


@cache
def nonlinear() -> Posterior:
    X, labels = table()
    estimator = RankFactorClassifier(
        "R-NL-BSVM", experts="mixed", n_factors=2, n_components=3, max_iter=5, random_state=0
    )
    return _fit(estimator, X, labels)


@cache
def gaussian() -> Posterior:
    X, labels = table()
    estimator = RankFactorClassifier("G-L-BSVM", n_factors=2, max_iter=5, random_state=0)
    return _fit(estimator, X, labels["group"])


def network() -> nx.Graph:
    """Two modules with a link of negative correlation between them, and a pair by itself."""
    graph = nx.Graph()
    for module, names in enumerate(("abcdef", "uvwxyz")):
        for i, one in enumerate(names):
            graph.add_node(one, label=f"protein {one}", module=module, factor="Factor 1")
            for other in names[:i]:
                graph.add_edge(one, other, correlation=0.9, sign=1)
    graph.add_edge("a", "u", correlation=-0.8, sign=-1)
    graph.add_node("p", label=LONG, module=2, factor="Factor 2")
    graph.add_node("q", label=SCRIPT, module=2, factor="Factor 2")
    graph.add_edge("p", "q", correlation=0.7, sign=1)
    return graph


def with_stability(posterior: Posterior, part: float = 0.3) -> Posterior:
    """Spreads of which every other is small, the others as large as the largest quantity."""
    structure = posterior.structure[posterior.coding.columns]
    rows = np.zeros((0, posterior.n_factors))
    effect = np.zeros((0, len(structure)))
    if posterior.classifiers is not None:
        rows = posterior.classifiers.rows.mean[:, : posterior.n_factors] * posterior.samples.sd
        effect = posterior.effects.decision

    def spread(values):
        small = np.maximum(part * np.abs(values), 1e-9)
        large = np.full(values.shape, np.abs(values).max(initial=1.0))
        return np.where(np.arange(values.size).reshape(values.shape) % 2 == 0, small / 3, large)

    return posterior.with_stability(
        Stability(
            n_fits=30,
            top=5,
            effect_sd=spread(effect),
            effect_selected=np.linspace(1, 0, effect.size).reshape(effect.shape),
            loading_sd=spread(structure),
            loading_selected=np.linspace(1, 0, structure.size).reshape(structure.shape),
            factor_match=np.linspace(1, 0.5, posterior.n_factors),
            coefficient_sd=spread(rows),
        )
    )


def with_coefficients(posterior: Posterior, mean, sd: float = 0.1) -> Posterior:
    """The posterior with other coefficients, shape (rows, K); intercepts are zero."""
    mean = np.column_stack([np.asarray(mean, float), np.zeros(len(mean))])
    rows = Normal.isotropic(mean, sd**2)
    return replace(posterior, classifiers=replace(posterior.classifiers, rows=rows))


def comparison() -> pd.DataFrame:
    columns = ["task", "model", "auc", "auc_sd", "accuracy", "accuracy_sd", "seconds"]
    rows = [
        ("group", "R-L-BSVM", 0.91, 0.04, 0.85, 0.05, 3.2),
        ("group", "linear <SVM>", 0.93, 0.03, 0.86, 0.04, 0.2),
        ("stage", "R-L-BSVM", 0.88, 0.02, 0.7, 0.06, 3.2),
        ("stage", "linear <SVM>", 0.71, 0.05, 0.6, 0.07, 123.4),
    ]
    return pd.DataFrame(rows, columns=columns)


def recovery() -> pd.DataFrame:
    rows = [
        ("Gaussian values", "ours", 0.987),
        ("Gaussian values", "another program, rotated", 0.991),
        ("raw scale", "ours", 0.987),
        ("raw scale", "another program, rotated", 0.603),
    ]
    return pd.DataFrame(rows, columns=["label", "model", "cosine"])


def stress() -> pd.DataFrame:
    """Models whose lines end near one another."""
    rows = [
        (label, f"model {number}", auc - 0.001 * number * (label != "as given"))
        for label, auc in (("as given", 0.9), ("raw scale", 0.7), ("12 labels", 0.8))
        for number in range(6)
    ]
    return pd.DataFrame(rows, columns=["label", "model", "auc"])


def decisions() -> pd.DataFrame:
    """Decisions on both tasks; only the first has two classes."""
    rng = np.random.default_rng(0)
    labels = table()[1]
    frames = []
    for task in labels:
        for model, noise in (("R-L-BSVM", 0.8), ("linear <SVM>", 1.0)):
            label = labels[task]
            high = (label == sorted(label.dropna().unique())[1]).to_numpy(float)
            decision = 2 * high - 1 + noise * rng.standard_normal(len(label))
            frames.append(
                pd.DataFrame(
                    {
                        "sample": label.index,
                        "task": task,
                        "model": model,
                        "label": label.to_numpy(),
                        "decision": decision,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)
