"""Rows and columns of the loading heat map: the leading features of the factors, in order."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist

from rankfactor.errors import InputError
from rankfactor.interpret.selection import leading_rows, shown_factors
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats, Integers


class LoadingMap(NamedTuple):
    """Content of a heat map.

    Attributes
    ----------
    features, factors : int array, list of int
        Numbers of the rows and the columns, in their order.
    values : array, shape (features, factors)
        Loadings: correlations of feature and factor.
    tree : array or None
        Linkage of the rows, in SciPy's format; None without clustering.
    """

    features: Integers
    factors: list[int]
    values: Floats
    tree: Floats | None


def loading_map(
    posterior: Posterior,
    features_per_factor: int = 4,
    most_features: int = 60,
    order: Literal["factor", "cluster"] = "factor",
) -> LoadingMap:
    """Leading features of the factors in use, their loadings, and their order.

    In the order by factor, a feature is listed with its typical factor: the one where its loading
    comes closest to the factor's largest, so that large factors do not claim every feature. Within
    a factor, loadings decrease, so that each block runs from positive to negative. If there are
    more than ``most_features`` leading features, the weakest of each factor are dropped first.
    """
    if order not in ("factor", "cluster"):
        raise InputError(f"order must be 'factor' or 'cluster', not {order!r}.")
    factors = shown_factors(posterior)
    leaders = np.array([leading_rows(posterior, k)[:features_per_factor] for k in factors])
    # The first of every factor, then the second of every factor, ...: each feature once.
    chosen = list(dict.fromkeys(leaders.T.ravel().tolist()))[:most_features]
    features = posterior.coding.columns[chosen]
    loadings = posterior.structure[:, factors]
    largest = np.maximum(np.abs(loadings).max(axis=0), np.finfo(float).tiny)
    home = (np.abs(loadings[features]) / largest).argmax(axis=1)
    features = features[np.lexsort((-loadings[features, home], home))]
    tree = None
    if order == "cluster" and len(features) > 2:
        apart = pdist(loadings[features])
        tree = optimal_leaf_ordering(linkage(apart, "average"), apart)
        features = features[dendrogram(tree, no_plot=True)["leaves"]]
    return LoadingMap(features, factors, loadings[features], tree)
