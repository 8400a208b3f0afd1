"""Which factors and features are worth showing, and in which order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.interpret.directions import Effect, task_effects
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.typing import Floats, Integers


def classifiers_of(posterior: Posterior) -> Classifiers:
    """Classifiers of a posterior that has some."""
    if posterior.classifiers is None:
        raise InputError("this model was fitted without labels: it has no coefficients to show.")
    return posterior.classifiers


def task_number(posterior: Posterior, task: int | str) -> int:
    """Number of a task given by its name or number."""
    tasks = classifiers_of(posterior).tasks
    names = [t.name for t in tasks]
    if isinstance(task, str):
        if task not in names:
            raise InputError(f"there is no task {task!r}: choose one of {', '.join(names)}.")
        return names.index(task)
    if not 0 <= task < len(tasks):
        raise InputError(f"there is no task number {task}: the model has {len(tasks)}, from 0.")
    return int(task)


def shown_factors(posterior: Posterior) -> Integers:
    """Factors in use, in order of their share; all of them if none is."""
    active = np.flatnonzero(posterior.active)
    return active if active.size else np.arange(posterior.n_factors)


def effects(posterior: Posterior, task: int | str, factors: Integers | None = None) -> list[Effect]:
    """Effect of every factor in use, or of those given, on a task, the strongest first.

    With more than two classes a factor appears once, in the classifier where it is strongest,
    a clear one before any that is not.
    """
    number = task_number(posterior, task)
    every = task_effects(posterior)
    chosen = shown_factors(posterior) if factors is None else factors
    found = [every[int(k)][number] for k in chosen]
    return sorted(found, key=lambda effect: -effect.strength)


def leading_features(posterior: Posterior, factor: int, count: int) -> Integers:
    """Features with the largest loadings on a factor, the largest first; constant ones never."""
    size = np.abs(posterior.standardised_loadings[:, factor])
    order = np.argsort(-size, kind="stable")
    in_model = posterior.standardised_loadings_sd[:, factor] > 0
    return np.asarray(order[in_model[order]][:count])


def features_by_factor(
    posterior: Posterior, factors: Integers, per_factor: int, most: int
) -> Integers:
    """Leading features of several factors, in the order of the factor that each is typical of.

    That is the factor where the feature's loading comes closest to the largest one of that factor,
    so that large factors do not claim every feature. Within a factor, loadings decrease, so that
    each block reads from positive to negative. If the leading features are more than ``most``, each
    factor gives up its weakest first.
    """
    chosen: list[int] = []
    leaders = [leading_features(posterior, int(k), per_factor) for k in factors]
    for rank in range(per_factor):
        for leader in leaders:
            if rank < len(leader) and int(leader[rank]) not in chosen and len(chosen) < most:
                chosen.append(int(leader[rank]))
    features = np.asarray(chosen, np.int64)
    loadings: Floats = posterior.standardised_loadings[np.ix_(features, factors)]
    largest = np.abs(posterior.standardised_loadings[:, factors]).max(axis=0)
    home = (np.abs(loadings) / np.maximum(largest, np.finfo(float).tiny)).argmax(axis=1)
    own = loadings[np.arange(len(chosen)), home]
    order: NDArray[np.intp] = np.lexsort((-own, home))
    return np.asarray(features[order])
