"""Names and numbers as text, the same in sentences, tables and figures."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def printable(name: object) -> str:
    """Name with spaces in place of control characters, which XML does not allow."""
    return "".join(c if unicodedata.category(c)[0] != "C" else " " for c in str(name))


def plain(name: object) -> str:
    """Name on one line, without characters that files do not allow."""
    return " ".join(printable(name).split())


def joined(items: Sequence[str]) -> str:
    """Join as in a sentence: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def number(value: float, digits: int = 2) -> str:
    """Number with a true minus sign; a dash if unknown."""
    if not np.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    zero = not text.strip("-0.")
    return text.lstrip("-") if zero else text.replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """Share in per cent: one decimal below ten per cent, none above."""
    value = 100 * share
    if value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.05 else "< 0.1 %"


def rate(value: float) -> str:
    """A rate with three digits, never rounded to zero."""
    return "< 0.001" if value < 5e-4 else number(value, 3)


def small(value: float) -> str:
    """A p-value: three digits, or its power of ten where it is smaller."""
    if not np.isfinite(value) or value >= 1e-3:
        return number(value, 3)
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"
