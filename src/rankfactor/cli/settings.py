"""From the options of a command to the arguments of `RankFactorClassifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from rankfactor.cli.console import note
from rankfactor.errors import InputError, did_you_mean

# Options that are arguments of the estimator as they stand.
_AS_GIVEN = (
    "training",
    "max_cuts",
    "likelihood",
    "classifier",
    "shrinkage",
    "experts",
    "n_components",
    "calibration",
    "max_iter",
    "tol",
    "n_restarts",
    "covariate_use",
)
# Options that mean nothing without labels.
_FOR_LABELS = (
    "groups",
    "training",
    "label_weight",
    "class_weight",
    "classifier",
    "experts",
    "n_components",
    "calibration",
    "positive",
    "drop_class",
)
_GIBBS = ("n_draws", "burn_in", "thin", "n_chains", "n_predict", "checkpoint")


def classifier_settings(options: Mapping[str, Any], tasks: Sequence[str]) -> dict[str, Any]:
    """Arguments of `RankFactorClassifier` that the options of a command ask for.

    Parameters
    ----------
    options : mapping
        Values of the options by name, as the context of a command has them.
    tasks : sequence of str
        Names of the label columns.

    Raises
    ------
    InputError
        For a value that is no setting, naming the option.
    """
    settings = {name: _text(options[name]) for name in _AS_GIVEN}
    for name in ("margin", "label_weight"):
        settings[name] = _number_or_auto(f"--{name.replace('_', '-')}", options[name])
    settings["class_weight"] = _class_weight(options["class_weight"] or (), tasks)
    settings["engine"] = _engine(options)
    return settings


def analysis_settings(ctx: typer.Context) -> dict[str, Any]:
    """Arguments of `RankFactorAnalysis` that the options of ``fit`` ask for, without labels.

    Raises
    ------
    InputError
        For an option that concerns labels.
    """
    from rankfactor.estimators import PRESETS

    options = ctx.params
    for name in _FOR_LABELS:
        if _is_given(ctx, name):
            raise InputError(
                f"--{name.replace('_', '-')} concerns labels, and there are none: add --labels, or "
                "leave it out."
            )
    if len(numbers_of_factors(options["n_factors"])) > 1:
        raise InputError(
            "--n-factors with several numbers chooses by predicting labels, and there are none: "
            "add --labels, or give one number."
        )
    model = options["model"]
    if model not in PRESETS:
        raise InputError(f"--model must be one of {', '.join(PRESETS)}, not {model!r}.")
    likelihood = options["likelihood"] or PRESETS[model].data
    if _is_given(ctx, "model"):
        note(f"without --labels, --model {model} sets the likelihood of the data only.")
    settings = {name: _text(options[name]) for name in _AS_GIVEN if name not in _FOR_LABELS}
    return {
        **settings,
        "likelihood": likelihood,
        "margin": _number_or_auto("--margin", options["margin"]),
        "engine": _engine(options),
    }


def _is_given(ctx: typer.Context, name: str) -> bool:
    """Whether an option was written on the command line."""
    return getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a model file and a report tell them."""
    told = {
        name: value
        for name, value in settings.items()
        if value is not None
        and name != "views"  # one name a feature: the model file has them
        and (name != "covariate_use" or settings.get("covariates"))
    }
    engine = told.get("engine")
    if engine is not None and not isinstance(engine, str):
        told |= {"engine": "gibbs", **{name: getattr(engine, name) for name in _GIBBS[:-1]}}
    return told


def numbers_of_factors(text: str) -> list[int]:
    """Numbers of an option such as ``5,10,20``."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise InputError(
            f"--n-factors must be whole numbers of at least 1, such as 20 or 5,10,20, not {text!r}."
        )
    return list(dict.fromkeys(numbers))


def names_of(text: str) -> list[str]:
    """Names of an option such as ``R-L-BSVM,L-SVM``."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _text(value: Any) -> Any:
    """Value of a choice as the library has it."""
    return str(value) if isinstance(value, str) else value


def _number_or_auto(option: str, text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option} must be a number or auto, not {text!r}.") from None


def class_of_task(option: str, text: str, tasks: Sequence[str], rest: str = "") -> tuple[str, str]:
    """Task and class of ``[TASK:]CLASS``; a task has to be named where there are several."""
    # A class may have a colon in its name, so a task counts only if there is such a one.
    task, colon, label = text.partition(":")
    if colon and task in tasks:
        return task, label
    if len(tasks) > 1:
        raise InputError(
            f"{option} {text} names no task: write TASK:CLASS{rest} with one of "
            f"{', '.join(tasks)}.{did_you_mean(task, tasks) if colon else ''}"
        )
    return tasks[0], text


def _class_weight(given: Sequence[str], tasks: Sequence[str]) -> Any:
    """None, "balanced", or weights by class, of every task where there are several."""
    if not given:
        return None
    if "balanced" in given:
        if len(given) > 1:
            raise InputError("--class-weight balanced leaves no room for weights: give one.")
        return "balanced"
    weights: dict[str, dict[str, float]] = {}
    for text in given:
        place, equals, number = text.rpartition("=")
        task, label = class_of_task("--class-weight", place, tasks, "=WEIGHT")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not (equals and label and 0 < weight < float("inf")):
            raise InputError(
                f"--class-weight must be balanced or CLASS=WEIGHT with a positive weight, "
                f"not {text!r}."
            )
        weights.setdefault(task, {})[label] = weight
    return weights if len(tasks) > 1 else weights[tasks[0]]


def _engine(options: Mapping[str, Any]) -> Any:
    given = {name: options[name] for name in _GIBBS if options.get(name) is not None}
    if str(options["engine"]) == "gibbs":
        from rankfactor.engine.chain import Gibbs

        return Gibbs(**given)
    if given:
        option = next(iter(given)).replace("_", "-")
        raise InputError(f"--{option} is for Gibbs sampling: add --engine gibbs.")
    return "vb"
