"""Tables of a fitted model: its factors, their leading features, their coefficients."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.errors import InputError
from rankfactor.interpret.directions import higher_in, strongest, task_effects
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import (
    Certainty,
    coefficient_certainty,
    is_clear,
    loading_certainty,
    loading_rates,
    of_normal,
)
from rankfactor.typing import Floats, Integers

_LEADERS = 5


def top_features(
    posterior: Posterior, n: int = 25, factor: int | str | None = None
) -> pd.DataFrame:
    """Features with the largest loadings on each factor, and how sure they are.

    Parameters
    ----------
    posterior : Posterior
    n : int, default 25
        Features of each factor.
    factor : int or str, optional
        Number, from 0, or name of a factor; all factors in use if it is left out.

    Returns
    -------
    DataFrame
        factor, rank (from 1), feature, loading (standardised: between -1 and 1), sd, low and high
        (its 90 % interval), lfsr (posterior probability that the loading is not on the stated
        side), sign (1 or -1), higher_in (the classes that go with high values of the feature
        through this factor; empty without labels, and where no coefficient of the factor is clear).
    """
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, not {n!r}.")
    effects = task_effects(posterior)
    parts = []
    for k in chosen_factors(posterior, factor):
        rows = leading_rows(posterior, k)[: int(n)]
        found = loading_certainty(posterior, rows, k)
        sign = np.where(found.mean < 0, -1, 1)
        words = {side: higher_in(effects[k], side) for side in (-1, 1)}
        parts.append(
            pd.DataFrame(
                {
                    "factor": posterior.factor_names[k],
                    "rank": np.arange(1, len(rows) + 1),
                    "feature": posterior.feature_names[posterior.coding.columns[rows]].astype(
                        object
                    ),
                    "loading": found.mean,
                    **_certainty(found),
                    "sign": sign,
                    "higher_in": [words[side] for side in sign.tolist()],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def coefficient_table(posterior: Posterior, *, by_component: bool = False) -> pd.DataFrame:
    """Coefficient of every factor in every classifier.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.
    by_component : bool, default False
        Give the local classifiers of a nonlinear model one by one, with a column ``component`` that
        counts them from 1, in place of their average over the training samples. After Gibbs
        sampling they are those of the mean scores, since components mean nothing beyond a draw.

    Returns
    -------
    DataFrame
        task, class (that a positive coefficient speaks for: of two classes the second, of more each
        against the rest), factor, coefficient (change of the decision for one standard deviation of
        the factor's scores), sd, low and high (its 90 % interval), lfsr.
    """
    classifiers = posterior.classifiers
    if classifiers is None:
        raise InputError("this model was fitted without labels: it has no coefficients to show.")
    parts: list[tuple[int | None, Certainty]] = [(None, coefficient_certainty(posterior))]
    if by_component:
        parts = [(t + 1, found) for t, found in enumerate(_local_coefficients(posterior))]
    frames = []
    for task, own in enumerate(classifiers.tasks):
        rows = classifiers.rows_of(task)
        classes = own.classes[1:] if own.n_rows == 1 else own.classes
        for label, row in zip(classes, range(rows.start, rows.stop), strict=True):
            for component, found in parts:
                one = Certainty(*(values[row] for values in found))
                frames.append(
                    pd.DataFrame(
                        {
                            "task": own.name,
                            "class": str(label),
                            **({} if component is None else {"component": component}),
                            "factor": posterior.factor_names,
                            "coefficient": one.mean,
                            **_certainty(one),
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


def factor_table(posterior: Posterior) -> pd.DataFrame:
    """All factors: how much they explain, what they speak for, what leads them.

    Returns
    -------
    DataFrame
        factor, share (of what all factors explain of the features' ranks; of their values with the
        Gaussian likelihood), in_use, n_features (whose loading is clear: a local false sign
        rate below 0.05), task (where its clear coefficient is largest; empty if none is clear),
        direction (in words), top_features (the five with the largest loadings; "(inverse)" after
        negative ones).
    """
    rates = loading_rates(posterior)
    effects = [strongest(one) for one in task_effects(posterior)]
    return pd.DataFrame(
        {
            "factor": posterior.factor_names,
            "share": posterior.shares,
            "in_use": posterior.active,
            "n_features": is_clear(rates).sum(axis=0),
            "task": ["" if one is None else one.task for one in effects],
            "direction": ["" if one is None else one.in_words() for one in effects],
            "top_features": [_leaders(posterior, k) for k in range(posterior.n_factors)],
        }
    )


def chosen_factors(posterior: Posterior, factor: int | str | None) -> list[int]:
    """Numbers of the factors asked for: one by name or number, or all in use."""
    if factor is None:
        used = np.flatnonzero(posterior.active)
        return [int(k) for k in (used if used.size else range(posterior.n_factors))]
    names = posterior.factor_names
    if isinstance(factor, str):
        if factor not in names:
            raise InputError(
                f"there is no factor {factor!r}: choose one of {names[0]} to {names[-1]}."
            )
        return [names.index(factor)]
    whole = isinstance(factor, numbers.Integral) and not isinstance(factor, bool)
    if not (whole and 0 <= factor < len(names)):
        raise InputError(f"there is no factor number {factor}: the model has {len(names)}, from 0.")
    return [int(factor)]


def leading_rows(posterior: Posterior, factor: int) -> Integers:
    """Features in the model by the size of their standardised loading, the largest first."""
    size = np.abs(posterior.standardised_loadings[posterior.coding.columns, factor])
    return np.asarray(np.argsort(-size, kind="stable"), np.int64)


def table_rows(posterior: Posterior) -> Integers:
    """Features in the model that are the table's own, not covariates that were added to it."""
    return np.flatnonzero(posterior.coding.columns < len(posterior.table_features))


def _certainty(found: Certainty) -> dict[str, Floats]:
    return {"sd": found.sd, "low": found.low, "high": found.high, "lfsr": found.lfsr}


def _leaders(posterior: Posterior, factor: int) -> str:
    columns = posterior.coding.columns[leading_rows(posterior, factor)[:_LEADERS]]
    loadings = posterior.loadings[columns, factor]
    return ", ".join(
        f"{name} (inverse)" if loading < 0 else str(name)
        for name, loading in zip(posterior.feature_names[columns], loadings, strict=True)
    )


def _local_coefficients(posterior: Posterior) -> list[Certainty]:
    """Coefficients of every local classifier, shape (R, K) each, its shared part included."""
    assert posterior.classifiers is not None
    experts: Any = posterior.classifiers.experts
    if experts is None:
        raise InputError("a linear model has no components: leave by_component out.")
    rows, gates, k = experts.rows, experts.gates, posterior.n_factors
    means = rows.mean.reshape(len(rows.mean), gates.n_gates, k + 1)[..., :k]
    unit, shared = posterior.samples.sd, int(gates.shared[0])
    # Where the entries (a, b) of a symmetric matrix stand in its packed upper triangle.
    place = np.zeros((rows.order, rows.order), np.int64)
    first, second = np.triu_indices(rows.order)
    place[first, second] = np.arange(len(first))
    result = []
    for gate in range(shared, gates.n_gates):
        own = gate * (k + 1) + np.arange(k)
        mean, variance = means[:, gate], rows.cov[:, place[own, own]]
        if shared:
            common = np.arange(k)
            mean = mean + means[:, 0]
            variance = variance + rows.cov[:, place[common, common]]
            variance = variance + 2 * rows.cov[:, place[common, own]]
        sd = np.sqrt(np.maximum(variance, 0.0))
        result.append(of_normal(mean, sd).scaled(unit))
    return result
