"""Files of arrays: nested dataclasses in a zip of ``.npy`` members and a JSON tree, without pickle.

The tree says what the arrays are and can name only the classes of `kinds`, so reading a file runs
no code of the file's. A file is written beside its place and renamed.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.chain import Moments
from rankfactor.errors import InputError
from rankfactor.latent import Latent, Mixture
from rankfactor.laws.beta import Beta, Share
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point
from rankfactor.likelihoods import DataLikelihood, NoParameters
from rankfactor.model import ViewState
from rankfactor.shrinkage import Shrinkage
from rankfactor.storage.files import written_together

FORMAT = "rankfactor checkpoint 3"
_TREE = "tree.json"


def _kind_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def kinds() -> dict[str, Any]:
    """Every class that the state of a chain may be made of, by its full name."""
    own = (Normal, Gamma, Beta, Point, Share, Moments, ViewState, NoParameters, Mixture)
    parts = (
        *Latent.members.values(),
        *(one.scales for one in Shrinkage.members.values()),
        *(one.parameters for one in DataLikelihood.members.values()),
    )
    return {_kind_name(kind): kind for kind in (*own, *parts)}


def flatten(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """JSON tree of a value; its arrays are appended to ``arrays`` and referred to by number."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {"dict": {str(key): flatten(one, arrays) for key, one in value.items()}}
    if isinstance(value, tuple):
        return {"tuple": [flatten(one, arrays) for one in value]}
    name = _kind_name(type(value))
    if name not in kinds():
        raise InputError(
            f"a chain with {type(value).__name__} in its state cannot be written to a checkpoint: "
            "let the part that it belongs to name its class (`scales`, `parameters`), or leave "
            "checkpoint out."
        )
    assert is_dataclass(value)
    parts = {field.name: flatten(getattr(value, field.name), arrays) for field in fields(value)}
    return {"kind": name, "fields": parts}


def unflatten(tree: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """The value that `flatten` took apart; KeyError, TypeError or ValueError if there is none."""
    if not isinstance(tree, dict):
        return tree
    if "kind" in tree:
        parts = {name: unflatten(one, arrays) for name, one in tree["fields"].items()}
        return kinds()[tree["kind"]](**parts)
    ((form, content),) = tree.items()
    if form == "array":
        return arrays[content]
    if form == "tuple":
        return tuple(unflatten(one, arrays) for one in content)
    if form == "dict":
        return {key: unflatten(one, arrays) for key, one in content.items()}
    raise ValueError(f"unknown entry {form!r}")


def write(path: Path, value: Any) -> None:
    """Write a value to a zip of arrays with a JSON tree."""
    arrays: list[NDArray[Any]] = []
    tree = json.dumps({"format": FORMAT, "tree": flatten(value, arrays)})
    # Draws do not compress, so nothing is.
    with (
        written_together(path) as (part,),
        zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(_TREE, tree)
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read(path: Path) -> Any:
    """The value of a file of `write`; InputError if it is damaged or foreign."""
    try:
        with zipfile.ZipFile(path) as archive:
            whole = json.loads(archive.read(_TREE))
            if not isinstance(whole, dict) or whole.get("format") != FORMAT:
                raise ValueError("another format")
            arrays = [
                np.lib.format.read_array(
                    io.BytesIO(archive.read(f"{number}.npy")), allow_pickle=False
                )
                for number in range(len(archive.namelist()) - 1)
            ]
        return unflatten(whole["tree"], arrays)
    except (zipfile.BadZipFile, LookupError, TypeError, ValueError, EOFError, OSError) as problem:
        raise damaged(path, problem) from problem


def damaged(path: Path, problem: object) -> InputError:
    """What to say of a file that cannot be used."""
    return InputError(
        f"{path} is no rankfactor checkpoint, or is damaged ({problem}): remove the folder "
        f"{path.parent}, or choose another."
    )
