"""Text tables block by block, once their number format is known.

pandas reads a block of plain lines about ten times as fast as `rankfactor.data.textfile`, and
rounds numbers like Python. It is used only where both agree: a block of lines is read by pandas if
every line has as many separators as the header, none of them in quotes, and if every number is
plain or a missing marker. Blocks with other numbers ("1 000", "<0.05", "true") are read row by row;
after a line that is longer, shorter or blank, all blocks are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.data.grid import Grid
from rankfactor.data.numbers import MISSING_MARKERS, Style
from rankfactor.data.textfile import Records, grid_of_rows
from rankfactor.storage.spreadsheet import unescaped

_CELLS = 500_000  # of a block
_OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
# Arguments of `pd.read_csv` that round numbers like Python. pandas 3.1 always does so, and
# deprecates the argument.
EXACT: Any = {"float_precision": "round_trip"} if _OLD_PANDAS else {}


@dataclass(frozen=True)
class Blocks:
    """Settings for reading the rows of a text table.

    Attributes
    ----------
    lead : int or None
        Position of the names of the rows.
    numbers, text : sequence of str
        Columns of numbers, and columns to keep as written; others are left out.
    style : Style
        How numbers are written.
    """

    lead: int | None
    numbers: Sequence[str]
    text: Sequence[str]
    style: Style

    def grids(self, records: Records, rows: int) -> Iterator[Grid]:
        """Yield all rows in grids of at most ``rows`` rows."""
        rows = max(1, min(rows, _CELLS // len(records.names)))
        begun = next(records.rows)
        number, width = records.header_row + 1, len(records.names)
        if len(begun) != width or not any(cell.strip() for cell in begun):
            yield from self._row_by_row(records, chain([begun], records.rows), number, rows)
            return
        yield grid_of_rows(records, [(number, begun)], self.lead, self.text, self.style)
        number += 1
        while lines := list(islice(records.lines, rows)):
            if not _is_even(lines, records.separator, width):
                rest = self._parsed(records, chain(lines, records.lines))
                yield from self._row_by_row(records, rest, number, rows)
                return
            grid = self._by_pandas(records, lines, number)
            if grid is None:
                parsed = list(self._parsed(records, iter(lines)))
                numbered = [(number + n, row) for n, row in enumerate(parsed)]
                grid = grid_of_rows(records, numbered, self.lead, self.text, self.style)
            yield grid
            number += len(lines)

    def _parsed(self, records: Records, lines: Iterator[str]) -> Iterator[list[str]]:
        separator = records.separator
        return csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")

    def _row_by_row(
        self, records: Records, parsed: Iterator[list[str]], number: int, rows: int
    ) -> Iterator[Grid]:
        checked = replace(records, rows=parsed, header_row=number - 1).checked()
        while some := list(islice(checked, rows)):
            yield grid_of_rows(records, some, self.lead, self.text, self.style)

    def _by_pandas(self, records: Records, lines: list[str], number: int) -> Grid | None:
        """Grid of lines of equal length; None if a number is not plain."""
        if self.style != Style() or records.separator == " ":
            return None
        place = {name: i for i, name in enumerate(records.names) if i != self.lead}
        numbers, text = ([place[name] for name in some] for some in (self.numbers, self.text))
        as_text = [*text, *([] if self.lead is None else [self.lead])]
        kinds: Any = {**dict.fromkeys(numbers, np.float64), **dict.fromkeys(as_text, object)}
        missing: Any = dict.fromkeys(numbers, MISSING_MARKERS)
        try:
            frame: Any = pd.read_csv(
                io.StringIO("".join(lines)),
                sep=records.separator,
                header=None,
                names=range(len(records.names)),
                index_col=False,
                usecols=[*numbers, *as_text],
                dtype=kinds,
                na_values=missing,
                keep_default_na=False,
                **EXACT,
                skip_blank_lines=False,
                low_memory=False,
            )
        except ValueError:
            return None
        if len(frame) != len(lines):
            return None
        values = np.full((len(frame), len(numbers) + len(text)), np.nan)
        values[:, : len(numbers)] = frame[numbers].to_numpy(np.float64)
        names = [str(n + 1) for n in range(len(frame))]
        if self.lead is not None:
            names = [unescaped(cell.strip()) for cell in frame[self.lead]]
        cells = {
            (n, len(numbers) + j): unescaped(cell)
            for j, i in enumerate(text)
            for n, cell in enumerate(frame[i])
        }
        return Grid(
            records.source,
            names,
            [*self.numbers, *self.text],
            values,
            cells,
            None if self.lead is None else records.names[self.lead],
            number,
            style=self.style,
        )


def _is_even(lines: list[str], separator: str, width: int) -> bool:
    """Whether all lines have cells for all columns, and no separator or line end in quotes."""
    if width == 1:
        return False  # a blank line would be a row with a missing value
    if any(line.count(separator) != width - 1 for line in lines):
        return False
    quoted = "".join(lines).split('"')
    if len(quoted) == 1:
        return True
    inside = quoted[1::2]
    return len(quoted) % 2 == 1 and not any(
        separator in text or "\n" in text or "\r" in text for text in inside
    )
