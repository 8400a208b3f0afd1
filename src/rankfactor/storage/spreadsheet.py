"""CSV files that are safe to open in a spreadsheet, and the inverse.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` (or a tab or a carriage
return before one) as a formula, whoever wrote it. All our CSV files are written by `csv_of`, which
puts an apostrophe before such text, also in headings. Numbers are never changed, nor is text that
is a number, such as a class "-1". Our own readers use `unescaped`, so names are restored. The
report's script has the same rule.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"'*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def escaped(value: Any) -> Any:
    """Text that a spreadsheet treats as text; other values unchanged."""
    return f"'{value}" if isinstance(value, str) and _would_run(value) else value


def unescaped(value: Any) -> Any:
    """Inverse of `escaped`."""
    marked = isinstance(value, str) and value.startswith("'") and _would_run(value)
    return value[1:] if marked else value


def _would_run(text: str) -> bool:
    # Text with leading apostrophes is also escaped, so that escaping can be undone for every text.
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


@overload
def csv_of(frame: pd.DataFrame, path: Path, *, index_label: str | None = None) -> None: ...
@overload
def csv_of(frame: pd.DataFrame, path: None = None, *, index_label: str | None = None) -> str: ...
def csv_of(
    frame: pd.DataFrame, path: Path | None = None, *, index_label: str | None = None
) -> str | None:
    """Write a frame as CSV, or return the text if there is no path.

    ``index_label`` is the heading of the index, which is left out without one.
    """
    safe = _changed(frame, escaped)
    named = index_label is not None
    if named:
        safe = safe.set_axis(safe.index.map(escaped)).rename_axis(escaped(index_label))
    text = safe.to_csv(index=named, lineterminator="\n")
    if "\r" in text:
        # Line breaks are allowed only in quoted text; unquoted, they begin a row.
        text = safe.to_csv(index=named, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    if path is None:
        return text
    path.write_text(text, encoding="utf-8", newline="")
    return None


def frame_of(path: Path, **options: Any) -> pd.DataFrame:
    """Read a file written by `csv_of`; options as for `pandas.read_csv`."""
    import pandas as pd

    return _changed(pd.read_csv(path, **options), unescaped)


def _changed(frame: pd.DataFrame, change: Any) -> pd.DataFrame:
    """Frame with a function applied to its headings and text cells."""
    result = frame.copy()
    for place, kind in enumerate(frame.dtypes):
        if getattr(kind, "kind", "O") == "O":  # neither numbers nor booleans
            result.isetitem(place, [change(value) for value in frame.iloc[:, place]])
    return result.set_axis([change(name) for name in frame.columns], axis=1)
