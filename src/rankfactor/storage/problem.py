"""Problems: what two runs must have in common to resume from files on disk."""

from __future__ import annotations

from typing import Any

from rankfactor.errors import InputError

# Names of the entries of a problem in messages.
_WORDS = {
    "library": "the version of rankfactor",
    "seed": "random_state",
    "table": "the table",
    "labels": "the labels or their weights",
    "groups": "the groups",
    "blocks": "the blocks",
}
_PLURAL = ("labels", "groups", "blocks")
_HASHED = ("seed", "table", *_PLURAL)  # hashes, not shown in messages


def check_same(place: str, choose: str, old: Any, new: dict[str, Any]) -> None:
    """Refuse a place on disk that belongs to another problem; both are plain values.

    The message calls it ``place``, such as "the folder a contains a checkpoint", and advises to
    ``choose`` another "folder" or "path".
    """
    found = _difference(old, new)
    if found is not None:
        raise InputError(
            f"{place} of another problem ({found}): choose another {choose}, or remove it."
        )


def _difference(old: Any, new: Any, name: str = "") -> str | None:
    """The first entry in which two problems differ, in words; None if they are the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*new, *(key for key in old if key not in new)):
            inner = key if name in ("", "model") else f"{key} of {name}"
            found = _difference(old.get(key), new.get(key), inner)
            if found is not None:
                return found
        return None
    if old == new:
        return None
    word = _WORDS.get(name, name)
    if name in _HASHED or isinstance(old, dict) or isinstance(new, dict):
        return f"{word} {'differ' if name in _PLURAL else 'differs'}"
    return f"{word} is {old!r} there and {new!r} here"
