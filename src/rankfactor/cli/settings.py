"""From the options of a command to the arguments of an estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import note
from rankfactor.errors import AUTO, InputError, did_you_mean

# Options other than the estimator's arguments that have no meaning without labels.
_FOR_LABELS = ("groups", "positive", "drop_class")


def classifier_settings(
    options: Mapping[str, Any], tasks: Sequence[str], names: Iterable[str] = opt.ESTIMATOR
) -> dict[str, Any]:
    """Arguments of these names from the options, without the number of factors."""
    settings: dict[str, Any] = {}
    for name in names:
        if name == "n_factors" or name not in options:
            continue
        value = options[name]
        if name == "engine":
            value = _engine(options)
        elif name == "class_weight":
            value = _class_weight(value or (), tasks)
        elif name == "residual" and value != AUTO:
            value = str(value) == "yes"
        elif opt.ESTIMATOR[name][0].__metadata__[0].metavar == opt.AUTO and value != "auto":
            value = _number(value)
            if value is None:
                option = name.replace("_", "-")
                raise InputError(f"--{option} must be a number or auto, not {options[name]!r}.")
        settings[name] = str(value) if isinstance(value, str) else value
    return settings


def is_given(ctx: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    return getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"


def analysis_settings(ctx: typer.Context, *, divides: bool = False) -> dict[str, Any]:
    """Arguments of `RankFactorAnalysis` from the options, if none concerns labels.

    Groups are allowed for a command that ``divides`` the samples.
    """
    from rankfactor.estimators.analysis import PlainAnalysis
    from rankfactor.likelihoods import MarginRank
    from rankfactor.presets import PRESETS, code_of, full_name

    options = ctx.params
    known = [name for name in opt.ESTIMATOR if name in signature(PlainAnalysis).parameters]
    for name in (*_FOR_LABELS, *opt.ESTIMATOR):
        if name not in known and is_given(ctx, name) and not (divides and name == "groups"):
            raise InputError(
                f"--{name.replace('_', '-')} concerns labels, and there are none: add --labels, or "
                "leave it out."
            )
    if len(numbers_of_factors(options["n_factors"])) > 1:
        raise InputError(
            "--n-factors with several numbers chooses by predicting labels, and there are none: "
            "add --labels, or give one number."
        )
    model = code_of(options["model"])
    if is_given(ctx, "model"):
        note(f"without --labels, --model {full_name(model)} sets the likelihood of the data only.")
    settings = classifier_settings(options, (), known)
    data = PRESETS[model].data
    # The estimator may replace a likelihood that is not named.
    named = None if data == MarginRank.name else data
    return {**settings, "likelihood": options["likelihood"] or named}


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as stored in a model file and shown in a report."""
    told = {
        name: value
        for name, value in settings.items()
        if value is not None
        # The model file already has the names of blocks; the others do not affect the result.
        and name not in ("blocks", opt.CHECKPOINT, "memory", "scratch")
        and (name != "covariate_use" or settings.get("covariates"))
    }
    engine = told.get("engine", "")
    if not isinstance(engine, str):
        sampling = {name: getattr(engine, name, None) for name in opt.GIBBS}
        told |= {"engine": "gibbs"} | {
            k: value for k, value in sampling.items() if value is not None
        }
    return told


def numbers_of_factors(text: str) -> list[Any]:
    """Numbers of an option such as ``5,10,20``, or "auto" alone."""
    if text.strip() == AUTO:
        return [AUTO]
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise InputError(
            "--n-factors must be whole numbers of at least 1, such as 20 or 5,10,20, or auto, not "
            f"{text!r}."
        )
    return list(dict.fromkeys(numbers))


def names_of(text: str) -> list[str]:
    """Names of an option such as ``R-L-BSVM,L-SVM``."""
    return [part.strip() for part in text.split(",") if part.strip()]


def class_of_task(option: str, text: str, tasks: Sequence[str], rest: str = "") -> tuple[str, str]:
    """Task and class of ``[TASK:]CLASS``; the task is required if there are several."""
    # A class name may contain a colon, so the part before it must be a task.
    task, colon, label = text.partition(":")
    if colon and task in tasks:
        return task, label
    if len(tasks) > 1:
        raise InputError(
            f"{option} {text} does not name a task: write TASK:CLASS{rest} with one of "
            f"{', '.join(tasks)}.{did_you_mean(task, tasks) if colon else ''}"
        )
    return tasks[0], text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _class_weight(given: Sequence[str], tasks: Sequence[str]) -> Any:
    """None, "balanced", or weights by class, per task if there are several."""
    if "balanced" in given:
        if len(given) > 1:
            raise InputError("--class-weight takes either balanced or weights, not both.")
        return "balanced"
    weights: dict[str, dict[str, float]] = {}
    for text in given:
        place, _, number = text.rpartition("=")
        task, label = class_of_task("--class-weight", place, tasks, "=WEIGHT")
        weight = _number(number)
        if not label or weight is None or not 0 < weight < float("inf"):
            raise InputError(
                f"--class-weight must be balanced or CLASS=WEIGHT with a positive weight, "
                f"not {text!r}."
            )
        weights.setdefault(task, {})[label] = weight
    return (weights if len(tasks) > 1 else weights[tasks[0]]) if weights else None


def _engine(options: Mapping[str, Any]) -> Any:
    given = {name: options[name] for name in opt.GIBBS if options.get(name) is not None}
    if given.pop(opt.UNTIL_CONVERGED, False):
        given.setdefault("target_ess", opt.TARGET_ESS)
    if options["engine"] == "gibbs":
        from rankfactor.engine.chain import Gibbs

        return Gibbs(**given)
    for name in given:
        option = name.replace("_", "-")
        raise InputError(f"--{option} is for Gibbs sampling: add --engine gibbs.")
    return "vb"
