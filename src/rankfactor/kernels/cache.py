"""The cache of compiled kernels: one that cannot be written or read costs time, and no fit.

numba keeps machine code beside the source or in the user's folder. On a full disk or beyond a quota
it raises after it has compiled, and a file that a power loss cut short makes every later run fail.
Kernels of rankfactor are used without being kept in the first case, and in the second they are
compiled and written again. Functions of other packages are treated as numba treats them.
"""

from __future__ import annotations

import pickle
from typing import Any

from numba.core.caching import FunctionCache

_CUT_SHORT = (EOFError, pickle.UnpicklingError)


def _is_ours(cache: Any) -> bool:
    return str(cache._py_func.__module__).startswith("rankfactor.")


def tolerate_bad_disks() -> None:
    """Change numba's cache for the kernels of rankfactor; to be called once."""
    kind: Any = FunctionCache
    save, load = kind.save_overload, kind.load_overload

    def save_overload(self: Any, sig: Any, data: Any) -> None:
        try:
            try:
                save(self, sig, data)
            except _CUT_SHORT:  # the index is read before it is written
                if not _is_ours(self):
                    raise
                self.flush()
                save(self, sig, data)
        except OSError:
            if not _is_ours(self):
                raise

    def load_overload(self: Any, sig: Any, target_context: Any) -> Any:
        try:
            return load(self, sig, target_context)
        except (OSError, *_CUT_SHORT):
            if not _is_ours(self):
                raise
            return None

    kind.save_overload, kind.load_overload = save_overload, load_overload
