"""Dask clusters for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def two_workers(threads: int = 1, *, processes: bool = False) -> Iterator[Any]:
    """Client of two workers, in this process or in processes of their own."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=threads,
            processes=processes,
            dashboard_address=":0",
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client
