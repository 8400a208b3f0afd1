"""Mutations of files, of bytes and of what the bytes mean.

`mutate` looks at the content: the members of a zip are changed and the zip is written anew with
right checksums, compressed text is unpacked, changed and packed again, JSON is changed as a tree,
the header of an array as a header. So mutations get beyond the container. Now and then the bytes of
the container itself are changed all the same.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import re
import struct
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

INTEGERS = (0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1)
CELLS = (
    *("", "nan", "inf", "-inf", "1e999", "1e-999", "0x10", "1_000", "1 000", "1,5", "٣", "½", "−1"),
    *("=1+1", "'=1", "@x", '"', '""', "'", "\\", "#", ";", "\t", "\r", "\n", "\x00", "\ufeff"),
    *("\ud7ff", "\u2028", "9" * 400, "a" * 3000, "<0.05", "NA", "True", "sample", "status", "s1"),
    *("!series_matrix_table_begin", "!series_matrix_table_end", "!Sample_geo_accession", "sep=;"),
)
NODES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**63, 10**12, 1e308, float("nan"), "", "x", "nan", "../x"),
    *([], {}, [[]], [None], {"x": 1}, {"array": 0}, {"kind": "Normal", "fields": {}}),
    *({"float": "nan"}, {"dict": {}}, {"tuple": []}, {"list": [1]}, "float64", "<U5", "O", 10**400),
)
SHAPES = ("()", "(0,)", "(1,)", "(16, 5)", "(10**12,)", "(1000000000000, 5)", "(-1, 5)", "(5, 16)",
          "(2, 0)", "(16, 5, 1)", "(3,)", "'x'", "None", "(4294967296, 4294967296)")  # fmt: skip
TYPES = ("<f8", ">f8", "<f4", "|O", "<U3", "|S4", "<i8", "|b1", "<c16", "|V8", "<M8[ns]", "<m8",
         "<U0", "[('a', '<f8')]", "|i1", "<f2")  # fmt: skip

Content = bytes
_HDF5 = b"\x89HDF\r\n\x1a\n"


def mutate(content: Content, other: Content, rng: Random) -> Content:
    """Change content in one to three ways; ``other`` is a further file, to splice with."""
    if content[:8] == _HDF5 and rng.random() < 0.4:
        return _hdf5(content, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = _once(content, other, rng)
    return content


def _once(content: Content, other: Content, rng: Random) -> Content:
    inner = rng.random() < 0.8
    if inner and content[:4] == b"PK\x03\x04":
        return _zipped(content, other, rng)
    if inner and (packing := _packing(content)) is not None:
        unpack, pack = packing
        try:
            return pack(_once(unpack(content), other, rng))
        except Exception:  # a mutation before this one has damaged it
            return _bytes(content, other, rng)
    if inner and content[:6] == b"\x93NUMPY":
        return _array(content, other, rng)
    if inner and content[:1] in b"{[" and rng.random() < 0.8:
        return _json(content, other, rng)
    if inner and _is_text(content):
        return _text(content, other, rng)
    return _bytes(content, other, rng)


def _packing(content: Content) -> tuple[Callable[..., bytes], Callable[..., bytes]] | None:
    if content[:2] == b"\x1f\x8b":
        return gzip.decompress, gzip.compress
    if content[:6] == b"\xfd7zXZ\x00":
        return lzma.decompress, lzma.compress
    if content[:3] == b"BZh":
        return bz2.decompress, bz2.compress
    if content[:4] == b"\x28\xb5\x2f\xfd":
        import zstandard

        return zstandard.ZstdDecompressor().decompress, zstandard.ZstdCompressor().compress
    return None


def _is_text(content: Content) -> bool:
    return b"\x00" not in content[:200] and sum(byte > 126 for byte in content[:200]) < 20


def _bytes(content: Content, other: Content, rng: Random) -> Content:
    """Change bytes regardless of format."""
    data = bytearray(content or b"x")
    size = len(data)
    # Formats have their indices at the start or at the end.
    place = rng.choice((rng.randrange(size), rng.randrange(min(size, 200)),
                        size - 1 - rng.randrange(min(size, 800))))  # fmt: skip
    length = rng.choice((1, 1, 2, 4, 8, 32, rng.randrange(1, size + 1)))
    kind = rng.randrange(9)
    if kind == 0:
        data[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[place] = rng.randrange(256)
    elif kind == 2:
        del data[place : place + length]
    elif kind == 3:
        data[place:place] = rng.randbytes(min(length, 64))
    elif kind == 4:
        data[place:place] = data[place : place + length]
    elif kind == 5:
        del data[place:]
    elif kind == 6:
        start = rng.randrange(len(other) or 1)
        data[place:] = other[start:]
    elif kind == 7:
        width, order = rng.choice((1, 2, 4, 8)), rng.choice("<>")
        number = rng.choice(INTEGERS) % 256**width
        data[place : place + width] = struct.pack(order + "xBHxIxxxQ"[width], number)
    else:
        data[place : place + length] = bytes(len(data[place : place + length]))
    return bytes(data)


def _text(content: Content, other: Content, rng: Random) -> Content:
    """Change cells, lines and separators."""
    kind = rng.randrange(8)
    lines = content.split(b"\n")
    n = rng.randrange(len(lines))
    token = rng.choice(CELLS).encode("utf-8")
    if kind <= 2:
        cells = re.split(rb"([,;\t ])", lines[n])
        cells[rng.randrange((len(cells) + 1) // 2) * 2] = token
        lines[n] = b"".join(cells)
    elif kind == 3:
        lines.insert(n, lines[rng.randrange(len(lines))])
    elif kind == 4:
        del lines[n]
    elif kind == 5:
        one, another = rng.sample([b",", b";", b"\t", b" ", b"\r", b'"', b"."], 2)
        return content.replace(one, another)
    elif kind == 6:
        lines[n] = lines[n] * rng.choice((2, 50)) if rng.random() < 0.5 else lines[n][::-1]
    else:
        place = rng.randrange(len(content) + 1)
        return content[:place] + token + content[place:]
    return b"\n".join(lines)


def _json(content: Content, other: Content, rng: Random) -> Content:
    """Change a node of a tree."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return _text(content, other, rng)
    if rng.random() < 0.03:
        return b"[" * 100_000
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    if isinstance(tree, dict | list):
        walk(tree)
    if not places:
        return json.dumps(rng.choice(NODES)).encode()
    node, key = rng.choice(places)
    kind = rng.randrange(4)
    if kind == 0:
        del node[key]
    elif kind == 1:
        from_where, what = rng.choice(places)
        node[key] = json.loads(json.dumps(from_where[what]))
    elif kind == 2 and isinstance(node, dict):
        node[rng.choice(("x", "kind", "array", "needs", str(key) + "_"))] = node.pop(key)
    else:
        node[key] = rng.choice(NODES)
    return json.dumps(tree).encode()


def _array(content: Content, other: Content, rng: Random) -> Content:
    """Change the shape or the type in the header of an array, or its values."""
    end = content.find(b"\n") + 1
    header = content[10:end].decode("latin-1")
    kind = rng.randrange(4)
    if kind == 0:
        header = re.sub(r"'shape': \([^)]*\)", f"'shape': {rng.choice(SHAPES)}", header)
    elif kind == 1:
        header = re.sub(r"'descr': '[^']*'", f"'descr': {rng.choice(TYPES)!r}", header)
    elif kind == 2:
        header = header.replace("False", "True")
    else:
        values = content[end:]
        return content[:end] + _bytes(values, other, rng) if values else content
    text = header.rstrip() + " " * 3 + "\n"
    return content[:8] + struct.pack("<H", len(text)) + text.encode("latin-1") + content[end:]


def _zipped(content: Content, other: Content, rng: Random) -> Content:
    """Change a member, drop it, rename it or write it twice."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {one: archive.read(one) for one in archive.namelist()}
    except Exception:  # a mutation before this one has damaged it
        return _bytes(content, other, rng)
    if not members:
        return _bytes(content, other, rng)
    name = rng.choice(list(members))
    kind = rng.randrange(12)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[rng.choice(("x.npy", "../x", "header.json", name + "_"))] = members.pop(name)
    elif kind == 2:
        members[name] = members[rng.choice(list(members))]
    else:
        members[name] = _once(members[name], other, rng)
    if "checksum.txt" in members and rng.random() < 0.9:
        members["checksum.txt"] = _checksum(members)
    out = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(out, "w", method) as archive:
        for one, inner in members.items():
            archive.writestr(one, inner)
    return out.getvalue()


def _checksum(members: dict[str, bytes]) -> bytes:
    """The checksum that an archive of ours has, as somebody who edits it would renew it."""
    digest = hashlib.sha256()
    for name, content in members.items():
        if name != "checksum.txt":
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return f"{digest.hexdigest()}\n".encode()


def _hdf5(content: Content, rng: Random) -> Content:
    """Change objects and attributes of a whole HDF5 file, which stays one."""
    import h5py
    import numpy as np

    buffer = io.BytesIO(content)
    strange = (np.float64(1), "x", np.arange(3), np.array([], "f8"), h5py.Empty("f8"), b"\xff",
               np.array([b"a", b"b"]), np.ones((2, 2), np.complex64), 10**9)  # fmt: skip
    with h5py.File(buffer, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        name = rng.choice(names)
        one = file[name]
        kind = rng.randrange(7)
        if kind == 0:
            del file[name]
        elif kind == 1 and len(one.attrs):
            key = rng.choice(list(one.attrs))
            words = ("array", "csr_matrix", "dataframe", "categorical", "null", "dict", "", "x")
            one.attrs[key] = rng.choice((*strange, *words))
        elif kind == 2 and len(one.attrs):
            del one.attrs[rng.choice(list(one.attrs))]
        elif kind == 3:
            del file[name]
            file[name] = rng.choice(strange)
        elif kind == 4:
            target = rng.choice(names)
            del file[name]
            file[name] = h5py.SoftLink(rng.choice(("/", f"/{target}", "/nowhere")))
        elif kind == 5:
            del file[name]
            shape = rng.choice(((10**12,), (10**6, 10**6), (1, 5), (16, 10**9)))
            file.create_dataset(name, shape, "f8", chunks=tuple(min(64, n) for n in shape))
        else:
            target = rng.choice(names)
            if not target.startswith(name) and not name.startswith(target):
                del file[name]
                file.copy(target, name)
    return buffer.getvalue()
