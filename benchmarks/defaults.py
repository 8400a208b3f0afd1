"""How the defaults of the classifiers were chosen: settings side by side on tables of all kinds.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/defaults.py results.csv
    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/defaults.py results.csv --variants all \
        --sets "alon;golub"

Repeated stratified 5-fold cross-validation, by groups where samples belong together; the same
folds for every variant. Training parts only of the sets that have a test part, whose test parts
are never read. The results file gets a line per fold as soon as it is known; what it has already is
not run again, so a run can be stopped and continued, or extended by variants. ``--table`` prints
without running anything.

The tables: AUC and error by set; then, over the sets, the mean of the difference of a variant from
the first one, with the standard error over sets, and on how many sets it is better and worse.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils import resample
from sources import data_folder

from rankfactor import RankFactorClassifier
from rankfactor.classifiers import fit_classifier
from rankfactor.evaluation.baselines import LinearSVM
from rankfactor.experiments.log_scale import LogScale
from rankfactor.folds import divided
from rankfactor.latent import MixedExperts
from rankfactor.likelihoods import ObservedArray
from rankfactor.shrinkage import TPBN, NormalARD
from rankfactor.steps.workers import workers

N_FOLDS = 5
MOST_FEATURES = 1000  # of wide tables as many are drawn, without a look at the labels
FIELDS = ("set", "variant", "repeat", "fold", "samples", "auc", "error", "seconds")


@dataclass(frozen=True)
class Source:
    """A task: file, label column, the classes of interest, and what else there is to say of it.

    Attributes
    ----------
    file : str
    label : str
        Array of the labels.
    positive : tuple of str
        Classes that are told from the others; of none, the second class.
    among : tuple of str
        Classes that take part; of none, all.
    groups : str or None
        Array of the groups that are kept together.
    most_samples : int or None
        As many samples are drawn.
    repeats : int
        Of the cross-validation.
    """

    file: str
    label: str = "y"
    positive: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    groups: str | None = None
    most_samples: int | None = None
    repeats: int = 5


SETS = {
    "heart_disease": Source("heart_disease.csv.gz", "diameter narrowing"),
    "alzheimer_csf, Impairment": Source("alzheimer_csf.npz"),
    "alzheimer_csf, APOE4": Source(
        "alzheimer_csf.npz", "lab_Genotype", positive=("E2E4", "E3E4", "E4E4")
    ),
    "alon": Source("alon.npz"),
    "golub": Source("golub.npz"),
    "khan_train, EWS": Source("khan_train.npz", positive=("2",)),
    "singh": Source("singh.npz"),
    "sepsis_gse13015, sepsis": Source("sepsis_gse13015.npz"),
    "sepsis_gse13015, melioidosis": Source(
        "sepsis_gse13015.npz", "lab_group", ("Melioidosis",), ("Melioidosis", "Other")
    ),
    "sepsis_metabolomics": Source(
        "sepsis_metabolomics.npz", positive=("septic-NS", "septic-S"), groups="lab_patient"
    ),
    "tb_suscept_counts, status": Source(
        "tb_suscept_counts.npz", "lab_status", groups="lab_individual"
    ),
    "tb_gse19491": Source("tb_gse19491.npz", positive=("PTB",)),
    "tb_hiv_gse37250, TB": Source("tb_hiv_gse37250.npz", positive=("PTB",)),
    "tb_hiv_gse37250, HIV": Source("tb_hiv_gse37250.npz", "lab_HIVStatus"),
    "bfi_ordinal": Source("bfi_ordinal.npz", most_samples=1000),
    "usps_3v5, training part": Source("usps_3v5.npz", repeats=1),
    "mnist_3v5, training part": Source("mnist_3v5.npz", most_samples=2000, repeats=1),
}


@dataclass(frozen=True)
class Afterwards:
    """Other classifiers on the factors of a variant, which need no fit of their own.

    Attributes
    ----------
    of : str
        The variant whose factors they are.
    prior : Shrinkage, optional
        Prior of the coefficients of linear classifiers.
    experts : MixedExperts, optional
        Local classifiers.
    machine : bool
        A support vector machine on the mean scores.
    """

    of: str
    prior: Any = None
    experts: MixedExperts | None = None
    machine: bool = False

    def decide(self, fitted: Any, X: Any, y: Any, new: Any) -> Any:
        """Decisions of new samples."""
        if self.machine:
            inner = LinearSVM(random_state=0).fit(fitted.scores_, y)
            return inner.decision_function(fitted.transform(new))
        posterior = fitted.posterior_
        labels = ObservedArray(np.where(y, 1.0, -1.0)[None])
        with workers(1) as pool:
            z = posterior.encode(new, pool)
            if self.experts is not None:
                model = replace(posterior.model, experts=self.experts)
            else:
                model = replace(posterior.model, coefficient_shrinkage=self.prior)
            return fit_classifier(model, labels, posterior.scores, pool).decide(z)[0][:, 0]


class Bagged:
    """The mean decision of fits to bootstrap samples, in units of their spread."""

    def __init__(self, seed: int, count: int = 5, **settings: Any) -> None:
        self.seed, self.count, self.settings = seed, count, settings

    def fit(self, X: Any, y: Any, groups: Any = None) -> "Bagged":
        self.models = []
        for number in range(self.count):
            some = resample(np.arange(len(y)), stratify=y, random_state=self.seed + number)
            inside = some if groups is None else groups[some]  # copies of a sample stay together
            model = factors(self.seed + number, **self.settings)
            self.models.append(model.fit(X[some], y[some], groups=inside))
        return self

    def decision_function(self, X: Any) -> Any:
        parts = [model.decision_function(X) for model in self.models]
        return np.mean([part / max(np.abs(part).mean(), 1e-12) for part in parts], axis=0)


def factors(seed: int, kind: Any = RankFactorClassifier, **settings: Any) -> Any:
    """A classifier of the library, of the margin that was the default for all tables then.

    Calibration changes no decision, so its time is spared.
    """
    plain = {"calibration": "none", "margin": 0.05, "random_state": seed, "n_threads": 1}
    return kind(**{**plain, **settings})


def variant(**settings: Any) -> Callable[[int], Any]:
    """How a variant is made for a seed."""
    return lambda seed: factors(seed, **settings)


def gaussian(**settings: Any) -> Callable[[int], Any]:
    """A Gaussian variant, on the log scale where a table is of raw intensities."""
    return lambda seed: LogScale(factors(seed, **settings))


def experts(of: str, count: int, **settings: Any) -> Afterwards:
    """Local classifiers on the factors of a variant."""
    return Afterwards(of, experts=MixedExperts(count, **settings))


BAYES, PREDICTIVE = {"training": "bayes"}, {"training": "predictive"}
VARIANTS: dict[str, Callable[[int], Any] | Afterwards] = {
    "R-L bayes": variant(**BAYES),
    "R-L predictive": variant(**PREDICTIVE),
    "G-L bayes": gaussian(model="G-L-BSVM", **BAYES),
    "L-SVM": lambda seed: LogScale(LinearSVM(random_state=seed)),
    "R-NL bayes, precision 0.1": experts("R-L bayes", 10, precision=0.1),
    "R-NL bayes, precision 1": experts("R-L bayes", 10, precision=1.0),
    "R-NL predictive, precision 0.1": experts("R-L predictive", 10, precision=0.1),
    "R-NL predictive, precision 1": experts("R-L predictive", 10, precision=1.0),
    "R-L bayes, normal coefficients": Afterwards("R-L bayes", NormalARD(scope="row")),
    "R-L predictive, normal coefficients": Afterwards("R-L predictive", NormalARD(scope="row")),
    # What the library does today (benchmarks/few_features.py).
    "R-L default": variant(margin="auto"),
    "R-NL default": variant(model="R-NL-BSVM", margin="auto"),
    # The number of factors by parallel analysis.
    "R-L default, K auto": variant(margin="auto", n_factors="auto"),
    "R-L bayes, K auto": variant(n_factors="auto", **BAYES),
    # The weight of the labels.
    "R-L label-free": variant(label_weight=0.0, **PREDICTIVE),
    "R-L predictive, weight 1": variant(label_weight=1.0, **PREDICTIVE),
    "R-L predictive, weight 10": variant(label_weight=10.0, **PREDICTIVE),
    # The margin.
    "R-L predictive, margin 0.1": variant(margin=0.1, **PREDICTIVE),
    "R-L predictive, margin 0.2": variant(margin=0.2, **PREDICTIVE),
    "R-L predictive, margin 0.4": variant(margin=0.4, **PREDICTIVE),
    "R-NL predictive, margin 0.1": experts("R-L predictive, margin 0.1", 10, precision=1.0),
    "R-NL predictive, margin 0.2": experts("R-L predictive, margin 0.2", 10, precision=1.0),
    "R-NL predictive, margin 0.4": experts("R-L predictive, margin 0.4", 10, precision=1.0),
    # Other classifiers on the same factors.
    "R-L bayes, light tails": Afterwards("R-L bayes", TPBN(1.0, 1.0, scope="row")),
    "R-L bayes, fixed precision": experts("R-L bayes", 1, precision=0.1),
    "R-L bayes, then L-SVM": Afterwards("R-L bayes", machine=True),
    "R-L predictive, light tails": Afterwards("R-L predictive", TPBN(1.0, 1.0, scope="row")),
    "R-L predictive, fixed precision": experts("R-L predictive", 1, precision=0.1),
    "R-L predictive, then L-SVM": Afterwards("R-L predictive", machine=True),
    "R-NL bayes, T 5": experts("R-L bayes", 5, precision=0.1),
    "R-NL bayes, T 20": experts("R-L bayes", 20, precision=0.1),
    "R-NL predictive, T 5": experts("R-L predictive", 5, precision=0.1),
    "R-NL predictive, T 20": experts("R-L predictive", 20, precision=0.1),
    # The number of factors.
    "R-L bayes, K 10": variant(n_factors=10, **BAYES),
    "R-L bayes, K 40": variant(n_factors=40, **BAYES),
    "R-L predictive, K 10": variant(n_factors=10, **PREDICTIVE),
    "R-L predictive, K 40": variant(n_factors=40, **PREDICTIVE),
    # Parts, stopping, averages.
    "G-L predictive": gaussian(model="G-L-BSVM", **PREDICTIVE),
    "ordinal probit bayes": variant(likelihood="ordinal_probit", **BAYES),
    "R-L bayes, normal loadings": variant(shrinkage="normal", **BAYES),
    "R-L bayes, balanced": variant(class_weight="balanced", **BAYES),
    "R-L bayes, tol 1e-5": variant(tol=1e-5, max_iter=2000, **BAYES),
    "R-L bayes, bagged": lambda seed: Bagged(seed, **BAYES),
    "R-L predictive, bagged": lambda seed: Bagged(seed, **PREDICTIVE),
}
FIRST = tuple(VARIANTS)[:10]


def load(folder: Path, source: Source) -> tuple[Any, Any, Any]:
    """Table, whether a sample is positive, and groups."""
    if source.file.endswith(".csv.gz"):
        frame = pd.read_csv(folder / source.file)
        y = frame.pop(source.label).to_numpy()
        words = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c])]
        X = pd.get_dummies(frame, columns=words, dtype=float).to_numpy(float)
        groups = None
    else:
        with np.load(folder / source.file, allow_pickle=False) as arrays:
            part = "_train" if "X_train" in arrays else ""
            X = arrays[f"X{part}"].astype(float)
            y = arrays[f"{source.label}{part}"]
            groups = arrays[source.groups] if source.groups else None
    kept = np.isin(y, source.among) if source.among else np.full(len(y), True)
    positive = np.isin(y, source.positive) if source.positive else y == np.unique(y)[1]
    rng = np.random.default_rng(0)
    samples = np.flatnonzero(kept)
    if source.most_samples is not None:
        samples = np.sort(rng.permutation(samples)[: source.most_samples])
    columns = np.sort(rng.permutation(X.shape[1])[:MOST_FEATURES])
    return (
        X[np.ix_(samples, columns)],
        positive[samples],
        None if groups is None else groups[samples],
    )


def folds_of(y: Any, groups: Any, repeat: int) -> list[tuple[Any, Any]]:
    """Training and test samples of a repeat; folds without a class have nothing to say."""
    folds = divided(y, groups, N_FOLDS, repeat)
    return [(train, test) for train, test in folds if 0 < y[test].sum() < len(test)]


class Fold:
    """A training and a test part, and the fits that several variants share."""

    def __init__(self, X: Any, y: Any, groups: Any, new: Any, seed: int) -> None:
        self.X, self.y, self.groups, self.new, self.seed = X, y, groups, new, seed
        self.fitted: dict[str, tuple[Any, float]] = {}

    def fit(self, name: str) -> tuple[Any, float]:
        """A fitted variant and the seconds it took."""
        if name not in self.fitted:
            make = VARIANTS[name]
            assert not isinstance(make, Afterwards)
            started = time.perf_counter()
            together = {} if self.groups is None else {"groups": self.groups}
            model = make(self.seed).fit(self.X, self.y, **together)
            self.fitted[name] = model, time.perf_counter() - started
        return self.fitted[name]

    def decide(self, name: str) -> tuple[Any, float]:
        """Decisions of the test part, and the seconds of the fit."""
        one = VARIANTS[name]
        model, seconds = self.fit(one.of if isinstance(one, Afterwards) else name)
        if not isinstance(one, Afterwards):
            return model.decision_function(self.new), seconds
        started = time.perf_counter()
        decision = one.decide(model, self.X, self.y, self.new)
        return decision, seconds + time.perf_counter() - started


def run(
    folder: Path, results: Path, sets: list[str], variants: list[str], most_repeats: int
) -> None:
    """Add the folds that the results do not have."""
    done = set()
    if results.exists():
        known = pd.read_csv(results)
        done = set(zip(known["set"], known["variant"], known["repeat"], known["fold"], strict=True))
    else:
        results.write_text(",".join(FIELDS) + "\n")
    for name in sets:
        X, y, groups = load(folder, SETS[name])
        for repeat in range(min(SETS[name].repeats, most_repeats)):
            folds = folds_of(y, groups, repeat)
            for number, (train, test) in enumerate(folds):
                inside = None if groups is None else groups[train]
                fold = Fold(X[train], y[train], inside, X[test], repeat)
                for one in variants:
                    if (name, one, repeat, number) in done:
                        continue
                    decision, seconds = fold.decide(one)
                    area = roc_auc_score(y[test], decision)
                    error = np.mean((decision > 0) != y[test])
                    line = (name, one, repeat, number, len(test), area, error, round(seconds, 3))
                    with results.open("a", newline="") as file:
                        csv.writer(file).writerow(line)
            print(f"{name}, repeat {repeat}", file=sys.stderr, flush=True)


def tables(results: Path, sets: list[str], variants: list[str], most_repeats: int) -> str:
    """The results as Markdown."""
    frame = pd.read_csv(results)
    frame = frame[frame["set"].isin(sets) & frame["variant"].isin(variants)]
    frame = frame[frame["repeat"] < most_repeats].copy()
    frame["error"] *= 100
    by_fold = {
        key: frame.pivot_table(
            index=["set", "repeat", "fold"], columns="variant", values=key
        ).reindex(columns=variants)
        for key in ("auc", "error", "seconds")
    }
    wide = {key: found.groupby("set").mean().reindex(sets) for key, found in by_fold.items()}
    lines = [f"| set | {' | '.join(variants)} |", "|" + "---|" * (1 + len(variants))]
    for name in sets:
        pairs = zip(wide["auc"].loc[name], wide["error"].loc[name], strict=True)
        cells = ["" if np.isnan(area) else f"{area:.3f}, {error:.1f}" for area, error in pairs]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    first = variants[0]
    lines += [
        "",
        f"| variant | sets | AUC - that of {first} (se) | better, worse | error % - that of "
        f"{first} (se) | better, worse | times slower |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in variants[1:]:
        cells = []
        for key, sign in (("auc", 1), ("error", -1)):
            # On the folds that both have.
            gap = (by_fold[key][one] - by_fold[key][first]).dropna().groupby("set").mean()
            spread = gap.std() / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            least = 0.001 if key == "auc" else 0.1
            better, worse = (sign * gap > least).sum(), (sign * gap < -least).sum()
            digits = 4 if key == "auc" else 2
            cells.append(f"{gap.mean():+.{digits}f} ({spread:.{digits}f}) | {better}, {worse}")
        slower = by_fold["seconds"][one] / by_fold["seconds"][first]
        times = np.exp(np.log(slower.dropna()).groupby("set").mean().mean())
        lines.append(f"| {one} | {len(gap)} | {' | '.join(cells)} | {times:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, help="CSV file, made or continued")
    parser.add_argument("--sets", default=";".join(SETS), help="separated by semicolons")
    parser.add_argument("--variants", default=";".join(FIRST), help="semicolons; or all")
    parser.add_argument("--repeats", type=int, default=1, help="at most")
    parser.add_argument("--table", action="store_true", help="print only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    folder = data_folder()
    sets = arguments.sets.split(";")
    variants = list(VARIANTS) if arguments.variants == "all" else arguments.variants.split(";")
    if not arguments.table:
        run(folder, arguments.results, sets, variants, arguments.repeats)
    print(tables(arguments.results, sets, variants, arguments.repeats))


if __name__ == "__main__":
    main()
