"""Damage to the archives of checkpoints."""

from __future__ import annotations

import zipfile
from pathlib import Path


def truncate(path: Path) -> None:
    """Cut an archive in half."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip(path: Path) -> None:
    """Change the last byte of the first array."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        array = file.read("0.npy")
    content[content.index(array) + len(array) - 1] ^= 255
    path.write_bytes(content)
