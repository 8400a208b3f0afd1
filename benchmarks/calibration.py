"""How well calibrated probabilities are: the table of docs/howto/models.md ("Probabilities").

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/calibration.py [--json FILE] [--sets A,B]
    .venv/bin/python benchmarks/calibration.py --figure docs/images/reliability.png

Training parts only: three folds of the bundled and the small sets, two of USPS 3 against 5, 1000
samples for training and 2000 for validation of MNIST 3 against 5, and three simulated tables (300
samples for training, 2000 new ones) whose labels are drawn with known probabilities. Every model
is fitted once; "none" are its probabilities with the scales of decisions set to 1. A linear SVM
with Platt's scaling (five inner folds) is beside them. Measures are of all folds together: log
loss, Brier score, and expected calibration error in ten bins. What is in FILE already is not
computed again; sets that are absent are left out. The figure is of R-L-BSVM on the three simulated
tables together.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from margin import tables
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rankfactor import RankFactorClassifier
from rankfactor.data import data_directory, read_npz_split
from rankfactor.plots import reliability_figure
from rankfactor.presets import PRESETS
from rankfactor.steps.workers import workers

MODELS = {name: {"model": name} for name in PRESETS} | {
    "ordinal probit, BSVM": {"model": "G-L-BSVM", "likelihood": "ordinal_probit"},
    "ordinal probit, probit": {"model": "G-L-Probit", "likelihood": "ordinal_probit"},
}
TRAINING = ("auto", "bayes", "predictive")
# Where and with which models the whole fit is cross-validated, too.
WHOLE, WHOLE_MODELS = ("alzheimer_csf", "heart_disease"), ("R-L-BSVM", "G-L-BSVM")
PLATT = "linear SVM, Platt"
Split = tuple[np.ndarray, np.ndarray]


def simulated(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Table (2300, 60), labels and their true probabilities: four factors, two of which tell."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((60, 4)) * (rng.random((60, 4)) < 0.5)
    z = rng.standard_normal((2300, 4))
    w = z @ loadings.T + rng.standard_normal((2300, 60))
    chance = expit(1.5 * z[:, 0] - z[:, 1] + 0.5)
    X = np.where(np.arange(60) % 3 == 0, np.exp(w / 2), w)
    return X, (rng.random(2300) < chance).astype(int), chance


def halves(labels: pd.DataFrame, n_folds: int) -> list[Split]:
    """Folds with all combinations of labels in each."""
    levels = pd.factorize(labels.astype(str).agg(" ".join, axis=1))[0]
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return [(one, other) for one, other in folds.split(levels, levels)]


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray, list[Split]]]:
    """Name, table, class numbers (N, n_tasks) and splits of every set."""
    for name, table, labels, _ in tables():
        if name in (*WHOLE, "tb_gse19491", "usps_3v5, training part"):
            class_index = np.column_stack([pd.factorize(labels[c], sort=True)[0] for c in labels])
            yield (
                name,
                table.to_numpy(float),
                class_index,
                halves(labels, 2 if "usps" in name else 3),
            )
    for seed in range(3):
        X, y, _ = simulated(seed)
        yield f"simulated {seed}", X, y[:, None], [(np.arange(300), np.arange(300, 2300))]
    folder = data_directory()
    if folder is None:
        return
    if (path := folder / "mnist_3v5.npz").exists():
        data, _ = read_npz_split(path)
        class_index = pd.factorize(data.labels["y"], sort=True)[0][:, None]
        order = np.random.default_rng(0).permutation(len(class_index))
        yield (
            "mnist_3v5",
            data.table.to_numpy(float),
            class_index,
            [(order[:1000], order[1000:3000])],
        )


def measures(p: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Log loss, Brier score and expected calibration error of probabilities of class 1."""
    right = np.clip(np.where(y == 1, p, 1 - p), 1e-15, 1)
    place = np.minimum((10 * p).astype(int), 9)
    gaps = [abs((p - y)[place == b].sum()) for b in range(10)]
    return {
        "log_loss": float(-np.log(right).mean()),
        "brier": float(((p - y) ** 2).mean()),
        "ece": float(sum(gaps) / len(p)),
        "error": float(((p > 0.5) != y).mean()),
    }


def fold_probabilities(settings, X, class_index, one, other):
    """Probabilities of class 1, as they were and at their scales, (n, n_tasks); scales; seconds."""
    started = time.process_time()
    model = RankFactorClassifier(random_state=0, n_threads=1, **settings).fit(
        X[one], class_index[one]
    )
    seconds = time.process_time() - started
    posterior = model.posterior_
    plain = replace(
        posterior,
        classifiers=replace(posterior.classifiers, scale=np.ones(class_index.shape[1])),
    )
    with workers(1) as pool:
        decision = posterior.decide(X[other], pool)
    both = [
        np.column_stack([p[:, 1] for p in each.probabilities(decision)])
        for each in (plain, posterior)
    ]
    return *both, posterior.classifiers.scale, seconds


def platt(X, class_index, splits):
    """Probabilities of class 1 by scaled support vector machines, one per task; labels."""
    found = []
    for one, other in splits:
        machine = make_pipeline(
            SimpleImputer(strategy="median"),
            StandardScaler(),
            CalibratedClassifierCV(LinearSVC(C=0.01, dual=False), method="sigmoid", cv=5),
        )
        found.append(
            np.column_stack(
                [machine.fit(X[one], y[one]).predict_proba(X[other])[:, 1] for y in class_index.T]
            )
        )
    return np.concatenate(found)


def records(name, X, class_index, splits, done):
    """Measures of one set by model, training, rule and task, added to what is done."""
    y = np.concatenate([class_index[other] for _, other in splits])

    def add(key, by_rule, **more):
        done[key] = [
            {"rule": rule, "task": t, **measures(p[:, t], y[:, t]), **more}
            for rule, p in by_rule.items()
            for t in range(y.shape[1])
        ]

    if (key := f"{name}|{PLATT}|") not in done:
        add(key, {"platt": platt(X, class_index, splits)})
    for model, parts in MODELS.items():
        for training in TRAINING:
            if training == "predictive" and model.startswith("OR-"):
                continue  # has no gradient
            for rule in ("refit", "cross-validation"):
                whole = rule == "cross-validation"
                key = f"{name}|{model}|{training}" + ("|whole" if whole else "")
                if key in done or (whole and not crossed(name, model, training)):
                    continue
                settings = {**parts, "training": training, "calibration": rule}
                found = [fold_probabilities(settings, X, class_index, *split) for split in splits]
                plain, scaled = (np.concatenate([part[i] for part in found]) for i in (0, 1))
                rules = {rule: scaled} if whole else {"none": plain, rule: scaled}
                scale = [float(s) for part in found for s in part[2]]
                add(key, rules, scale=scale, seconds=float(np.mean([part[3] for part in found])))


def crossed(name: str, model: str, training: str) -> bool:
    """Whether the whole fit is cross-validated."""
    return name in WHOLE and model in WHOLE_MODELS and training != "auto"


def draw(path: Path) -> None:
    """Reliability before and after calibration, beside the true probabilities."""
    parts = []
    for seed in range(3):
        X, y, chance = simulated(seed)
        one, other = np.arange(300), np.arange(300, 2300)
        plain, scaled, *_ = fold_probabilities({}, X, y[:, None], one, other)
        parts.append([y[other], plain[:, 0], scaled[:, 0], chance[other]])
    y, plain, scaled, chance = (np.concatenate(each) for each in zip(*parts, strict=True))
    named = {"as it stands": plain, "calibrated": scaled, "true probabilities": chance}
    reliability_figure(y, named).savefig(path, dpi=110)


def flat(done: dict) -> pd.DataFrame:
    """One row per set, task, model, training and rule."""
    rows = []
    for key, found in done.items():
        name, model, training, *_ = key.split("|")
        rows += [{"set": name, "model": model, "training": training, **one} for one in found]
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame) -> str:
    """Markdown: means over sets and tasks."""
    lines = [
        "| model, training | log loss | calibrated | Brier | calibrated | ECE | calibrated "
        "| scale |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for model, training in product(MODELS, TRAINING):
        part = frame[(frame["model"] == model) & (frame["training"] == training)]
        if part.empty:
            continue
        mean = part.groupby("rule")[["log_loss", "brier", "ece"]].mean()
        scale = [s for values in part.loc[part["rule"] == "refit", "scale"] for s in values]
        cells = [f"{model}, {training}"]
        for measure in mean:
            cells += [f"{mean.loc[rule, measure]:.3f}" for rule in ("none", "refit")]
        cells.append(f"{min(scale):.2f} to {max(scale):.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    mean = frame.loc[frame["model"] == PLATT, ["log_loss", "brier", "ece"]].mean()
    lines.append(f"| {PLATT} | | " + " | | ".join(f"{value:.3f}" for value in mean) + " | |")
    return "\n".join(lines)


def by_set(frame: pd.DataFrame) -> str:
    """Markdown: log loss by set, means over models and tasks."""
    ours, base = frame[frame["model"] != PLATT], frame[frame["model"] == PLATT]
    lines = [
        "| set | " + " | ".join(f"{one} | calibrated" for one in TRAINING) + " | Platt |",
        "|---|" + "--:|" * (2 * len(TRAINING) + 1),
    ]
    for name, part in ours.groupby("set", sort=False):
        mean = part.groupby(["training", "rule"])["log_loss"].mean()
        cells = [f"{mean[(t, r)]:.3f}" for t in TRAINING for r in ("none", "refit")]
        other = base.loc[base["set"] == name, "log_loss"].mean()
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {other:.3f} |")
    return "\n".join(lines)


def whole_fit(frame: pd.DataFrame) -> str:
    """Markdown: "refit" beside "cross-validation" where there are both."""
    both = frame["set"].isin(WHOLE) & frame["model"].isin(WHOLE_MODELS)
    part = frame[both & (frame["training"] != "auto")]
    mean = part.groupby(["training", "rule"])[["log_loss", "brier", "ece"]].mean()
    lines = ["| training, rule | log loss | Brier | ECE |", "|---|---|---|---|"]
    for (training, rule), row in mean.iterrows():
        lines.append(f"| {training}, {rule} | " + " | ".join(f"{v:.3f}" for v in row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", default="")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    if arguments.figure is not None:
        draw(arguments.figure)
        return
    done = {}
    if arguments.json is not None and arguments.json.exists():
        done = json.loads(arguments.json.read_text())
    chosen = [name for name in arguments.sets.split(",") if name]
    for name, X, class_index, splits in sets():
        if chosen and not any(name.startswith(one) for one in chosen):
            continue
        started = time.perf_counter()
        records(name, X, class_index, splits, done)
        sys.stderr.write(f"{name}: {time.perf_counter() - started:.0f} s\n")
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(done, indent=1))
    frame = flat(done)
    print(summary(frame), by_set(frame), sep="\n\n")
    if "cross-validation" in set(frame["rule"]):
        print("\n" + whole_fit(frame))


if __name__ == "__main__":
    main()
