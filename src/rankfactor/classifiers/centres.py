"""Class-aware initial centres of the components of a mixture of the scores.

A mixture of local classifiers is useful if one class occupies several regions, and k-means over all
samples does not necessarily put a centre in each of them: factor scores are whitened, so they have
few clusters. So k-means is run within every group of samples with the same labels, with a number of
centres in proportion to the size of the group.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rankfactor.errors import convergence_warning
from rankfactor.typing import Floats

_STARTS = 10  # of k-means; the best is kept


def label_groups(signed: Floats) -> NDArray[np.int64]:
    """Number of every sample's combination of labels (R, N), -1 where one is missing; (N,).

    If no sample has all its labels, as when every task has its own samples, the combinations of the
    existing labels are used instead, and -1 means that all are missing.
    """
    signs, groups = np.unique(np.sign(signed), axis=1, return_inverse=True)
    known = (signs != 0).all(axis=0)
    if not known.any():
        known = (signs != 0).any(axis=0)
    groups = groups.ravel()
    return np.asarray(np.where(known[groups], groups, -1), np.int64)


def class_aware_centres(
    z: Floats,
    groups: NDArray[np.int64],
    n_components: int,
    rng: np.random.Generator,
) -> Floats:
    """Centres by k-means within every group of samples.

    Parameters
    ----------
    z : array, shape (N, K)
        Scores.
    groups : int array, shape (N,)
        The group of every sample, for instance its class; -1 if unknown. Samples without a group
        are left out, unless no sample has a group or there are more groups than centres: then all
        samples are taken together.
    n_components : int
        Number of centres, T.
    rng : numpy.random.Generator

    Returns
    -------
    array, shape (T, K)
        Sorted by group. If a group has fewer distinct samples than its share, some of its centres
        coincide.
    """
    names, sizes = np.unique(groups[groups >= 0], return_counts=True)
    if not 0 < len(names) <= n_components:
        return _centres(z, n_components, rng)
    parts = shares(sizes, n_components)
    found = [
        _centres(z[groups == name], part, rng) for name, part in zip(names, parts, strict=True)
    ]
    return np.concatenate(found)


def shares(sizes: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """At least one for each, the rest in proportion to the sizes (largest remainders)."""
    exact = sizes / sizes.sum() * (total - len(sizes))
    out = 1 + np.floor(exact).astype(np.int64)
    left = total - int(out.sum())
    out[np.argsort(np.floor(exact) - exact, kind="stable")[:left]] += 1
    return np.asarray(out)


def _centres(z: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Centres (count, K) of k-means; random samples if there are too few."""
    # Slow to import, and few models need it.
    from sklearn.cluster import KMeans

    seed = int(rng.integers(2**31 - 1))
    number = min(count, len(z))
    # One thread: the order of the sums in k-means depends on their number.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # Coinciding samples, with coinciding centres.
        warnings.simplefilter("ignore", convergence_warning())
        kmeans = KMeans(number, n_init=_STARTS, random_state=seed).fit(z)
    centres = np.asarray(kmeans.cluster_centers_, np.float64)
    return np.concatenate([centres, z[rng.integers(len(z), size=count - number)]])
