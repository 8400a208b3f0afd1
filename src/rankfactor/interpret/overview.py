"""Tables of a fitted model: its factors, their leading features, their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, check_count
from rankfactor.interpret.directions import higher_in, main_direction, task_directions
from rankfactor.interpret.meaning import factor_meanings
from rankfactor.interpret.selection import (
    classifiers_of,
    leading_rows,
    row_names,
    shown_factors,
    targets,
)
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import (
    Certainty,
    assessed,
    coefficient_certainty,
    loading_certainty,
    not_assessed,
)
from rankfactor.typing import Floats


def top_features(
    posterior: Posterior, n: int = 25, factor: int | str | None = None
) -> pd.DataFrame:
    """Features with the largest loadings on each factor, and their uncertainty.

    Parameters
    ----------
    posterior : Posterior
    n : int, default 25
        Features per factor.
    factor : int or str, optional
        Number, from 0, or name of a factor; by default all factors in use.

    Returns
    -------
    DataFrame
        factor, rank (from 1), feature, loading (correlation of feature and factor scores, between
        -1 and 1), pattern (pattern loading: the other factors held fixed; it differs if factors
        correlate), sd, low, high, lfsr and clear (spread of the loading, 90 % limits, probability
        of the opposite sign, whether it is clear: `rankfactor.posterior.certainty`; NA if not
        assessed), sign (1 or -1), higher_in (the classes associated with high values of the feature
        through this factor; empty without labels).
    """
    n = check_count("n", n)
    directions, certainty = task_directions(posterior), loading_certainty(posterior)
    parts = []
    for k in shown_factors(posterior, factor):
        rows = leading_rows(posterior, k)[:n]
        found = certainty.at((rows, k))
        sign = np.where(found.mean < 0, -1, 1)
        words = {side: higher_in(directions[k], side) for side in (-1, 1)}
        values = {
            "factor": posterior.factor_names[k],
            "rank": np.arange(1, len(rows) + 1),
            "feature": np.array(row_names(posterior, rows), object),
            "loading": found.mean,
            "pattern": posterior.pattern[posterior.coding.columns[rows], k],
            **certainty_columns(found),
            "sign": sign,
            "higher_in": [words[side] for side in sign.tolist()],
        }
        parts.append(pd.DataFrame(values))
    return pd.concat(parts, ignore_index=True)


def coefficient_table(posterior: Posterior, *, by_component: bool = False) -> pd.DataFrame:
    """Coefficient of every factor in every classifier.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.
    by_component : bool, default False
        Return the local classifiers of a nonlinear model one by one, with a column ``component``
        that counts them from 1, instead of their average over the training samples. After Gibbs
        sampling they are those of the mean scores, since components have no identity across draws.

    Returns
    -------
    DataFrame
        task, class (that a positive coefficient favours: with two classes the second, with more
        each against the rest), factor, coefficient (change of the decision for one standard
        deviation of the factor's scores), sd, low, high, lfsr and clear as in `top_features`.
    """
    rows = targets(posterior)
    parts: list[tuple[int | None, Certainty]] = [(None, coefficient_certainty(posterior))]
    if by_component:
        parts = [(t + 1, found) for t, found in enumerate(_local_coefficients(posterior))]
    frames = []
    for row, (task, label) in enumerate(rows):
        for component, found in parts:
            one = found.at(row)
            values = {
                "task": task,
                "class": label,
                **({} if component is None else {"component": component}),
                "factor": posterior.factor_names,
                "coefficient": one.mean,
                **certainty_columns(one),
            }
            frames.append(pd.DataFrame(values))
    return pd.concat(frames, ignore_index=True)


def factor_table(posterior: Posterior, tested: pd.DataFrame | None = None) -> pd.DataFrame:
    """All factors: variance explained, favoured classes, leading features.

    Parameters
    ----------
    posterior : Posterior
    tested : DataFrame, optional
        Gene sets found by `enrich`, which the meanings then mention.

    Returns
    -------
    DataFrame
        factor, share (of the variance of the features' ranks, or of their values with the Gaussian
        likelihood, that it explains; shares add up to the R² of all factors), in_use, n_features
        (with a clear loading; NaN if not assessed), task (with its largest coefficient), direction
        (in words), top_features (the five with the largest loadings; "(inverse)" after negative
        ones), meaning (in one line: `rankfactor.interpret.meaning`).
    """
    directions = [main_direction(one) for one in task_directions(posterior)]
    n_features = loading_certainty(posterior).clear.sum(axis=0).astype(float)
    if not assessed(posterior):
        n_features[:] = np.nan
    return pd.DataFrame(
        {
            "factor": posterior.factor_names,
            "share": posterior.shares,
            "in_use": posterior.active,
            "n_features": n_features,
            "task": ["" if one is None else one.task for one in directions],
            "direction": ["" if one is None else one.in_words() for one in directions],
            "top_features": [leaders(posterior, k) for k in range(posterior.n_factors)],
            "meaning": factor_meanings(posterior, tested),
        }
    )


def factor_correlations(posterior: Posterior) -> pd.DataFrame:
    """Correlations of the factors' label-free scores, factors x factors.

    Near zero after predictive training, which makes factors uncorrelated; after joint training
    those of the fit.
    """
    names = posterior.factor_names
    return pd.DataFrame(posterior.factor_correlations, names, names)


def factors_correlate(posterior: Posterior) -> bool:
    """Whether factors in use correlate enough for pattern loadings to differ."""
    used = shown_factors(posterior)
    return bool((np.abs(np.triu(posterior.factor_correlations, 1))[used][:, used] > 0.1).any())


def leaders(posterior: Posterior, factor: int, count: int = 5) -> str:
    """Leading features of a factor; "(inverse)" after those with negative loadings."""
    rows = leading_rows(posterior, factor)[:count]
    loadings = posterior.structure[posterior.coding.columns[rows], factor]
    ends = np.where(loadings < 0, " (inverse)", "").tolist()
    return ", ".join(map("{}{}".format, row_names(posterior, rows), ends))


def shown_coefficients(posterior: Posterior, task: int | None = None) -> Certainty:
    """Coefficients of the factors in use, shape (classifiers, factors), of one task or all.

    In units of each factor's standard deviation, as in `coefficient_table`.
    """
    classifiers = classifiers_of(posterior)
    rows = slice(None) if task is None else classifiers.rows_of(task)
    return coefficient_certainty(posterior).at(rows).at((slice(None), shown_factors(posterior)))


def has_components(posterior: Posterior) -> bool:
    """Whether the model has local classifiers."""
    return posterior.classifiers is not None and posterior.classifiers.gates is not None


def training_responsibilities(posterior: Posterior) -> Floats:
    """Weights of the local classifiers for the training samples, shape (N, T), rows adding to 1."""
    if not has_components(posterior):
        raise InputError(posterior.without_components)
    posterior.check_samples("responsibilities of training samples to draw")
    gates: Any = classifiers_of(posterior).gates
    return np.asarray(gates.responsibilities(posterior.scores.mean))


def certainty_columns(found: Certainty) -> dict[str, Any]:
    """Columns with the uncertainty of a table's numbers; ``clear`` is NA if not assessed."""
    clear = pd.array(found.clear, "boolean")
    clear[np.isnan(found.lfsr)] = pd.NA
    return {
        "sd": found.sd,
        "low": found.low,
        "high": found.high,
        "lfsr": found.lfsr,
        "clear": clear,
    }


def _local_coefficients(posterior: Posterior) -> list[Certainty]:
    """Coefficients of every local classifier, shape (R, K) each, its shared part included."""
    experts: Any = classifiers_of(posterior).experts
    if not has_components(posterior):
        raise InputError("the model has no local classifiers: leave by_component out.")
    gates, k = experts.gates, posterior.n_factors
    by_gate = experts.rows.mean.reshape(len(experts.rows.mean), -1, k + 1)[..., :k]
    shared = int(gates.shared[0])
    common = by_gate[:, :shared].sum(axis=1)
    return [
        not_assessed((by_gate[:, gate] + common) * posterior.samples.sd)
        for gate in range(shared, gates.n_gates)
    ]
