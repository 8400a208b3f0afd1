"""`stability`: variation of a model between half-sample fits.

The same model (`rankfactor.evaluation.pinned`) is fitted to both halves of every split of the
samples (`rankfactor.evaluation.halves`). Factors of a half are matched to those of the full fit in
order and sign. See `rankfactor.posterior.stability` for what is reported, and why half the
difference of two complementary halves has the spread of the full fit.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone

from rankfactor.errors import InputError, check_count
from rankfactor.estimators.base import FactorModel
from rankfactor.estimators.classifier import PlainClassifier
from rankfactor.evaluation.halves import Halves, make_halves
from rankfactor.evaluation.pair_store import Pair, PairFolder, described
from rankfactor.evaluation.pair_summary import summarise
from rankfactor.evaluation.pinned import pinned
from rankfactor.evaluation.running import in_short, run, seeded
from rankfactor.evaluation.watch import recorded, uninterrupted, watched_fit
from rankfactor.evaluation.wrapper import fit_with_groups
from rankfactor.features.matching import NamedSparse, opened_labels
from rankfactor.features.suspects import LabelWarning
from rankfactor.folds import group_numbers
from rankfactor.posterior import Posterior
from rankfactor.posterior.stability import Stability
from rankfactor.steps.workers import workers
from rankfactor.tasks import Task, encode_labels
from rankfactor.typing import Floats, Integers, Strings

LEAST_PAIRS = 2  # needed to keep an interrupted run
PAIRS = "Pairs of half-samples"  # what progress calls them


class _Problem(NamedTuple):
    """Data shared by all halves, and how their fits are compared with the full fit."""

    estimator: FactorModel
    table: Any
    labels: Any  # None without labels
    groups: Integers | None  # (n_samples,)
    features: Strings  # (d,): features in the model that was fitted to all samples
    ends: Floats | None  # (2, d): quartiles of these features; None without labels
    folder: PairFolder | None


def stability(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    repeats: int = 50,
    top: int | None = None,
    groups: Any = None,
    posterior: Posterior | None = None,
    random_state: int | None = 0,
    n_jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Stability:
    """Fit a model to complementary halves of its samples, and report how much it varies.

    Parameters
    ----------
    estimator : RankFactorClassifier or RankFactorAnalysis
        Choices of "auto" in the full fit are kept in the half-sample fits: the number of factors,
        the margin, the training, the residual part and the experts. Half-sample fits are not
        calibrated.
    X : DataFrame, array-like, sparse matrix or AnnData, shape (n_samples, n_features)
    y : array-like, Series or DataFrame, optional
        Labels as for ``estimator.fit``; ignored by `RankFactorAnalysis`.
    repeats : int, default 50
        Number of half-sample fits, rounded up to an even number, at least 4: each split gives two.
    top : int, optional
        Number of leading features of a task or factor; by default 20, or a quarter of the features
        if that is less.
    groups : array-like or Series, optional
        Samples of one group stay in one half, for example those of one patient.
    posterior : Posterior, optional
        The fit of ``estimator`` to all samples; without it the estimator is cloned and fitted.
    random_state : int or None, default 0
        Seed of the splits, and of the fits if the estimator has none. Results do not depend on
        ``n_jobs``.
    n_jobs : int, default 1
        Parallel pairs of fits, in separate processes with one thread each.
    progress : callable, optional
        Called with the name of a step, the part done, and the total.
    folder : path, optional
        Folder for finished pairs.
    resume : bool, default False
        Read the finished pairs in ``folder`` and compute only the others. The result is that of an
        uninterrupted run. Pairs of another table or other settings are refused.

    Returns
    -------
    Stability

    Raises
    ------
    InputError
        If a class has a single sample (or group), or a half fewer samples than there are factors.

    Warns
    -----
    UserWarning
        Warnings of the half-sample fits, once per kind, with the number of fits.

    Notes
    -----
    Splits are balanced by class (`rankfactor.evaluation.halves`). Ctrl-C keeps the finished pairs,
    with a warning; with fewer than two it is raised.
    """
    tell = progress or (lambda step, done, total: None)
    n_pairs = max(-(-check_count("repeats", repeats) // 2), LEAST_PAIRS)
    table, labels, together, tasks, halves, told = _divided(
        estimator, X, y, groups, n_pairs, random_state
    )
    if top is not None:
        check_count("top", top)
    store = _store(folder, random_state)
    if store is not None and resume:
        store.check(told())
    given, n_samples = estimator, len(halves[0].first) + len(halves[0].second)
    if posterior is None:
        given = seeded(clone(given), int(np.random.SeedSequence(random_state).generate_state(1)[0]))
        posterior = _fit_to_all(given, table, labels, together, tell)
    _check_posterior(posterior, tasks, n_samples, halves)
    # The choice of the positive class changes only signs, not spreads.
    usual = {task.name: task.classes[1] for task in tasks if task.n_rows == 1}
    posterior = posterior.with_positive(usual)
    model = clone(given).set_params(**pinned(given, posterior))
    if n_jobs != 1:
        model.set_params(n_threads=1)
    effects = posterior.effects
    problem = _Problem(
        model,
        table,
        labels,
        together,
        posterior.feature_names[posterior.coding.columns],
        None if effects is None else np.stack([effects.low, effects.high]),
        store,
    )
    if store is not None:
        store.open(told(), resume)
    pairs = _pairs(problem, halves, n_jobs, tell)
    heard = [fit for number in sorted(pairs) for fit in pairs[number].heard]
    if len(pairs) < n_pairs:
        warnings.warn(
            f"interrupted: {len(pairs)} of {n_pairs} pairs of half-samples were finished, and only "
            "these are kept.",
            UserWarning,
            stacklevel=2,
        )
    for category, text in in_short(heard, "half-sample fits"):
        warnings.warn(text, category, stacklevel=2)
    return summarise(posterior, [pairs[number] for number in sorted(pairs)], top)


def check_halves(
    estimator: FactorModel,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    random_state: int | None = 0,
    folder: str | os.PathLike[str] | None = None,
) -> None:
    """Check the arguments of `stability` before any fit.

    Refuses samples that cannot be split, halves with fewer samples than factors, and a ``folder``
    to resume that belongs to another problem.
    """
    divided = _divided(estimator, X, y, groups, LEAST_PAIRS, random_state)
    if isinstance(estimator.n_factors, int):
        _check_sizes(divided.halves, n_factors=estimator.n_factors)
    store = _store(folder, random_state)
    if store is not None:
        store.check(divided.told())


class _Divided(NamedTuple):
    """Checked arguments, and the splits of the samples."""

    table: Any
    labels: Any  # None without labels
    groups: Integers | None  # (n_samples,)
    tasks: tuple[Task, ...]
    halves: list[Halves]
    told: Callable[[], dict[str, Any]]  # what two runs must have in common to resume


def _divided(
    estimator: Any, X: Any, y: Any, groups: Any, n_pairs: int, random_state: int | None
) -> _Divided:
    if not isinstance(estimator, FactorModel):
        raise InputError(
            "stability needs a RankFactorClassifier or a RankFactorAnalysis, not a "
            f"{type(estimator).__name__}."
        )
    if random_state is not None:
        check_count("random_state", random_state, least=0)
    table = X if issparse(X) or hasattr(X, "shape") else np.asarray(X)
    n_samples = int(table.shape[0])
    labels, tasks, class_index = None, (), np.zeros((n_samples, 0), np.int64)
    if isinstance(estimator, PlainClassifier):
        labels = opened_labels(X, y)
        tasks, class_index = encode_labels(labels, n_samples)  # type: ignore[assignment]
    names = getattr(table, "obs_names", pd.RangeIndex(n_samples))  # of an AnnData object
    index = getattr(table, "index", names)
    together = None if groups is None else group_numbers(groups, index)
    halves = make_halves(
        tasks, class_index, n_pairs=n_pairs, groups=together, random_state=random_state
    )
    told = partial(described, estimator, table, tasks, class_index, together, random_state)
    return _Divided(table, labels, together, tasks, halves, told)


def _store(folder: Any, random_state: int | None) -> PairFolder | None:
    if folder is not None and random_state is None:
        raise InputError(
            "half-samples can be resumed only with the same splits: set "
            "random_state to a whole number."
        )
    return None if folder is None else PairFolder(Path(folder))


def _fit_to_all(
    estimator: Any, table: Any, labels: Any, groups: Integers | None, tell: Callable[..., None]
) -> Posterior:
    """The fit to all samples, raises if Ctrl-C ended it early."""
    with uninterrupted():
        together = groups if isinstance(estimator, PlainClassifier) else None
        watched_fit(
            estimator, table, labels, lambda *step: tell("Fit to all samples", *step), together
        )
    return estimator.posterior_  # type: ignore[no-any-return]


def _check_posterior(
    posterior: Posterior, tasks: tuple[Task, ...], n_samples: int, halves: list[Halves]
) -> None:
    """Refuse a posterior of another table, and halves that are too small for its model."""
    fitted = () if posterior.classifiers is None else posterior.classifiers.tasks
    ours, theirs = (
        {one.name: sorted(map(str, one.classes)) for one in some} for some in (tasks, fitted)
    )
    if posterior.samples.n_samples != n_samples or ours != theirs:
        raise InputError(
            "posterior was not fitted to this table and these labels: give one that was, or leave "
            "it out."
        )
    if posterior.classifiers is not None and posterior.effects is None:
        raise InputError(
            "posterior was saved by an earlier version, without feature effects: fit "
            "the model again."
        )
    n_factors, n_components = posterior.n_factors, posterior.model.n_components
    _check_sizes(halves, n_factors=n_factors, n_components=n_components or 0)


def _check_sizes(halves: list[Halves], **needed: int) -> None:
    """Refuse halves with fewer samples than the model has factors or components, by argument."""
    smallest = min(min(len(one.first), len(one.second)) for one in halves)
    n_samples = len(halves[0].first) + len(halves[0].second)
    for name, number in needed.items():
        if number > smallest:
            raise InputError(
                f"{name}={number} needs at least as many samples in every half, and the smallest "
                f"half of {n_samples} samples has {smallest}: lower {name}."
            )


def _pairs(
    problem: _Problem, halves: list[Halves], n_jobs: int, tell: Callable[..., None]
) -> dict[int, Pair]:
    """Finished pairs by number; all of them, or at least two after Ctrl-C."""
    pairs: dict[int, Pair] = {}
    for one in halves:
        found = None if problem.folder is None else problem.folder.read(one.number)
        if found is not None:
            pairs[one.number] = found
    missing = [one for one in halves if one.number not in pairs]
    tell(PAIRS, len(pairs), len(halves))
    try:
        outcomes = run(_fit_pair, [(problem, one) for one in missing], n_jobs)
        for one, pair in zip(missing, outcomes, strict=True):
            # Written here, since workers of a cluster may not have access to the folder.
            if problem.folder is not None:
                problem.folder.write(one.number, pair)
            pairs[one.number] = pair
            tell(PAIRS, len(pairs), len(halves))
    except KeyboardInterrupt:
        if len(pairs) < LEAST_PAIRS:
            raise
    return pairs


def _fit_pair(problem: _Problem, halves: Halves) -> Pair:
    """Fit the model to both halves."""
    fits, heard = [], []
    # A fit ended early by Ctrl-C must not be stored as finished.
    with uninterrupted():
        for samples, seed in zip((halves.first, halves.second), halves.seeds, strict=True):
            with recorded() as said:
                fits.append(_fit_half(problem, samples, seed, halves.number))
            # Problems of the labels were already reported for the whole table.
            kept = tuple(one for one in said if not issubclass(one.category, LabelWarning))
            heard.append(kept)
    effects, loadings, coefficients = (np.stack(part) for part in zip(*fits, strict=True))
    return Pair(effects, loadings, coefficients, (heard[0], heard[1]))


def _fit_half(
    problem: _Problem, samples: Integers, seed: int, number: int
) -> tuple[Floats, Floats, Floats]:
    """Effects (R, d), loadings (d, K) and coefficients (R, K) of a fit to some samples."""
    model = seeded(clone(problem.estimator), seed)
    groups = None if problem.groups is None else problem.groups[samples]
    labels = None if problem.labels is None else _take(problem.labels, samples)
    table = _take(problem.table, samples)
    try:
        fit_with_groups(model, table, labels, groups)
    except InputError as error:
        raise InputError(f"pair {number + 1} of half-samples cannot be fitted: {error}") from error
    half: Posterior = model.posterior_
    # A feature that does not vary in a half is not in its model and has no effect there. The same
    # holds for a word that does not occur in the half.
    names = {name: place for place, name in enumerate(problem.features.tolist())}
    places = np.array([names[name] for name in half.feature_names[half.coding.columns].tolist()])
    loadings = np.zeros((len(names), half.n_factors))
    loadings[places] = half.structure[half.coding.columns]
    if half.classifiers is None or problem.ends is None:
        return np.zeros((0, len(names))), loadings, np.zeros((0, half.n_factors))
    coefficients = half.classifiers.rows.mean[:, : half.n_factors] * half.samples.sd
    effects = np.zeros((len(coefficients), len(names)))
    # Features move between the quartiles of all samples, so that effects are comparable.
    observed = half.coding.observe(half.match(table))
    with workers(model.n_threads, math.prod(observed.shape)) as pool:
        found = half.find_effects(observed, problem.ends[:, places], pool, half.scores)
    effects[:, places] = found.decision
    return effects, loadings, coefficients


def _take(values: Any, samples: Integers) -> Any:
    """Some samples of a table or of labels, of any kind."""
    if isinstance(values, pd.DataFrame | pd.Series):
        return values.iloc[samples]
    if isinstance(values, NamedSparse):
        return values.take(samples)
    if issparse(values):
        return values.tocsr()[samples]
    return values[samples] if hasattr(values, "shape") else np.asarray(values, object)[samples]
