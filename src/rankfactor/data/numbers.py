"""Numbers as people write them: decimal commas, thousands separators, missing values.

One file has one way of writing numbers. It is guessed from cells that allow one reading only:

- "1,5" has a decimal comma, "1.5" a decimal point; "0,123" too, since no group begins with 0;
- "1,234.5" and "1,234,567" have thousands separated by commas, "1.234,5" by points;
- "1,234" allows two. It has a decimal comma if other cells show one or cells are separated by
  semicolons (which is why they are), and a thousands separator if other cells have decimal points
  or cells are separated by commas (so that it stood in quotes). Else it is not taken as a number.

Spaces and apostrophes between groups of three digits are thousands separators in any file.
Numbers are read exactly (to the nearest double), so that equal texts stay tied: ranks depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
_COMMA_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_COMMA_GROUPS = re.compile(_GROUPS % "," + rf"(?:\.\d*)?{_END}")
_COMMA_DECIMAL = re.compile(rf"[+-]?\d*,\d+{_END}|[+-]?\d+,{_END}")
_POINT_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_POINT_GROUPS = re.compile(_GROUPS % r"\." + rf"(?:,\d*)?{_END}")
_POINT_DECIMAL = re.compile(rf"[+-]?\d*\.\d+{_END}|[+-]?\d+\.{_END}")
_LIMIT = re.compile(r"([<>≤≥])=?\s*(\S.*)")
LIMIT = 1e38  # no measurement; numbers of three times the size fit into single precision
_SPACES = re.compile("(?<=\\d)[ \u00a0\u2009\u202f'\u2019](?=\\d{3}(?:\\D|$))")


@dataclass(frozen=True)
class Style:
    """How a file writes numbers.

    Attributes
    ----------
    decimal : str
        "." or ",".
    thousands : str
        ",", "." or "" for none; spaces and apostrophes are always understood.
    """

    decimal: str = "."
    thousands: str = ""

    def describe(self) -> str:
        """Say what is unusual about it, or nothing."""
        parts = ["decimal comma"] if self.decimal == "," else []
        if self.thousands:
            mark = "commas" if self.thousands == "," else "points"
            parts.append(f"thousands separated by {mark}")
        return ", ".join(parts)


@dataclass
class Evidence:
    """Counts of cells by how they may be read."""

    comma_decimal: int = 0
    comma_groups: int = 0
    comma_either: int = 0
    point_decimal: int = 0
    point_groups: int = 0

    def look(self, cells: Iterable[str]) -> None:
        """Count some cells."""
        for cell in cells:
            if "," in cell:
                text = cell.strip()
                if _COMMA_EITHER.fullmatch(text):
                    self.comma_either += 1
                elif _COMMA_GROUPS.fullmatch(text):
                    self.comma_groups += 1
                elif _COMMA_DECIMAL.fullmatch(text):
                    self.comma_decimal += 1
                elif _POINT_GROUPS.fullmatch(text):
                    self.point_groups += 1
            elif "." in cell:
                text = cell.strip()
                if _POINT_EITHER.fullmatch(text):
                    continue
                if _POINT_DECIMAL.fullmatch(text):
                    self.point_decimal += 1
                elif _POINT_GROUPS.fullmatch(text):
                    self.point_groups += 1

    def style(self, separator: str) -> Style:
        """Give the way of writing that the cells speak for, the majority's if they disagree."""
        for_comma = self.comma_decimal + self.point_groups
        for_point = self.point_decimal + self.comma_groups
        if for_comma > for_point:
            return Style(",", "." if self.point_groups else "")
        if self.comma_groups:
            return Style(".", ",")
        if self.comma_either and not for_comma:
            if for_point or separator == ",":
                return Style(".", ",")
            if separator == ";":
                return Style(",")
        return Style()


def parse_number(text: str, style: Style) -> float | None:
    """Return the number that a cell holds, NaN if it is missing, None if it is no number."""
    text = text.strip()
    if text in _MISSING:
        return float("nan")
    truth = _TRUTH.get(text.lower())
    if truth is not None:
        return truth
    # Python reads "1_000" as a number; a table that says so is more likely mistaken.
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
    """Return the number that stands for a cell such as "<0.05" or ">100", None if it is none.

    All that is known of such a value is its side, so it is read as beyond every other: below
    ``-LIMIT`` or above ``LIMIT``, in the order of the limits and the same in every table.
    """
    found = _LIMIT.fullmatch(text.strip())
    number = None if found is None else parse_number(found[2], style)
    if found is None or number is None or not abs(number) < LIMIT:
        return None
    place = number / (1 + abs(number))  # increasing, between -1 and 1
    return LIMIT * (place - 2 if found[1] in "<≤" else place + 2)


def as_numbers(cells: Iterable[str | float]) -> list[float] | None:
    """Return the numbers that a column of text holds, NaN where missing; None if one is none.

    How they are written is judged by the column itself.
    """
    texts = ["" if isinstance(cell, float) and cell != cell else str(cell) for cell in cells]
    evidence = Evidence()
    evidence.look(texts)
    style = evidence.style("")
    numbers: list[float] = []
    for text in texts:
        number = parse_number(text, style)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def parse_row(
    cells: Sequence[str], style: Style, often_text: Iterable[int] = ()
) -> tuple[npt.NDArray[np.float64], dict[int, str]]:
    """Return the numbers of a row, NaN where a cell is missing or text, and the cells of text.

    Fast where all cells are numbers; positions in `often_text` are read one by one to keep the rest
    of the row so.
    """
    odd: dict[int, str] = {}
    known: dict[int, float] = {}
    plain = list(cells)
    for i in often_text:
        number = parse_number(plain[i], style)
        if number is None:
            odd[i] = plain[i]
        else:
            known[i] = number
        plain[i] = "nan"
    values = _all_numbers(plain, style)
    if values is None:
        values = np.empty(len(plain))
        for i, cell in enumerate(plain):
            number = parse_number(cell, style)
            if number is None:
                odd[i] = cell
            values[i] = np.nan if number is None else number
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
    for attempt in range(2):
        try:
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            if attempt == 0:
                cells = ["nan" if cell in _MISSING else cell for cell in cells]
    return None
