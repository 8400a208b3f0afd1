"""The first rows of large tables, for commands that answer at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankfactor.cli.reading import Options, opened_table, read_opened

if TYPE_CHECKING:
    from rankfactor.data import Table

WHOLE_CELLS = 5_000_000  # tables up to this size are read whole


def read_first(path: Path, options: Options) -> tuple[Table, int] | None:
    """The first rows of a large table and about how many it has; None if it is read whole.

    A table with features in rows is read whole.
    """
    from rankfactor.data.streams import can_stream
    from rankfactor.data.streams.grids import head_rows
    from rankfactor.data.streams.opening import about_shape

    on_its_side = options.get("orient") == "features-in-rows"
    if not can_stream(path) or on_its_side or options.get("sheet") is not None:
        return None
    n_rows, n_columns = about_shape(path, options.get("layer"), least_cells=WHOLE_CELLS)
    first_rows = head_rows(n_columns)
    if n_rows * n_columns <= WHOLE_CELLS or n_rows <= first_rows:
        return None
    with opened_table(path, {**options, "first_rows": first_rows}) as file:
        table = read_opened(file, options)
        n_rows = file.about_n_rows or len(table.values)
    if any(text.startswith("features in rows") for text in table.notes):
        return None
    return table, n_rows
