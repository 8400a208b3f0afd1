"""A look at an HDF5 file in a process of its own, before it is read here.

The HDF5 library trusts what a file says of itself: a damaged or made-up file can keep it in an
endless loop or crash the process. So `checked` first lets a child process walk through the file,
as a reader of AnnData would, under a limit of time and memory. It imports h5py alone and takes a
fifth of a second, mostly while this process imports anndata. It reads everything that describes
the data (groups, attributes, types, indices of chunks), all text, and numbers up to `READ` bytes a
dataset; larger datasets it does not read again.

Refused are, beside files that the child does not survive: links and datasets that lead to other
files, which would let a file from a stranger read those of the user; groups that are nested deeper
than `DEPTH` or reached by many more paths than there are groups; and datasets that expand beyond
the bounds of `rankfactor.storage.bounds`.

The file is run as a script by the child, so it imports nothing of rankfactor at its top.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 20.0  # for any file
BYTES_A_SECOND = 10e6  # and as much more as this speed needs
MEMORY = 4 * 10**9  # address space of the child
READ = 2**24
DEPTH = 50
PATHS = 10  # to an object, on average, beside a thousand
_REFUSED = 3  # exit code with a reason on stdout


@contextmanager
def checked(path: Path) -> Iterator[None]:
    """Check a file while the block runs; InputError at its end if the file cannot be read."""
    from rankfactor.errors import InputError
    from rankfactor.storage.bounds import check_expansion

    if not path.is_file() or not sys.executable:
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-P", __file__, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        text=True,
    ) as child:
        try:
            yield
            size = path.stat().st_size
            answer, _ = child.communicate(timeout=SECONDS + size / BYTES_A_SECOND)
        except subprocess.TimeoutExpired:
            answer = "the HDF5 library does not come to an end"
        finally:
            child.kill()
    if child.returncode == 0:
        check_expansion(path, size, int(answer))
        return
    reason = f" ({answer.strip()})" if answer.strip() else ""
    raise InputError(f"{path} is not a whole {path.suffix} file{reason}; copy or write it again.")


class _RefusedError(Exception):
    pass


def _look(path: str) -> int:
    """Walk through a file; bytes of its largest dataset that is packed, in memory."""
    import h5py

    largest = paths = 0
    known: set[int] = set()

    def look(one: Any) -> None:
        nonlocal largest
        for name in one.attrs:
            one.attrs[name]
        if not isinstance(one, h5py.Dataset):
            return
        if one.external or one.is_virtual:
            raise _RefusedError("a dataset of it lies in another file")
        size = (one.size or 0) * max(one.dtype.itemsize, 1)
        if one.chunks is not None:
            largest = max(largest, size)
            one.id.get_num_chunks()
        if one.shape is not None and (one.dtype.hasobject or size <= READ):
            one[()]

    def walk(group: Any, depth: int) -> None:
        nonlocal paths
        if depth > DEPTH:
            raise _RefusedError("its groups are nested too deeply")
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                raise _RefusedError("it has a link to another file")
            one = group[name]
            paths += 1
            known.add(h5py.h5o.get_info(one.id).addr)
            if paths > 1000 + PATHS * len(known):
                raise _RefusedError("too many paths lead to its groups")
            look(one)
            if isinstance(one, h5py.Group):
                walk(one, depth + 1)

    with h5py.File(path, "r") as file:
        look(file)
        walk(file, 0)
    return largest


def _main() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [MEMORY, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    except ModuleNotFoundError:  # Windows
        pass
    try:
        print(_look(sys.argv[1]))  # noqa: T201
    except _RefusedError as problem:
        print(problem)  # noqa: T201
        sys.exit(_REFUSED)
    except Exception:
        sys.exit(1)


if __name__ == "__main__":
    _main()
