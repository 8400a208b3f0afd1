"""Amounts of memory, as people write them."""

from __future__ import annotations

import re

from rankfactor.errors import InputError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def bytes_of(amount: str | float, name: str = "memory") -> int:
    """Return the number of bytes of an amount such as "2GB", "500 MB", "1.5GiB" or 2e9.

    Raises
    ------
    InputError
        If it is not such an amount, or less than a megabyte.
    """
    found = _AMOUNT.fullmatch(amount) if isinstance(amount, str) else None
    units = {**_UNITS, **_BINARY}
    if found is not None and found[2].lower() in units:
        count = float(found[1]) * units[found[2].lower()]
    elif isinstance(amount, int | float) and not isinstance(amount, bool):
        count = float(amount)
    else:
        count = 0.0
    if not 1e6 <= count < float("inf"):
        raise InputError(
            f"{name} must be an amount of at least 1 MB, such as 2GB or 500MB, not {amount!r}."
        )
    return int(count)
