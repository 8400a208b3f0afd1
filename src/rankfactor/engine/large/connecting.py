"""`connect`: a client of a Dask cluster with suitable workers."""

from __future__ import annotations

import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from rankfactor.errors import InputError, listed

TIMEOUT = 10  # seconds to reach a scheduler
NECESSARY = "Python", "rankfactor"  # versions must agree
WELCOME = "numpy", "numba"  # versions should agree


def dask_package(name: str) -> Any:
    """A package of the extra ``dask``."""
    try:
        return import_module(name)
    except ImportError as problem:
        raise InputError(
            f"a cluster needs the package {name}: pip install 'rankfactor[dask]'."
        ) from problem


@contextmanager
def connect(cluster: Any) -> Iterator[Any]:
    """A client of a cluster, for the duration of a block.

    Parameters
    ----------
    cluster : distributed.Client or str
        A client, which stays open; the address of a scheduler, such as "tcp://host:8786"; or
        "local:2" for two processes of one thread each on this machine, which end with the block.

    Raises
    ------
    InputError
        If there is no such cluster, it has no workers, or its versions differ.
    """
    distributed = dask_package("distributed")
    with ExitStack() as open_ones:
        if isinstance(cluster, distributed.Client):
            client = cluster
        elif not isinstance(cluster, str):
            raise InputError(
                "cluster must be a distributed.Client, the address of a scheduler or 'local:2', "
                f"not {type(cluster).__name__}."
            )
        elif re.fullmatch(r"local:[1-9][0-9]*", cluster):
            local = distributed.LocalCluster(
                n_workers=int(cluster.partition(":")[2]),
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
            )
            client = open_ones.enter_context(
                distributed.Client(open_ones.enter_context(local), set_as_default=False)
            )
        elif re.match(r"(tcp|tls|ucx|wss?|inproc)://.", cluster):
            client = open_ones.enter_context(_reached(distributed, cluster))
        else:
            raise InputError(
                f"cluster must be an address such as tcp://host:8786, or 'local:2' for two "
                f"processes on this machine, not {cluster!r}."
            )
        check_versions(client)
        yield client


def current_client() -> Any:
    """Dask's default client of this process; None without one."""
    try:
        return dask_package("distributed").default_client()
    except (InputError, ValueError):
        return None


@contextmanager
def jobs_on(client: Any) -> Iterator[int]:
    """Let joblib run the jobs of a block on a cluster, such as folds and half-samples.

    Yields the ``n_jobs`` that uses every thread of the cluster.
    """
    import joblib

    with client.as_current(), joblib.parallel_config(backend="dask"):
        yield max(2, sum(client.nthreads().values()))  # one job at a time would run here


def mapped(
    client: Any, function: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
) -> Iterator[Any]:
    """``function(shared, item)`` of every item on a cluster, in order, a few of them at a time.

    Items are read as workers become free, so they may exceed memory.
    """
    everywhere = client.scatter(shared, broadcast=True, hash=False)
    ahead = 2 * max(1, sum(client.nthreads().values()))
    waiting: deque[Any] = deque()
    try:
        for item in items:
            waiting.append(client.submit(function, everywhere, item, pure=False))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        client.cancel(list(waiting), force=True)


def _reached(distributed: Any, address: str) -> Any:
    import asyncio
    import socket

    where = urlsplit(address)
    try:
        if where.scheme in ("tcp", "tls"):
            # A client without a connection keeps trying for a while when it is closed.
            socket.create_connection((where.hostname, where.port or 8786), TIMEOUT).close()
        return distributed.Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError, ValueError, asyncio.CancelledError) as problem:
        raise InputError(
            f"no scheduler answers at {address}: check the address, and that the scheduler runs."
        ) from problem


def check_versions(client: Any) -> None:
    """Refuse workers with a different rankfactor or Python; warn of a different NumPy or Numba."""
    address = client.scheduler.address
    own, found = _versions()(), client.run(_versions())
    if not found:
        raise InputError(f"the cluster at {address} has no workers: start some first.")
    others = {
        place: versions | {"rankfactor": own["rankfactor"]}  # which a scheduler does not need
        for place, versions in _of_scheduler(client).items()
    }
    for place, versions in (others | found).items():
        where = place if place in others else f"the worker at {place}"
        differing = [name for name in NECESSARY if _minor(name, versions) != _minor(name, own)]
        if differing:
            raise InputError(
                f"{where} has {_said(differing, versions)}, this process "
                f"{_said(differing, own)}: install the same versions on both."
            )
    differing = [name for name in WELCOME if any(one[name] != own[name] for one in found.values())]
    if differing:
        places = [
            place for place, one in found.items() if _said(differing, one) != _said(differing, own)
        ]
        warnings.warn(
            f"workers ({listed(places, 3)}) have {_said(differing, found[places[0]])}, this "
            f"process {_said(differing, own)}: results may differ in the last digits.",
            UserWarning,
            stacklevel=4,
        )


def _of_scheduler(client: Any) -> dict[str, dict[str, Any]]:
    """Versions of the scheduler, which need not have rankfactor."""
    host = client.get_versions()["scheduler"]["host"]
    python = dict(host)["python"]
    return {f"the scheduler at {client.scheduler.address}": {"Python": str(python)}}


def _versions() -> Callable[[], dict[str, Any]]:
    # A function within a function is sent as code, so that a worker without rankfactor can run it.
    def versions() -> dict[str, Any]:
        import platform
        from importlib import import_module, metadata

        found: dict[str, Any] = {"Python": platform.python_version()}
        for name in ("numpy", "numba"):
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = None
        try:
            found["rankfactor"] = import_module("rankfactor.__about__").__version__
        except ImportError:
            found["rankfactor"] = None
        return found

    return versions


def _minor(name: str, versions: Mapping[str, Any]) -> Any:
    """The part of a version that must agree: major and minor for Python, all for others."""
    version = versions[name]
    return version.split(".")[:2] if name == "Python" else version


def _said(names: list[str], versions: Mapping[str, Any]) -> str:
    """Names with versions, such as "rankfactor 0.1.0 and Python 3.11.7"."""
    return " and ".join(
        f"{name} {versions[name]}" if versions[name] else f"no {name}" for name in names
    )
