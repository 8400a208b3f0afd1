"""`survey_parts`: the survey of a table in parts, made by the workers of a cluster.

Two passes: the first counts rows and finds the values of columns with few values, the second takes
the sampled rows. These are the same rows as in `rankfactor.features.survey`, since they depend only
on the seed and the number of rows. The parts stay on the workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rankfactor.data.streams.base import joined, n_rows_of, rows_of
from rankfactor.data.streams.collections import DaskStream
from rankfactor.errors import InputError, check_count
from rankfactor.features.survey import (
    MOST_LEVELS,
    SAMPLED_BYTES,
    SAMPLED_ROWS,
    Levels,
    Survey,
    row_priorities,
)
from rankfactor.typing import Floats, Integers


def survey_parts(
    stream: DaskStream,
    client: Any,
    *,
    seed: int = 0,
    n_sampled: int = SAMPLED_ROWS,
    sampled_bytes: int = SAMPLED_BYTES,
    most_levels: int = MOST_LEVELS,
) -> Survey:
    """Count and sample the rows of a Dask collection, and find the values of its columns.

    Parameters
    ----------
    stream : DaskStream
    client : distributed.Client
    seed, n_sampled, sampled_bytes, most_levels
        As in `rankfactor.features.survey.survey`.

    Returns
    -------
    Survey
        Without names of samples: those of a Dask dataframe need not be unique.
    """
    from dask.delayed import delayed

    look = delayed(_look, pure=False)
    seen = client.gather(client.compute([look(part, most_levels) for part in stream.parts]))
    stream.found_lengths([count for count, _, _ in seen])
    n_rows = stream.n_rows
    if not n_rows:
        raise InputError(f"{stream.name} has no rows; a table needs one row per sample.")
    size = check_count("n_sampled", n_sampled)
    size = min(size, max(1024, stream.rows_within(sampled_bytes)), n_rows)
    priorities = row_priorities(seed, 0, n_rows)
    # Ties of priorities, though rare, are ordered by row.
    rows: Integers = np.sort(np.argsort(priorities, kind="stable")[:size])
    take, lazy, first = delayed(rows_of, pure=False), [], 0
    assert stream.lengths is not None
    for part, length in zip(stream.parts, stream.lengths, strict=True):
        begin, end = np.searchsorted(rows, [first, first + length])
        if end > begin:
            lazy.append(take(part, rows[begin:end] - first))
        first += length
    table = joined(client.gather(client.compute(lazy)))
    levels = _common((found for count, found, _ in seen if count), most_levels)
    missing: Integers = np.sum([absent for _, _, absent in seen], axis=0)
    return Survey(n_rows, rows, table, levels, None, missing)


def _look(part: Any, most_levels: int) -> tuple[int, dict[int, Floats], Integers]:
    """Number of rows, values of columns that have few, and missing values of a part."""
    levels = Levels(part, most_levels)
    if n_rows_of(part):
        levels.add(part)
    return n_rows_of(part), levels.found(), levels.missing


def _common(found: Iterable[dict[int, Floats]], most: int) -> dict[int, Floats]:
    """Values of the columns that have few in all parts together."""
    common: dict[int, Floats] | None = None
    for levels in found:
        if common is None:
            common = levels
            continue
        both = {i: np.union1d(values, levels[i]) for i, values in common.items() if i in levels}
        common = {i: values for i, values in both.items() if len(values) <= most}
    return common or {}
