"""Gene sets from GMT files, and their names matched to features.

A line of a GMT file has the name of a set, a description, and its members, separated by tabs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from rankfactor.data.opening import read_as_text
from rankfactor.errors import InputError

Sets = Mapping[str, frozenset[str]]


def read_gmt(path: str | Path) -> dict[str, frozenset[str]]:
    """Read gene sets from a GMT file, plain or compressed.

    Returns
    -------
    dict from str to frozenset of str
        Members by the name of their set, in the order of the file.

    Raises
    ------
    InputError
        If the file cannot be read, a line is malformed, or a name occurs twice.
    """
    path = Path(path)

    def read(file: IO[str]) -> dict[str, frozenset[str]]:
        sets: dict[str, frozenset[str]] = {}
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            name, *rest = (part.strip() for part in line.rstrip("\r\n").split("\t"))
            if not name or not rest:
                raise InputError(
                    f"{path}, line {number} is not a gene set: a GMT line has a name, a "
                    "description and the members, separated by tabs."
                )
            if name in sets:
                raise InputError(
                    f"{path}, line {number} has a second set {name!r}: give every set a name of "
                    "its own."
                )
            sets[name] = frozenset(part for part in rest[1:] if part)
        return sets

    sets = read_as_text(path, read)
    if not any(sets.values()):
        raise InputError(f"{path} has no gene set with members: is it a GMT file?")
    return sets


def matched(
    sets: Sets, background: Iterable[str], *, ignore_case: bool, min_size: int, max_size: int
) -> dict[str, frozenset[str]]:
    """Sets restricted to the background, in its spelling; sets outside the size range are dropped.

    Parameters
    ----------
    sets : mapping from str to set of str
    background : iterable of str
        Unique names of all features that could have been found.
    ignore_case : bool
        Whether "Gapdh" matches "GAPDH".
    min_size, max_size : int
        Smallest and largest number of members in the background.
    """
    if not 1 <= min_size <= max_size:
        raise InputError(f"min_size ({min_size}) must be at least 1 and at most max_size.")
    names = list(background)
    key = str.casefold if ignore_case else str
    spelling: dict[str, str] = {}  # names of the background by their compared form
    for name in names:
        other = spelling.setdefault(key(name), name)
        if other != name:
            raise InputError(
                f"the background has both {other!r} and {name!r}, which are the same when case is "
                "ignored: leave ignore_case out, or rename one."
            )
    members = {one for group in sets.values() for one in group}
    folded = {one.casefold() for one in members}
    exact = sum(name in members for name in names)
    loose = sum(name.casefold() in folded for name in names)
    if not ignore_case and loose > 2 * exact:
        told = (
            f"{exact} of the {len(names)} names of the background are in a gene set, but {loose} "
            "when case is ignored: set ignore_case (--ignore-case)."
        )
        if exact == 0:
            raise InputError(told)
        warnings.warn(told, UserWarning, stacklevel=3)
    if loose == 0:
        raise InputError(
            f"none of the {len(names)} names of the background ({_some(names)}) is in a gene set "
            f"({_some(sorted(members))}): use sets with the same kind of names."
        )
    result = {}
    for name, group in sets.items():
        found = frozenset(spelling[key(one)] for one in group if key(one) in spelling)
        if min_size <= len(found) <= max_size:
            result[name] = found
    if not result:
        raise InputError(
            f"no gene set has {min_size} to {max_size} of the {len(names)} names of the "
            "background: change min_size or max_size."
        )
    return result


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
