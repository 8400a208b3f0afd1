"""Codecs of Zarr arrays: those of numbers only, since others may run code of the file's.

A Zarr array names the codecs of its chunks, and Zarr takes any that is installed: ``pickle`` of
numcodecs among them, which runs whatever a chunk asks for. Only codecs that turn bytes into
numbers are let through.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankfactor.errors import InputError

_CODECS = frozenset(
    {
        *("bytes", "endian", "transpose", "sharding_indexed", "crc32c", "crc32", "adler32"),
        *("blosc", "gzip", "zlib", "zstd", "lz4", "lzma", "bz2", "fletcher32", "jenkins_lookup3"),
        *("delta", "shuffle", "astype", "fixedscaleoffset", "quantize", "bitround", "packbits"),
    }
)


def check_codecs(array: Any, path: Path | str) -> None:
    """Refuse an array that is packed by another codec than those of numbers."""
    about = array.metadata.to_dict()
    given = [about.get("compressor"), *(about.get("filters") or ()), *(about.get("codecs") or ())]
    for name in _names([one for one in given if one is not None]):
        if name.removeprefix("numcodecs.") not in _CODECS:
            raise InputError(
                f"{path} is packed by the codec {name!r}, which is not one of plain numbers: write "
                "it again with the default codecs of Zarr."
            )


def _names(codecs: Any) -> list[str]:
    """Names of codecs and of those within them, as shards have them."""
    names: list[str] = []
    for one in codecs:
        if not isinstance(one, dict):  # of Zarr's second version
            one = one.get_config()
        names.append(str(one.get("id", one.get("name"))))
        inner = one.get("configuration") or {}
        for key in ("codecs", "index_codecs"):
            names += _names(inner.get(key) or ())
    return names
