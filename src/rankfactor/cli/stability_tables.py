"""The tables that ``rankfactor stability`` writes, of a posterior that has its stability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.posterior import Posterior
    from rankfactor.posterior.stability import Stability
    from rankfactor.typing import Floats

LEVEL, CLEAR = 0.9, 0.05


def tables(posterior: Posterior) -> dict[str, pd.DataFrame]:
    """Effects, loadings, factors and coefficients with their spread, by the name of their file."""
    return {
        "effects.csv": effects(posterior),
        "loadings.csv": loadings(posterior),
        "factors.csv": factors(posterior),
        "coefficients.csv": coefficients(posterior),
    }


def effects(posterior: Posterior) -> pd.DataFrame:
    """Effects of all features on every row's decision, the largest first within a row."""
    import pandas as pd

    found, stable = posterior.effects, _stability(posterior)
    columns = ["task", "class", "feature", "effect", "sd", "low", "high", "selected", "clear"]
    parts = []
    names = posterior.feature_names[posterior.coding.columns]
    for row, (task, label) in enumerate(_targets(posterior)):
        assert found is not None
        part = pd.DataFrame(
            {
                "task": task,
                "class": label,
                "feature": names,
                "effect": found.decision[row],
                **_spread(found.decision[row], stable.effect_sd[row], stable.n_pairs),
                "selected": stable.effect_selected[row],
            }
        )
        parts.append(part.iloc[np.argsort(-np.abs(found.decision[row]), kind="stable")])
    empty = pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns] if parts else empty


def loadings(posterior: Posterior) -> pd.DataFrame:
    """Loadings of all features on every factor, the largest first within a factor."""
    import pandas as pd

    stable, columns = _stability(posterior), posterior.coding.columns
    parts = []
    for k, name in enumerate(posterior.factor_names):
        values = posterior.structure[columns, k]
        spread = _spread(values, stable.loading_sd[:, k], stable.n_pairs)
        part = pd.DataFrame(
            {
                "factor": name,
                "feature": posterior.feature_names[columns],
                "loading": values,
                "sd": spread["sd"],
                "selected": stable.loading_selected[:, k],
                "clear": spread["clear"],
            }
        )
        parts.append(part.iloc[np.argsort(-np.abs(values), kind="stable")])
    return pd.concat(parts, ignore_index=True)


def factors(posterior: Posterior) -> pd.DataFrame:
    """How well every factor comes back in the half-sample fits."""
    import pandas as pd

    match = _stability(posterior).factor_match
    return pd.DataFrame({"factor": posterior.factor_names, "match": match})


def coefficients(posterior: Posterior) -> pd.DataFrame:
    """Coefficients of all factors per unit of their standard deviation."""
    import pandas as pd

    stable, k = _stability(posterior), posterior.n_factors
    columns = ["task", "class", "factor", "coefficient", "sd", "low", "high", "clear"]
    parts = []
    for row, (task, label) in enumerate(_targets(posterior)):
        assert posterior.classifiers is not None
        values = posterior.classifiers.rows.mean[row, :k] * posterior.samples.sd
        spread = _spread(values, stable.coefficient_sd[row], stable.n_pairs)
        place = {"task": task, "class": label, "factor": posterior.factor_names}
        parts.append(pd.DataFrame({**place, "coefficient": values, **spread}))
    empty = pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns] if parts else empty


def _stability(posterior: Posterior) -> Stability:
    assert posterior.stability is not None
    return posterior.stability


def _targets(posterior: Posterior) -> list[tuple[str, str]]:
    """Task and class of every row."""
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    return [(task.name, str(label)) for task in tasks for label in task.classes[-task.n_rows :]]


def _spread(mean: Floats, sd: Floats, n_pairs: int) -> dict[str, Any]:
    half = stdtrit(n_pairs, (1 + LEVEL) / 2) * sd
    tail = 2 * stdtr(n_pairs, -np.abs(mean) / np.where(sd > 0, sd, np.inf))
    return {"sd": sd, "low": mean - half, "high": mean + half, "clear": tail < CLEAR}
