"""Whether a value from a file has the form of one that was just made.

A checkpoint is resumed by the fit that wrote it, which has a value of the same form before it reads
the file: `check_form` compares the two, since compiled code does not look whether an index leads
out of an array.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def check_form(found: Any, like: Any, name: str, n_samples: int) -> None:
    """Raise ValueError if a value differs from ``like`` in its classes, shapes or types.

    Latent values of entries may be there for all samples or not at all. Of two classes that a
    field may have, as a law or a point, only the shapes are compared. Numbers must be finite where
    those of ``like`` are, and numbers of cuts no larger.
    """
    if isinstance(like, dict):
        _check(isinstance(found, dict) and found.keys() == like.keys(), name)
        for key, one in like.items():
            check_form(found[key], one, f"{name}.{key}", n_samples)
    elif isinstance(like, tuple | list):
        _check(isinstance(found, tuple | list) and len(found) == len(like), name)
        for number, (one, other) in enumerate(zip(found, like, strict=True)):
            check_form(one, other, f"{name}.{number}", n_samples)
    elif is_dataclass(like):
        _check(is_dataclass(found), name)
        if type(found) is type(like):
            for field in fields(like):
                part = field.name
                check_form(getattr(found, part), getattr(like, part), f"{name}.{part}", n_samples)
        else:
            known = {one.shape for one in _arrays(like)}
            _check(all(one.shape in known for one in _arrays(found)), name)
    elif isinstance(like, np.ndarray | np.generic):
        _check(isinstance(found, np.ndarray | np.generic), name)
        _check(found.dtype.kind == like.dtype.kind, name)
        if name.endswith(".latent"):
            _check(found.shape in ((*like.shape[:1], 0), (*like.shape[:1], n_samples)), name)
        else:
            _check_array(found, like, name)
    else:
        if np.ndim(found) == 0 and isinstance(found, np.ndarray | np.generic):
            found = found.item()  # numbers of a tuple are written as arrays
        same = type(found) is type(like) or {type(found), type(like)} <= {int, float}
        _check(same, name)


def _check_array(found: Any, like: Any, name: str) -> None:
    _check(found.shape == like.shape, name)
    if found.dtype.kind == "f" and np.isfinite(like).all():
        _check(bool(np.isfinite(found).all()), name)
    if name.endswith("n_cuts"):
        _check(bool(((found >= 0) & (found <= like.max(initial=0))).all()), name)


def _arrays(value: Any) -> list[Any]:
    """All arrays that are fields of a value."""
    every = [getattr(value, field.name) for field in fields(value)]
    return [one for one in every if isinstance(one, np.ndarray)]


def _check(holds: bool, name: str) -> None:
    if not holds:
        raise ValueError(f"{name} is not what this fit has there")
