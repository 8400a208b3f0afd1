"""Folder of a cross-validation, checked against the model of the report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rankfactor.cli.belonging import (
    check_files,
    data_difference,
    in_words,
    labels_differ,
    parsed,
    record_of,
    setting_differences,
    well_formed,
)
from rankfactor.cli.console import in_options
from rankfactor.errors import InputError
from rankfactor.storage.spreadsheet import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.posterior import Posterior
    from rankfactor.report import Validation

_READ = ("summary.csv", "predictions.csv")


class Folder(NamedTuple):
    """Content of a folder of `rankfactor cv`: the model's own rows first, and its record."""

    path: Path
    summary: pd.DataFrame
    decisions: pd.DataFrame
    record: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """Warnings of the folds, without that of Ctrl-C, which is a flaw of the whole run."""
        given = [str(text) for text in self.record.get("warnings", ())]
        return [one for one in given if not one.startswith("interrupted:")]


def read_folder(path: Path, model: Path, name: str | None) -> Folder:
    """Read a folder with results of a model, under the model's name there."""
    frames = []
    for part in _READ:
        file = path / part
        if not file.is_file():
            raise InputError(f"{path} has no {part}: give the folder that `rankfactor cv` wrote.")
        names = ("task", "model", "label", "sample", "positive", "predicted")
        text = dict.fromkeys(names, str)
        frames.append(parsed(file, partial(frame_of, dtype=text), "cv"))
        if not {"task", "model"} <= set(frames[-1].columns):
            raise InputError(f"{file} is not a table of `rankfactor cv`.")
    if name is None or name not in set(frames[0]["model"]):
        raise InputError(
            f"{path} has no results of {name or 'the model'} of {model}: run `rankfactor cv` "
            f"with --models {name or 'NAME'} among them, or leave --cv out."
        )
    # The report takes the first rows of a task as those of its own model.
    summary, decisions = (
        frame.iloc[(frame["model"] != name).to_numpy().argsort(kind="stable")] for frame in frames
    )
    file = path / "result.json"
    record = record_of(file, "cv") if file.exists() else {}
    check_files(path, record, "cv", *_READ)
    return Folder(path, summary, decisions, record)


def check_folder(
    folder: Folder, model: Path, posterior: Posterior, header: Mapping[str, Any]
) -> Validation:
    """Origin and limits of the numbers, if they belong to the model."""
    with well_formed(folder.path / "result.json", "cv"):
        return _checked(folder, model, posterior, header)


def _checked(
    folder: Folder, model: Path, posterior: Posterior, header: Mapping[str, Any]
) -> Validation:
    from rankfactor.report import Validation

    origin, record = header.get("provenance", {}), folder.record
    ours, theirs = origin.get("data", {}), record.get("data", {})
    known = bool(ours and theirs)
    found = data_difference(ours, theirs) if known else _visible_difference(posterior, folder)
    if found is not None:
        raise InputError(
            f"the cross-validation in {folder.path} does not belong to {model}: {found}; run "
            "`rankfactor cv` on the table and labels of the model, or leave --cv out."
        )
    flaws = []
    if not known:
        flaws.append(
            "Whether this cross-validation used the model's table could not be checked: "
            f"{folder.path if ours else model} was written by an older version. Only label "
            "columns, samples and labels were compared."
        )
    settings: dict[str, Any] = {**record.get("settings", {})}
    differing = setting_differences(header, record, "cross-validation")
    if differing:
        flaws.append(
            "The cross-validation used other settings than this model, so its numbers describe "
            f"another model: {in_options('; '.join(differing))}."
        )
    if not record.get("complete", True):
        flaws.append(
            f"The cross-validation was interrupted: {_done(record)}. Its numbers are of these "
            "folds alone."
        )
    return Validation(_sentence(record, folder), settings, tuple(flaws))


def _visible_difference(posterior: Posterior, folder: Folder) -> str | None:
    """The same from the predictions, for files without hashes."""
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    named = set(folder.decisions["task"])
    if {task.name for task in tasks} != named:
        return labels_differ([task.name for task in tasks], named)
    samples = posterior.sample_names.tolist()
    if not samples or posterior.classifiers is None:
        return None
    count = folder.record.get("n_samples", len(samples))
    rows = folder.decisions[["task", "sample", "label"]].drop_duplicates()
    if count != len(samples) or not set(rows["sample"]) <= set(samples):
        return f"different samples ({count} there, {len(samples)} in the model)"
    known = {
        (task.name, sample, str(task.classes[number]))
        for task, class_index in zip(tasks, posterior.classifiers.class_index.T, strict=True)
        for sample, number in zip(samples, class_index, strict=True)
        if number >= 0
    }
    for one in rows.itertuples(index=False, name=None):
        if one not in known:
            return f"different labels {one[0]!r} (sample {one[1]!r} is {one[2]!r} there)"
    return None


def _done(record: Mapping[str, Any]) -> str:
    if "folds_done" not in record:
        return "some folds are missing"
    return f"{record['folds_done']} of {record['folds_planned']} folds done"


def _sentence(record: Mapping[str, Any], folder: Folder) -> str:
    """Table, samples, folds and repeats of a cross-validation."""
    said = f"Cross-validation of {record.get('table', folder.path)}"
    if "n_samples" not in record:
        return f"{said}."
    repeats = f" × {record['n_repeats']} repeats" if record["n_repeats"] > 1 else ""
    factors, seed = (record.get("settings", {}).get(n) for n in ("n_factors", "random_state"))
    parts = {
        f"{record['n_samples']} samples": True,
        f"{record['n_folds']} folds{repeats}": True,
        "groups kept together": record.get("grouped"),
        _done(record): not record.get("complete", True),
        f"factors: {in_words(factors)}": factors is not None,
        f"seed {seed}": seed is not None,
    }
    return f"{said}: {', '.join(part for part, is_so in parts.items() if is_so)}."
