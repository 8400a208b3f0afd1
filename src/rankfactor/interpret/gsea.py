"""Preranked gene set enrichment analysis of a factor's loadings, by gseapy.

All features of the table that vary are ranked by their standardised loading, so no cut-off is
needed. gseapy (the extra ``rankfactor[enrichment]``) does the permutations; sets are passed to it
as a dictionary, so it contacts no server.
"""

from __future__ import annotations

import warnings

import pandas as pd

from rankfactor.data.opening import need
from rankfactor.errors import InputError
from rankfactor.interpret.directions import higher_in, task_directions
from rankfactor.interpret.genesets import Sets, matched
from rankfactor.interpret.selection import row_names, shown_factors, table_rows
from rankfactor.posterior import Posterior


def preranked(
    posterior: Posterior,
    sets: Sets,
    factor: int | str,
    seed: int = 0,
    *,
    n_permutations: int = 1000,
    min_size: int = 5,
    max_size: int = 500,
    ignore_case: bool = False,
) -> pd.DataFrame:
    """Test whether the members of gene sets accumulate at one end of a factor's loadings.

    Parameters
    ----------
    posterior : Posterior
    sets : mapping from str to set of str
        Gene sets, as returned by `read_gmt`.
    factor : int or str
        Number, from 0, or name of a factor.
    seed : int, default 0
        Seed of the permutations.
    n_permutations : int, default 1000
    min_size, max_size : int
        Smallest and largest number of members in the model for a set to be tested.
    ignore_case : bool, default False
        Whether names that differ only in case are the same.

    Returns
    -------
    DataFrame
        factor, direction (up: at the positive end), set, size, es, nes (enrichment score, and
        normalised), p (by permutation, so at least one over their number), q (gseapy's false
        discovery rate), features (the leading edge), higher_in. The largest scores come first.

    Raises
    ------
    InputError
        Without the extra: ``pip install 'rankfactor[enrichment]'``.
    """
    (k,) = shown_factors(posterior, factor)
    rows = table_rows(posterior)
    names = row_names(posterior, rows)
    found = matched(sets, names, ignore_case=ignore_case, min_size=min_size, max_size=max_size)
    if n_permutations < 1:
        raise InputError(f"n_permutations must be at least 1, not {n_permutations}.")
    gseapy = need("gseapy", extra="enrichment", path="preranked enrichment")
    loadings = posterior.structure[posterior.coding.columns[rows], k]
    ranking = pd.Series(loadings, names).sort_values(ascending=False, kind="stable")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gseapy warns about its own code
        answer = gseapy.prerank(
            rnk=ranking,
            gene_sets={name: sorted(members) for name, members in found.items()},
            min_size=min_size,
            max_size=max_size,
            permutation_num=n_permutations,
            seed=seed,
            threads=1,
            outdir=None,
            no_plot=True,
            verbose=False,
        ).res2d
    effects = task_directions(posterior)[k]
    sides = {True: ("down", higher_in(effects, -1)), False: ("up", higher_in(effects, 1))}
    below = [sides[bool(score < 0)] for score in answer["ES"]]
    frame = pd.DataFrame(
        {
            "factor": posterior.factor_names[k],
            "direction": [direction for direction, _ in below],
            "set": answer["Term"].astype(str).to_numpy(object),
            "size": [len(found[str(name)]) for name in answer["Term"]],
            "es": answer["ES"].to_numpy(float),
            "nes": answer["NES"].to_numpy(float),
            "p": answer["NOM p-val"].to_numpy(float),
            "q": answer["FDR q-val"].to_numpy(float),
            "features": answer["Lead_genes"].astype(str).to_numpy(object),
            "higher_in": [words for _, words in below],
        }
    )
    return frame.sort_values("nes", key=lambda v: -v.abs(), kind="stable", ignore_index=True)
