"""Check whether a folder of results belongs to a model: same data, same settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankfactor.cli.options import GIBBS
from rankfactor.errors import InputError

# Not compared: the seed of the splits is also the seed of the fits.
_NOT_COMPARED = {"model", "random_state", "n_factors_among"}


def parsed(file: Path, parse: Callable[[Path], Any], command: str) -> Any:
    """Read a file with a function; if that fails, advise to run the command again."""
    with well_formed(file, command):
        return parse(file)


@contextmanager
def well_formed(file: Path, command: str) -> Iterator[None]:
    """Read what a command wrote to a file, or to the files of a folder."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OSError) as problem:
        raise InputError(
            f"{file} cannot be read ({problem}): run the {command} again."
        ) from problem


def record_of(file: Path, command: str) -> dict[str, Any]:
    """The JSON object written by a command; empty if the file holds something else."""
    found = parsed(file, lambda file: json.loads(file.read_text("utf-8")), command)
    return found if isinstance(found, dict) else {}


_JSON = {dict: "object", list: "list"}


def hashes(files: Mapping[str, Path]) -> dict[str, str]:
    """Hashes of files, for the record that is written with them."""
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}


def check_files(folder: Path, record: Mapping[str, Any], command: str, *names: str) -> None:
    """Refuse files that are not those of the record: a run was killed as it replaced them.

    Records of earlier versions have no hashes.
    """
    for name, kind in (("files", dict), ("warnings", list)):
        if not isinstance(record.get(name, kind()), kind):
            raise InputError(
                f"{folder / 'result.json'} is damaged ({name!r} is no {_JSON[kind]}): run "
                f"`rankfactor {command}` again."
            )
    known = record.get("files", {})
    for name, found in hashes({name: folder / name for name in names}).items():
        if known.get(name, found) != found:
            raise InputError(
                f"{folder / name} does not belong to the result.json beside it, because a run "
                f"ended while it wrote them, or the file was edited: run `rankfactor {command}` "
                "again."
            )


def data_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    """Difference between the data of a model and of another run; None if there is none."""
    if set(ours["labels"]) != set(theirs["labels"]):
        return labels_differ(ours["labels"], theirs["labels"])
    if ours["samples_sha256"] != theirs["samples_sha256"]:
        return f"different samples ({theirs['n_samples']} there, {ours['n_samples']} in the model)"
    for task, own in ours["labels"].items():
        other = theirs["labels"][task]
        if own["sha256"] != other["sha256"]:
            there, here = (
                ", ".join(f"{count} {name}" for name, count in one["classes"].items())
                for one in (other, own)
            )
            return f"different labels {task!r} ({there} there, {here} in the model)"
    # Tables read chunk by chunk have different hashes (`rankfactor.data.fingerprint`).
    same = all(ours.get(name) == theirs[name] for name in theirs if name in ours and "sha" in name)
    if not same or ours["n_features"] != theirs["n_features"]:
        there, here = theirs["n_features"], ours["n_features"]
        how = "changed names or values" if there == here else f"{there} there, {here} in the model"
        return f"a different table, or different columns as features ({how})"
    return None


def labels_differ(ours: Iterable[str], theirs: Iterable[str]) -> str:
    """Names of the label columns on both sides, for a sentence."""
    here, there = (", ".join(map(repr, sorted(names))) or "none" for names in (ours, theirs))
    return f"different label columns ({there} there, {here} in the model)"


def setting_differences(
    header: Mapping[str, Any], record: Mapping[str, Any], what: str
) -> list[str]:
    """Settings that differ between a model file's header and another run's record, in words.

    ``what`` names the other run.
    """
    pairs = {"rankfactor": (header.get("library"), record.get("library"))}
    pairs = {name: pair for name, pair in pairs.items() if None not in pair}
    origin: Mapping[str, Any] = header.get("provenance", {})
    pairs |= _compared(origin.get("settings", {}), record.get("settings", {}))
    return [
        f"{name}: {in_words(own)} in the model, {in_words(other)} in the {what}"
        for name, (own, other) in pairs.items()
        if own != other
    ]


def _compared(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings of a model and of another run by name; none where one side is unknown."""
    if not (ours and theirs):
        return {}
    left_out = {*_NOT_COMPARED, *(GIBBS if ours.get("engine") != theirs.get("engine") else ())}
    pairs = {n: (ours.get(n), theirs.get(n)) for n in {**ours, **theirs} if n not in left_out}
    # Settings chosen from a list are compared by that list.
    among = ours.get("n_factors_among", ours.get("n_factors")), theirs.get("n_factors")
    own, other = (sorted(one) if isinstance(one, list) else one for one in among)
    return {**pairs, "n_factors": (own, other)}


def in_words(value: Any) -> str:
    """A setting as text for a sentence."""
    if isinstance(value, list):
        return "chosen among " + ", ".join(map(str, value))
    return "not set" if value is None else str(value)
