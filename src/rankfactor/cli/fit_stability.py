"""``rankfactor fit --stability``: a fit followed by half-sample fits."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from rankfactor.cli.console import Progress

if TYPE_CHECKING:
    from rankfactor.cli.estimator import Asked
    from rankfactor.posterior import Posterior


def with_stability(asked: Asked, posterior: Posterior, repeats: int, tell: Progress) -> Posterior:
    """The posterior with its stability, or without it if Ctrl-C came before two pairs.

    Parallel half-samples use the cores better than the threads of one small fit.
    """
    import joblib

    from rankfactor.evaluation import stability

    n_threads = asked.estimator.n_threads
    try:
        found = stability(
            asked.estimator,
            asked.data.values,
            asked.labels,
            repeats=repeats,
            groups=asked.data.groups,
            posterior=posterior,
            random_state=asked.estimator.random_state,
            n_jobs=joblib.cpu_count() if n_threads is None else n_threads,
            progress=tell,
        )
    except KeyboardInterrupt:
        warnings.warn(
            "interrupted: the model is kept, but its stability is not assessed.",
            UserWarning,
            stacklevel=2,
        )
        return posterior
    return posterior.with_stability(found)
