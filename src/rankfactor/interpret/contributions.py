"""Explanations of samples (`Posterior.explain`) as tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, listed
from rankfactor.interpret.selection import targets
from rankfactor.posterior import Explanation, Posterior


def contribution_table(
    posterior: Posterior, explanations: Mapping[str, Explanation]
) -> pd.DataFrame:
    """Contribution of every feature to every decision, one row per sample and class.

    Returns
    -------
    DataFrame
        sample, task, class (that a positive decision favours), decision, base, then one column per
        feature. Base and features add up to the decision.
    """
    frames = []
    for (task, label), one in zip(targets(posterior), explanations.values(), strict=True):
        first = {
            "sample": one.sample_names,
            "task": task,
            "class": label,
            "decision": one.decisions,
            "base": one.base_values,
        }
        values = pd.DataFrame(one.values, columns=one.feature_names)
        frames.append(pd.concat([pd.DataFrame(first), values], axis=1))
    return pd.concat(frames, ignore_index=True)


def sample_contributions(
    posterior: Posterior, explanations: Mapping[str, Explanation], sample: object
) -> pd.DataFrame:
    """Contribution of every feature to the decisions of one sample, largest first.

    Returns
    -------
    DataFrame
        sample, task, class (that a positive decision favours), decision, base, feature, value (NaN
        where missing) and contribution, one row per class and feature. Base and contributions of a
        class add up to the decision.
    """
    frames = []
    for (task, label), one in zip(targets(posterior), explanations.values(), strict=True):
        if sample not in one.sample_names:
            names = listed([str(name) for name in one.sample_names])
            raise InputError(f"The table has no sample {sample!r}: choose one of {names}.")
        n = one.sample_names.index(sample)
        order = np.argsort(-np.abs(one.values[n]), kind="stable")
        columns = {
            "sample": sample,
            "task": task,
            "class": label,
            "decision": one.decisions[n],
            "base": one.base_values[n],
            "feature": np.array(one.feature_names, object)[order],
            "value": one.data[n, order],
            "contribution": one.values[n, order],
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
