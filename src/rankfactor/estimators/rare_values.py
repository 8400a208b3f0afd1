"""The likelihood of large tables in which most values are the same, such as counts of rare events.

The hinge of max-margin ranks is least at the more probable side of a cut. If one level has nearly
all samples, that side does not depend on the factors, and none are found. Ordinal probit has the
same codes and finds them (docs/notes/decisions.md, "Shards of rare values take ordinal probit").
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankfactor.errors import AUTO
from rankfactor.estimators.large import by_shards, core_of
from rankfactor.features.survey import Survey
from rankfactor.kernels.codes import level_counts
from rankfactor.likelihoods import MarginRank, OrdinalProbit
from rankfactor.model import Model

if TYPE_CHECKING:
    from rankfactor.estimators.base import FactorModel

RARE = 0.7  # share of one level in the median feature from which ordinal probit is used


def for_rare_values(estimator: FactorModel, model: Model, found: Survey, seed: int) -> Model:
    """The model, by ordinal probit if values are rare and neither likelihood nor margin was named.

    Parameters
    ----------
    estimator : RankFactorClassifier or RankFactorAnalysis
    model : Model
        Of its arguments.
    found : Survey
        Of the table.
    seed : int
        Of the fit; the rows that initialise it decide.
    """
    named = estimator.likelihood is not None or estimator.margin != AUTO
    if named or not by_shards(found.n_rows) or not isinstance(model.data, MarginRank):
        return model
    with warnings.catch_warnings():
        # The fit learns the features again from more rows, and warns.
        warnings.simplefilter("ignore")
        values = estimator._learn(core_of(found, seed)[1], model)[1].values
        codes = model.data.learn(values).observe(values).tile(slice(None), slice(None))
    counts = level_counts(codes, model.data.max_cuts + 1)
    share = float(np.median(counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)))
    if share < RARE:
        return model
    warnings.warn(
        f"in the median feature {share:.0%} of the samples have the same value, so ordinal probit "
        f"replaces max-margin ranks. Set likelihood={MarginRank.name!r} to keep them.",
        UserWarning,
        stacklevel=4,
    )
    return replace(model, data=OrdinalProbit(max_cuts=model.data.max_cuts))
