"""Effect of every feature on the decision for every class, largest first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rankfactor.errors import InputError
from rankfactor.interpret.overview import certainty_columns
from rankfactor.interpret.selection import row_names, targets
from rankfactor.interpret.wording import joined, plain
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import assessed, effect_certainty


def has_effects(posterior: Posterior) -> bool:
    """Whether a model has feature effects; models of earlier versions have none."""
    return posterior.effects is not None


def effect_table(posterior: Posterior) -> pd.DataFrame:
    """Effect of every feature in the model on every class, largest first within a class.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.

    Returns
    -------
    DataFrame
        task, class (that a positive effect favours: with two classes the second, with more each
        against the rest), rank (from 1, by the size of the effect), feature, effect (change of the
        decision
        when the feature moves from the value ``from`` to the value ``to``, its first and third
        quartile, and everything else stays), probability (change of the class's probability at
        the mean decision), from, to, sd, low, high, lfsr and clear (spread of the effect, 90 %
        limits, probability that it is not on the stated side, whether it is clear:
        `rankfactor.posterior.certainty`; NA if not assessed), selected (share of the half-sample
        fits in which the feature is among the leading ones with the same sign; NaN without them).
    """
    rows, effects, stability = targets(posterior), posterior.effects, posterior.stability
    if effects is None:
        raise InputError(
            "this model was saved by an earlier version, without feature effects: fit it again."
        )
    certainty = effect_certainty(posterior)
    frames = []
    for row, (task, label) in enumerate(rows):
        order = np.argsort(-np.abs(effects.decision[row]), kind="stable")
        one = certainty.at((row, order))
        selected = np.nan if stability is None else stability.effect_selected[row, order]
        values = {
            "task": task,
            "class": label,
            "rank": np.arange(1, len(order) + 1),
            "feature": np.array(row_names(posterior, order), object),
            "effect": one.mean,
            "probability": effects.probability[row, order],
            "from": effects.low[order],
            "to": effects.high[order],
            **certainty_columns(one),
            "selected": selected,
        }
        frames.append(pd.DataFrame(values))
    return pd.concat(frames, ignore_index=True)


def driver_sentences(posterior: Posterior, count: int = 5) -> list[str]:
    """One sentence per class on the features with the largest effects; none without effects.

    If stability was assessed, only clear effects are named.
    """
    if not has_effects(posterior):
        return []
    known, said = assessed(posterior), []
    for (task, label), part in effect_table(posterior).groupby(["task", "class"], sort=False):
        if known:
            part = part[part["clear"].to_numpy(bool)]
        first = part.head(count)
        sides = (("high", first[first["effect"] > 0]), ("low", first[first["effect"] < 0]))
        named = joined(
            [
                f"{word} {joined([plain(name) for name in one['feature']])}"
                for word, one in sides
                if len(one)
            ]
        )
        what = named or "no feature has a clear effect"
        said.append(f"{plain(task)}, towards {plain(label)}: {what}.")
    return said
