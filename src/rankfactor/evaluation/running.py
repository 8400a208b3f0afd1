"""Many fits, sequential or parallel: in order, interruptible, with their warnings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any, TypeVar

import joblib

from rankfactor.evaluation.watch import Heard, deaf, interrupts, kind, kinds, uninterrupted

Outcome = TypeVar("Outcome")


def run(
    function: Callable[..., Outcome], jobs: Sequence[tuple[Any, ...]], n_jobs: int
) -> Iterator[Outcome]:
    """Yield outcomes in the order of the jobs, each as soon as available.

    Parameters
    ----------
    function : callable
        Called with each job as its arguments; in other processes if ``n_jobs`` is above 1.
    jobs : sequence of tuple
    n_jobs : int

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C, even if the job under way caught it.
    """
    if n_jobs == 1:
        for job in jobs:
            with uninterrupted():
                outcome = function(*job)
            yield outcome
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    with interrupts() as came:
        with deaf():
            task = joblib.delayed(_in_worker)
            outcomes = parallel(task(os.getpid(), function, *job) for job in jobs)
        for outcome in outcomes:
            if came():
                raise KeyboardInterrupt
            yield outcome


_watching: list[int] = []  # in a process that was started for jobs: by which one


def _in_worker(starter: int, function: Callable[..., Outcome], *job: Any) -> Outcome:
    """Do a job, in a process that ends with the one that started it.

    One that is killed by ``kill -9`` cannot end its workers, which would wait for minutes.
    """
    if os.getppid() == starter and not _watching:
        _watching.append(starter)
        Thread(target=_end_with, args=(starter,), daemon=True).start()
    return function(*job)


def _end_with(starter: int) -> None:
    while os.getppid() == starter:
        time.sleep(1.0)
    os._exit(1)


def seeded(estimator: Any, seed: int) -> Any:
    """Return the estimator with all seeds set, so that its results are reproducible."""
    unset = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    }
    return estimator.set_params(**unset)


def without_checkpoint(estimator: Any) -> Any:
    """Return the estimator without a checkpoint, whose folder holds a single fit."""
    given = {
        name: None
        for name, value in estimator.get_params(deep=True).items()
        if value is not None and name.split("__")[-1] == "checkpoint"
    }
    return estimator.set_params(**given)


def in_short(heard: Sequence[Sequence[Heard]], what: str, who: str = "") -> list[Heard]:
    """One warning per kind, with the number of fits that gave it.

    Parameters
    ----------
    heard : sequence of sequences of Heard
        The warnings of every fit.
    what : str
        Name of the fits in messages, such as "folds".
    who : str
        Beginning of the sentences, such as the name of a model.
    """
    same: dict[Any, list[Heard]] = {}
    for fit in heard:
        for one in kinds(list(fit)):
            same.setdefault(kind(one), []).append(one)
    begins = f"{who}, in" if who else "in"
    return [
        Heard(all_[0].category, f"{begins} {len(all_)} of {len(heard)} {what}: {all_[0].text}")
        for all_ in same.values()
    ]
