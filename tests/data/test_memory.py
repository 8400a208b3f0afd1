"""Amounts of memory."""

from __future__ import annotations

import pytest

from rankfactor.data.memory import bytes_of
from rankfactor.errors import InputError
from rankfactor.storage.bounds import machine_bytes


def test_amounts() -> None:
    assert bytes_of("2GB") == bytes_of("2 gb") == bytes_of("2G") == bytes_of(2e9) == 2 * 10**9
    assert bytes_of("1.5GiB") == 3 * 2**29
    assert bytes_of("500MB") == bytes_of(".5g") == 5 * 10**8
    assert machine_bytes() > 10**8


@pytest.mark.parametrize("amount", ["2", "much", "-2GB", "2PB", 0, True, float("inf"), ""])
def test_what_is_none(amount: str | float) -> None:
    with pytest.raises(InputError, match="memory must be an amount of at least 1 MB"):
        bytes_of(amount)
