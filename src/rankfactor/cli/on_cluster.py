"""`jobs_at`: number of parallel fits of a command, here or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def jobs_at(cluster: str | None, n_jobs: int) -> Iterator[int]:
    """Number of parallel fits: ``n_jobs``, or one per thread of a cluster."""
    if cluster is None:
        yield n_jobs
        return
    from rankfactor.engine.large.connecting import connect, jobs_on

    with connect(cluster) as client, jobs_on(client) as everywhere:
        yield everywhere
