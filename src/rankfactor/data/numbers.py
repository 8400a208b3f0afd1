"""Numbers as written by people: decimal commas, thousands separators, missing values.

A file has one number format. It is inferred from cells that can be read in only one way:

- "1,5" has a decimal comma, "1.5" a decimal point; so has "0,123", since no group begins with 0;
- "1,234.5" and "1,234,567" have thousands separated by commas, "1.234,5" by points;
- "1,234" is ambiguous. It has a decimal comma if other cells show one or cells are separated by
  semicolons (the reason for semicolons), and a thousands separator if other cells have decimal
  points or cells are separated by commas (so that it was quoted). Otherwise it is not a number.

Spaces and apostrophes between groups of three digits are thousands separators in any file.
Numbers are read exactly (to the nearest double), so that equal texts stay tied: ranks depend on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MISSING_MARKERS = (
    "", "NA", "NaN", "nan", "null", "NULL", ".", "N/A", "n/a", "#N/A", "<NA>",
)  # fmt: skip

_MISSING = frozenset(MISSING_MARKERS)
_TRUTH = {"true": 1.0, "false": 0.0}
_END = r"(?:[eE][+-]?\d+)?"
_GROUPS = r"[+-]?[1-9]\d{0,2}(?:%s\d{3})+"
_COMMA_GROUPS = re.compile(_GROUPS % "," + rf"(?:\.\d*)?{_END}")
_POINT_GROUPS = re.compile(_GROUPS % r"\." + rf"(?:,\d*)?{_END}")
# Readings of a cell with a comma, and of one with only a point: the first that fits is used.
_COMMA = {
    "comma_either": re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"),
    "comma_groups": _COMMA_GROUPS,
    "comma_decimal": re.compile(rf"[+-]?\d*,\d+{_END}|[+-]?\d+,{_END}"),
    "point_groups": _POINT_GROUPS,
}
_POINT = {
    "point_either": re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}"),
    "point_decimal": re.compile(rf"[+-]?\d*\.\d+{_END}|[+-]?\d+\.{_END}"),
    "point_groups": _POINT_GROUPS,
}
_LIMIT = re.compile(r"([<>≤≥])=?\s*(\S.*)")
LIMIT = 1e38  # no measurement; numbers of three times the size fit into single precision
_SPACES = re.compile("(?<=\\d)[ \u00a0\u2009\u202f'\u2019](?=\\d{3}(?:\\D|$))")


@dataclass(frozen=True)
class Style:
    """Number format of a file; spaces and apostrophes always separate thousands."""

    decimal: str = "."  # or ","
    thousands: str = ""  # or "," or "."

    def describe(self) -> str:
        """Describe what is unusual about it; empty if nothing."""
        parts = ["decimal comma"] if self.decimal == "," else []
        if self.thousands:
            mark = "commas" if self.thousands == "," else "points"
            parts.append(f"thousands separated by {mark}")
        return ", ".join(parts)


class Evidence:
    """Counts of cells by possible reading."""

    def __init__(self, cells: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.look(cells)

    def look(self, cells: Iterable[str]) -> None:
        """Count some cells."""
        for cell in cells:
            readings = _COMMA if "," in cell else _POINT if "." in cell else {}
            for name, pattern in readings.items():
                if pattern.fullmatch(cell.strip()):
                    self.counts[name] += 1
                    break

    def style(self, separator: str) -> Style:
        """Return the number format of the cells, by majority if they disagree."""
        counts = self.counts
        for_comma = counts["comma_decimal"] + counts["point_groups"]
        for_point = counts["point_decimal"] + counts["comma_groups"]
        if for_comma > for_point:
            return Style(",", "." if counts["point_groups"] else "")
        if counts["comma_groups"]:
            return Style(".", ",")
        if counts["comma_either"] and not for_comma:
            if for_point or separator == ",":
                return Style(".", ",")
            if separator == ";":
                return Style(",")
        return Style()


def parse_number(text: str, style: Style) -> float | None:
    """Return the number in a cell, NaN if missing, None if it is not a number."""
    text = text.strip()
    if text in _MISSING:
        return float("nan")
    truth = _TRUTH.get(text.lower())
    if truth is not None:
        return truth
    # Python reads "1_000" as a number; in a table it is more likely a mistake.
    if "_" in text:
        return None
    text = _SPACES.sub("", text)
    other = "," if style.decimal == "." else "."
    if other in text:
        groups = _COMMA_GROUPS if other == "," else _POINT_GROUPS
        if style.thousands != other or not groups.fullmatch(text):
            return None
        text = text.replace(other, "")
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def parse_limit(text: str, style: Style) -> float | None:
    """Return a number for a cell such as "<0.05" or ">100"; None for other cells.

    Only the side of such a value is known, so it is read as beyond every other: below ``-LIMIT`` or
    above ``LIMIT``, in the order of the limits and the same in every table.
    """
    found = _LIMIT.fullmatch(text.strip())
    number = None if found is None else parse_number(found[2], style)
    if found is None or number is None or not abs(number) < LIMIT:
        return None
    place = number / (1 + abs(number))  # increasing, between -1 and 1
    return LIMIT * (place - 2 if found[1] in "<≤" else place + 2)


def as_numbers(cells: Iterable[str | float]) -> list[float] | None:
    """Return the numbers in a column of text, NaN where missing; None if any cell is not a number.

    The number format is inferred from the column itself.
    """
    texts = ["" if isinstance(cell, float) and cell != cell else str(cell) for cell in cells]
    style = Evidence(texts).style("")
    numbers = [number for text in texts if (number := parse_number(text, style)) is not None]
    return numbers if len(numbers) == len(texts) else None


def parse_row(
    cells: Sequence[str], style: Style, often_text: Iterable[int] = ()
) -> tuple[npt.NDArray[np.float64], dict[int, str]]:
    """Return the numbers of a row, NaN where a cell is missing or text, and the cells of text.

    Fast if all cells are numbers; positions in `often_text` are read one by one to keep the rest of
    the row fast.
    """
    odd: dict[int, str] = {}
    plain = list(cells)

    def number_at(i: int) -> float:
        number = parse_number(cells[i], style)
        if number is None:
            odd[i] = cells[i]
        return np.nan if number is None else number

    known = {i: number_at(i) for i in often_text}
    for i in known:
        plain[i] = "nan"
    values = _all_numbers(plain, style)
    if values is None:
        return np.array([known[i] if i in known else number_at(i) for i in range(len(plain))]), odd
    for i, number in known.items():
        values[i] = number
    return values, odd


def _all_numbers(cells: list[str], style: Style) -> npt.NDArray[np.float64] | None:
    whole = " ".join(cells)
    if "_" in whole:
        return None
    if style.decimal == ",":
        if "." in whole:
            return None
        cells = [cell.replace(",", ".") for cell in cells]
    for given in (cells, ("nan" if cell in _MISSING else cell for cell in cells)):
        with suppress(ValueError):
            return np.fromiter(map(float, given), dtype=np.float64, count=len(cells))
    return None
