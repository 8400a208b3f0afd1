"""Options of the commands; those of the estimator are derived from its docstring.

`command` makes options from a function's signature and the help of every argument.

`RankFactorClassifier` and `Gibbs` document their arguments in numpydoc style: ``name : type,
default value``, then sentences. The type and the default define the option, and the first sentence
is its help. The source is parsed, not imported, so that ``--help`` answers at once. A new argument
becomes a new option; exceptions from the documentation are in `_DIFFERENT`, and arguments without
an option in `_EXCLUDED`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from copy import copy
from enum import StrEnum
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, cast

import typer

_MODEL, _GIBBS = "Model", "Gibbs sampling (with --engine gibbs)"
_PLACE, _CLASS = "COLUMN|FILE:COLUMN", "[TASK:]CLASS"
AUTO = "NUMBER|auto"
# Type and default by name; the type carries the help of the option, unless `_SHARED` has it.
Options = dict[str, tuple[Any, Any]]


def choice(*values: str) -> type[StrEnum]:
    """Allowed values of an option."""
    names = {value.replace("-", "_").upper(): value for value in values}
    return cast(type[StrEnum], StrEnum("Choice", names))


def option(kind: Any, told: Any, *names: str, default: Any, **settings: Any) -> tuple[Any, Any]:
    """Type and default of an option; a string is its help; the default None is shown as none."""
    info = typer.Option(*names, help=told, **settings) if isinstance(told, str) else copy(told)
    if default is None:
        kind = kind | None
        info.show_default = "none" if info.show_default is True else info.show_default
    return Annotated[kind, info], default


LABELS = "Label column, in the table or in another file; repeat for every task."
# Help of arguments that several commands share.
_SHARED = {
    "table": typer.Argument(
        help="Table of samples x features: .csv, .tsv or .txt (also .gz, .xz, .zst), .parquet "
        "(or a folder of parts), .xlsx, .npz, .npy, .zarr, .h5ad, .h5mu or a GEO series matrix."
    ),
    "model": typer.Argument(help="Model file written by `rankfactor fit`."),
    "labels": typer.Option(metavar=_PLACE, help=LABELS),
    "groups": typer.Option(
        metavar=_PLACE,
        help="Column of groups, such as patients; samples of a group stay in the same split.",
    ),
    "covariates": typer.Option(
        metavar=_PLACE,
        help="Column that is not a feature, such as age, sex or batch; may be repeated.",
    ),
    "drop_class": typer.Option(
        metavar=_CLASS,
        help="Class to leave out: its samples have no label of the task, and are left out if they "
        "have no other label; may be repeated.",
    ),
    "positive": typer.Option(
        metavar=_CLASS,
        help="Positive class of two, for decisions, coefficients and ROC; repeat for every task.",
        show_default="the later in alphabetical order",
    ),
    "n_factors": typer.Option(min=1, help="Maximum number of factors; unneeded ones switch off."),
    "random_state": typer.Option(
        "--random-state", "--seed", min=0, help="Seed of everything random."
    ),
    "n_threads": typer.Option(
        *("--n-threads", "--threads"),
        min=1,
        help="Cores to use; results do not depend on it.",
        show_default="all",
    ),
    "n_jobs": typer.Option(help="Parallel fits, -1 for all cores; results do not depend on it."),
    "force": typer.Option(
        "--force", help="Replace files that exist even if rankfactor did not write them."
    ),
    "as_json": typer.Option("--json", help="Print the result as JSON."),
}
_reading = partial(option, default=None, rich_help_panel="Reading")
READING: Options = {
    "id_column": _reading(str, "Column of the sample names.", show_default="the first"),
    "orient": _reading(
        choice("samples-in-rows", "features-in-rows"),
        "Orientation of the table.",
        show_default="detected",
    ),
    "exclude": _reading(
        list[str],
        "Feature, column or sample to leave out, by name or by a pattern such as 'QC_*'; may be "
        "repeated.",
        metavar="NAME|PATTERN",
    ),
    "layer": _reading(str, "Layer of an .h5ad file to use as the table.", show_default="X"),
    "sheet": _reading(str, "Sheet of an Excel file.", show_default="the first"),
}

# Arguments without an option, or with an option defined elsewhere.
_EXCLUDED = {
    *(
        "model",
        "blocks",
        "views",
        "covariates",
        "missing_features",
        "random_state",
        "n_threads",
        "progress",
    ),
    *("memory", "scratch", "block", "checkpoint_every", "store", "align"),
}
# These come first in the help, in this order.
_FIRST = (
    "covariate_use", "n_factors", "training", "residual", "label_weight", "class_weight", "margin",
    "max_cuts", "likelihood", "classifier", "shrinkage",
)  # fmt: skip
_DIFFERENT: dict[str, dict[str, Any]] = {
    "covariate_use": {
        "kind": choice("regress", "block", "view"),  # view is the former name of block
        "rich_help_panel": None,
        "help": "regress: removed from every feature on the rank scale; block: features in a "
        "separate block.",
    },
    "n_factors": {
        "kind": str,
        "min": None,
        "metavar": "NUMBER[,NUMBER...]|auto",
        "show_default": "20; auto without --labels",
        "help": "Maximum number of factors; unneeded ones switch off. Several numbers: choose by "
        "cross-validation within the training samples; auto: by parallel analysis of the ranks.",
    },
    "training": {
        "help": "label-free: factors of the table alone; bayes: of table and labels jointly; "
        "predictive: factors trained to predict; auto: by the size of the table."
    },
    "residual": {
        "kind": choice("auto", "yes", "no"),
        "help": "Whether decisions also use the residual of each feature that the factors do not "
        "explain; auto: after label-free training.",
    },
    "class_weight": {
        "kind": list[str],
        "show_default": "1 each",
        "metavar": "balanced|[TASK:]CLASS=WEIGHT",
        "help": "Weight of a class; repeat for every class.",
    },
    "margin": {
        "help": "Margin of the rank likelihood; a larger one keeps more and weaker factors; auto: "
        "0.05, larger with few features."
    },
    "likelihood": {
        "show_default": "the model's",
        "help": "Data likelihood instead of the model's, such as ordinal_probit.",
    },
    "classifier": {
        "show_default": "the model's",
        "help": "Classifier instead of the model's: hinge or probit.",
    },
    "engine": {
        "kind": choice("vb", "gibbs"),
        "help": "Variational Bayes, or Gibbs sampling, which also provides intervals.",
    },
    "n_draws": {"min": 2},
    "target_ess": {
        "kind": float,
        "min": 1.0,
        "show_default": "off",
        "help": "Continue until the decision function has this many effective draws.",
    },
    "max_minutes": {
        "help": "Time limit for --until-converged and --target-ess.",
    },
    "burn_in": {"min": 0},
    "checkpoint": {
        "kind": Path,
        "help": "Folder for checkpoints during the fit; resumed from by the same command.",
    },
}


def _documented(file: str, name: str) -> dict[str, tuple[str, str]]:
    """Type and first sentence of every argument of a class, from its docstring."""
    source = files("rankfactor").joinpath(file).read_text("utf-8")
    found = re.search(rf'^class {name}\b.*?"""(.*?)"""', source, re.MULTILINE | re.DOTALL)
    assert found is not None
    section = re.split(r"(?:Parameters|Attributes)\n-+\n", inspect.cleandoc(found[1]))[1]
    arguments = {}
    for names, kind, text in re.findall(r"(?m)^(\S.*?) : (.+)\n((?: {4}.+\n?)+)", section):
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
        for one in names.split(", "):
            arguments[one] = kind, re.sub(r'["`]| \(docs/[^)]*\)', "", sentence)
    return arguments


def _derived(name: str, words: str, sentence: str, panel: str) -> tuple[Any, Any]:
    """Option and default of an argument, by its type and first sentence."""
    kind, _, written = words.partition(", default ")
    default: Any = ast.literal_eval(written) if written else None
    settings: dict[str, Any] = {"kind": str, "help": sentence, "rich_help_panel": panel}
    choices = re.findall(r'"([^"]+)"', kind)
    if kind.endswith("}"):
        settings["kind"] = choice(*choices)
    elif kind.startswith("{"):  # or an object: the library validates the name
        settings["help"] = f"{sentence.rstrip('.')}: {', '.join(choices[:-1])} or {choices[-1]}."
    elif kind in ("int", "float"):
        settings |= {"kind": int, "min": 1} if kind == "int" else {"kind": float, "min": 0.0}
    elif kind == 'float or "auto"':
        settings["metavar"] = AUTO
    settings |= _DIFFERENT.get(name, {})
    if panel == _GIBBS:  # None shows that the option was not given
        settings, default = {"show_default": str(default).lower(), **settings}, None
    kind_of = settings.pop("kind")
    if default is not None and kind_of not in (int, float):
        default = kind_of(default)
    told, names = settings.pop("help"), "--" + name.replace("_", "-")
    return option(kind_of, told, names, default=default, **settings)


def _options_of(documented: dict[str, tuple[str, str]], panel: str) -> Options:
    """Options for the arguments of a class."""
    found = {key: one for key, one in documented.items() if key not in _EXCLUDED}
    ordered = dict.fromkeys([*(key for key in _FIRST if key in found), *found])
    return {key: _derived(key, *found[key], panel) for key in ordered}


_CLASSIFIER = _documented("estimators/classifier.py", "PlainClassifier")
ESTIMATOR = _options_of(_CLASSIFIER, _MODEL)
UNTIL_CONVERGED, TARGET_ESS, CHECKPOINT = "until_converged", 400.0, "checkpoint"
GIBBS = {
    UNTIL_CONVERGED: option(
        bool,
        f"Continue until the decision function has {TARGET_ESS:.0f} effective draws and R-hat is "
        "at most --target-r-hat.",
        "--until-converged",
        default=None,
        show_default="off",
        rich_help_panel=_GIBBS,
    ),
    **_options_of(_documented("engine/chain.py", "Gibbs"), _GIBBS),
}
del GIBBS[CHECKPOINT]  # the estimator's option serves both engines
REFITTED = {name: one for name, one in ESTIMATOR.items() if name != CHECKPOINT}  # of many fits
PRESETS = _CLASSIFIER["model"][1].partition(":")[0]  # the names of the paper's models


def command(
    options: Options | None = None, after: str = "", **told: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Derive the options of a command from its signature.

    Parameters
    ----------
    options : Options, optional
        Options to insert after the argument ``after`` of a command that takes ``**options``.
    **told : str or typer.Option
        Help or option of arguments that differ from the shared ones.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)
        found: Options = {}
        for name, one in own.parameters.items():
            if one.kind is not one.VAR_KEYWORD:
                found[name] = one.annotation, one.default
            if name == after:
                found |= options or {}
        parameters = []
        for name, (kind, default) in found.items():
            words = told.get(name, _SHARED.get(name))
            if words is not None and not hasattr(kind, "__metadata__"):
                kind, default = option(kind, words, default=default)
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
                )
            )
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return add
