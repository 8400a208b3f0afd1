"""Tables larger than --memory, for commands that can read them in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.cli import options as opt
from rankfactor.errors import InputError

if TYPE_CHECKING:
    from rankfactor.data.streams import TableStream

A_QUARTER = "a quarter of the machine's"
CHUNKWISE = "read chunk by chunk, to stay within --memory"
_COPIES = 4  # copies as doubles held while a table is read and matched
_PACKED = 5  # compression ratio of text


# Options of commands that fit.
MEMORY: opt.Options = {
    "memory": opt.option(
        str,
        "Memory for the table, its codes and scores, such as 2GB: a larger table is read chunk by "
        "chunk, and the model keeps no training samples.",
        default=None,
        show_default=A_QUARTER,
    ),
    "scratch": opt.option(
        Path,
        "Folder for the scratch files of a table that is larger than --memory.",
        default=None,
        show_default="the system's temporary folder",
    ),
}


def allowed_bytes(options: Mapping[str, Any]) -> int:
    """Bytes allowed by --memory."""
    from rankfactor.data.memory import bytes_of
    from rankfactor.storage.bounds import machine_bytes

    given = options["memory"]
    return machine_bytes() // 4 if given is None else bytes_of(given, "--memory")


def open_large(
    path: Path, options: Mapping[str, Any], most_rows: int | None = None
) -> TableStream | None:
    """Stream of a table that needs more memory than allowed; otherwise None.

    With ``most_rows`` also if the table has more rows.
    """
    from rankfactor.data.opening import name_suffixes
    from rankfactor.data.streams import can_stream, open_stream
    from rankfactor.data.streams.opening import TEXT

    limit = allowed_bytes(options)
    on_its_side = options["orient"] == "features-in-rows"
    if not path.exists() or not can_stream(path) or on_its_side or options["sheet"] is not None:
        return None
    suffix, packed = name_suffixes(path)
    # A number takes roughly the same space as text and as a double.
    n_bytes = path.stat().st_size * (_PACKED if packed else 1)
    small = n_bytes * _COPIES <= limit
    if most_rows is None and suffix in TEXT and small:
        return None
    try:
        stream = open_stream(path, **reading_options(options))
    except InputError:
        if small:  # if it cannot be read in chunks or at all, its reader reports the error
            return None
        raise
    needed = 8 * stream.about_n_rows * stream.n_columns * _COPIES
    many = most_rows is not None and stream.about_n_rows > most_rows
    return stream if needed > limit or many else None


def reading_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `rankfactor.data.streams.open_stream` from the options."""
    orient = options["orient"]
    return {
        "id_column": options["id_column"],
        "layer": options["layer"],
        "orient": None if orient is None else str(orient),
    }
