"""Over-representation of gene sets among the leading features of factors.

Of N features in the background, K are in a set; of the n leading features, k are. Under random
choice k is hypergeometric and ``p = P(X >= k)``. Features with positive loadings ("up": high where
the factor is high) and negative ones ("down") are tested as two lists. q is the Benjamini-Hochberg
adjustment over all sets, directions and factors tested in one call, including those without an
overlap (p = 1). Genes of a set are not independent of one another, so p is too small for sets of
tightly correlated genes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, check_count
from rankfactor.interpret.directions import higher_in, task_directions
from rankfactor.interpret.genesets import Sets, matched
from rankfactor.interpret.selection import (
    leading_rows,
    row_names,
    shown_factors,
    table_rows,
    warn_of_lfsr,
)
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import supported_loadings

# The paper looked at the 200 leading genes of a factor.
MOST_FEATURES = 200
_LARGEST_PART = 0.1  # of the background, so that the list does not cover all of a small table


# A list to test: its factor, direction, features and the classes associated with high values.
_Query = tuple[str, str, list[str], str]


def enrich(
    source: Posterior | Iterable[str],
    sets: Sets,
    background: Iterable[str] | None = None,
    *,
    factor: int | str | None = None,
    n: int | None = None,
    lfsr: float | None = None,
    min_size: int = 5,
    max_size: int = 500,
    ignore_case: bool = False,
) -> pd.DataFrame:
    """Test gene sets for over-representation among leading features.

    Parameters
    ----------
    source : Posterior or list of str
        A fitted model, or a list of features, which needs a background.
    sets : mapping from str to set of str
        Gene sets, as returned by `read_gmt`.
    background : iterable of str, optional
        All features that could have been chosen; by default the features of the table that vary,
        without covariates.
    factor : int or str, optional
        Number, from 0, or name of a factor; by default all in use.
    n : int, optional
        Maximum length of a list; by default a tenth of the background and at most 200.
    lfsr : float, optional
        Deprecated, without effect: lists contain the features with supported loadings
        (`rankfactor.posterior.certainty.supported_loadings`).
    min_size, max_size : int
        Smallest and largest number of members in the background for a set to be tested.
    ignore_case : bool, default False
        Whether names that differ only in case are the same.

    Returns
    -------
    DataFrame
        factor, direction (up or down; both empty for a list), set, size (in the background),
        overlap, expected (by chance), odds (odds ratio with 1/2 added to each count), p, q,
        features (the overlap, in the order of their loadings), higher_in (classes associated with
        high values of these features), selected (length of the list) and background (its size).
        Sets without an overlap are tested but not listed. Each list is sorted by p.
    """
    if lfsr is not None:
        warn_of_lfsr()
    if isinstance(source, Posterior):
        own = row_names(source, table_rows(source))
        names = unique(own if background is None else background, "the background")
        most = max(1, min(MOST_FEATURES, int(_LARGEST_PART * len(names))))
        queries = _queries(source, factor, most if n is None else check_count("n", n))
    else:
        if background is None:
            raise InputError(
                "a list of features needs a background: give all features it was chosen from."
            )
        names = unique(background, "the background")
        queries = [("", "", unique(source, "the list of features"), "")]
    found = matched(sets, names, ignore_case=ignore_case, min_size=min_size, max_size=max_size)
    known = set(names)
    outside = [one for _, _, features, _ in queries for one in features if one not in known]
    if outside:
        warnings.warn(
            f"leading features that are not in the background were left out ({len(outside)}, such "
            f"as {outside[0]!r}).",
            UserWarning,
            stacklevel=2,
        )
    return _tested(queries, found, known)


def unique(names: Iterable[str], what: str) -> list[str]:
    """Unique names; duplicates are counted once, with a warning."""
    if isinstance(names, str):
        raise InputError(f"{what} must be a list of names, not a single string.")
    given = [str(name) for name in names]
    result = list(dict.fromkeys(given))
    if not result:
        raise InputError(f"{what} is empty: give at least one name.")
    if len(result) < len(given):
        twice = next(name for name in result if given.count(name) > 1)
        warnings.warn(
            f"{what} has duplicate names, such as {twice!r}; each counts once.",
            UserWarning,
            stacklevel=3,
        )
    return result


def _queries(posterior: Posterior, factor: int | str | None, n: int) -> list[_Query]:
    """Leading features of each factor, up and down."""
    supported, directions = supported_loadings(posterior), task_directions(posterior)
    inside = table_rows(posterior)
    queries = []
    for k in shown_factors(posterior, factor):
        order = leading_rows(posterior, k)
        order = order[np.isin(order, inside) & supported[order, k]]
        loadings = posterior.structure[posterior.coding.columns[order], k]
        for direction, sign in (("up", 1), ("down", -1)):
            features = row_names(posterior, order[loadings * sign > 0][:n])
            name, words = posterior.factor_names[k], higher_in(directions[k], sign)
            queries.append((name, direction, features, words))
    return queries


def _tested(
    queries: list[_Query], sets: Mapping[str, frozenset[str]], known: set[str]
) -> pd.DataFrame:
    """Test every list against every set."""
    from scipy.stats import false_discovery_control, hypergeom

    rows, n_tests, total = [], 0, len(known)
    for number, (factor, direction, given, words) in enumerate(queries):
        features = [one for one in given if one in known]
        listed = frozenset(features)
        n_tests += len(sets) if features else 0
        for name, members in sets.items():
            shared = listed & members
            if shared:
                in_order = ";".join(one for one in features if one in shared)
                counts = len(members), len(shared), len(features)
                rows.append((number, factor, direction, name, *counts, in_order, words, total))
    columns = ["list", "factor", "direction", "set", "size", "overlap", "selected"]
    whole = pd.DataFrame(rows, columns=[*columns, "features", "higher_in", "background"])
    counted = whole[["overlap", "size", "selected"]].to_numpy(np.int64)
    overlap, size, selected = counted.T.astype(float)
    whole["expected"] = size * selected / total
    inside, outside = size - overlap, selected - overlap
    neither = total - size - selected + overlap
    whole["odds"] = (overlap + 0.5) * (neither + 0.5) / ((inside + 0.5) * (outside + 0.5))
    # SciPy computes them one by one, and the same counts occur many times.
    different, where = np.unique(counted, axis=0, return_inverse=True)
    tails = hypergeom.sf(different[:, 0] - 1, total, different[:, 1], different[:, 2])
    whole["p"] = p = np.clip(np.asarray(tails, np.float64), 0.0, 1.0)[where.ravel()]
    # Tests without an overlap have p = 1: they come last and only enter the adjustment.
    everything = np.concatenate([p, np.ones(n_tests - len(p))])
    whole["q"] = false_discovery_control(everything)[: len(p)] if n_tests else p
    columns = ["factor", "direction", "set", "size", "overlap", "expected", "odds", "p", "q"]
    columns += ["features", "higher_in", "selected", "background"]
    order = np.lexsort((-whole["odds"].to_numpy(float), p, whole["list"].to_numpy(int)))
    return whole.iloc[order][columns].reset_index(drop=True)
