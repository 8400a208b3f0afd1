"""Tables written by ``rankfactor stability``, from a posterior with stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankfactor.interpret import coefficient_table, effect_table
from rankfactor.interpret.selection import leading_rows, row_names
from rankfactor.posterior.certainty import loading_certainty

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.posterior import Posterior

_SPREAD = ["sd", "low", "high"]
_EFFECTS = ["task", "class", "feature", "effect", *_SPREAD, "selected", "clear"]
_COEFFICIENTS = ["task", "class", "factor", "coefficient", *_SPREAD, "clear"]


def tables(posterior: Posterior) -> dict[str, pd.DataFrame]:
    """Effects, loadings, factors and coefficients with their spread, by file name.

    Without labels, the tables of effects and coefficients are empty.
    """
    import pandas as pd

    effects, coefficients = (pd.DataFrame(columns=one) for one in (_EFFECTS, _COEFFICIENTS))
    if posterior.classifiers is not None:
        effects = effect_table(posterior)[_EFFECTS]
        coefficients = coefficient_table(posterior)[_COEFFICIENTS]
    assert posterior.stability is not None
    match = posterior.stability.factor_match
    return {
        "effects.csv": effects,
        "loadings.csv": loadings(posterior),
        "factors.csv": pd.DataFrame({"factor": posterior.factor_names, "match": match}),
        "coefficients.csv": coefficients,
    }


def loadings(posterior: Posterior) -> pd.DataFrame:
    """Loadings of all features in the model on every factor, largest first within a factor."""
    import pandas as pd

    assert posterior.stability is not None
    certainty, selected = loading_certainty(posterior), posterior.stability.loading_selected
    parts = []
    for k, name in enumerate(posterior.factor_names):
        rows = leading_rows(posterior, k)
        one = certainty.at((rows, k))
        values = {
            "factor": name,
            "feature": np.array(row_names(posterior, rows), object),
            "loading": one.mean,
            "sd": one.sd,
            "selected": selected[rows, k],
            "clear": one.clear,
        }
        parts.append(pd.DataFrame(values))
    return pd.concat(parts, ignore_index=True)
