"""Tables that are read chunk by chunk, from files that may exceed memory."""

from rankfactor.data.streams.base import Chunk, TableStream, named
from rankfactor.data.streams.labels import LabelledStream, with_labels
from rankfactor.data.streams.opening import can_stream, open_stream

__all__ = [
    "Chunk",
    "LabelledStream",
    "TableStream",
    "can_stream",
    "named",
    "open_stream",
    "with_labels",
]
