"""Options of the commands; those of the estimator are derived from its docstring.

`command` makes options of a function's signature and of what is told of every argument.

`RankFactorClassifier` and `Gibbs` document their arguments as numpydoc does: ``name : type, default
value``, then sentences. The type and the default make the option, the first sentence its help. The
source is parsed, not imported, so that ``--help`` answers at once. A new argument is a new option;
what has to differ from its documentation is in `_DIFFERENT`, and arguments that have no option are
in `_EXCLUDED`.
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
# Type and default by name; the type has what is told of the option, unless `_SHARED` has it.
Options = dict[str, tuple[Any, Any]]


def choice(*values: str) -> type[StrEnum]:
    """Values of which an option takes one."""
    names = {value.replace("-", "_").upper(): value for value in values}
    return cast(type[StrEnum], StrEnum("Choice", names))


def option(kind: Any, told: Any, *names: str, default: Any, **settings: Any) -> tuple[Any, Any]:
    """Type and default of an option; a text is its help, and the default None shown as none."""
    info = typer.Option(*names, help=told, **settings) if isinstance(told, str) else copy(told)
    if default is None:
        kind = kind | None
        info.show_default = "none" if info.show_default is True else info.show_default
    return Annotated[kind, info], default


LABELS = "Label column, of the table or of another file; once for every task."
# What is told of arguments that several commands have.
_SHARED = {
    "table": typer.Argument(
        help="Table of samples x features: .csv, .tsv or .txt (also .gz, .xz, .zst), .parquet "
        "(or a folder of parts), .xlsx, .npz, .npy, .zarr, .h5ad, .h5mu or a GEO series matrix."
    ),
    "model": typer.Argument(help="Model file that `rankfactor fit` wrote."),
    "labels": typer.Option(metavar=_PLACE, help=LABELS),
    "groups": typer.Option(
        metavar=_PLACE,
        help="Samples of one group, such as a patient's, stay together when data are divided.",
    ),
    "covariates": typer.Option(
        metavar=_PLACE,
        help="Column that is not a feature, such as age, sex or batch; as often as needed.",
    ),
    "drop_class": typer.Option(
        metavar=_CLASS,
        help="Class to leave out: its samples have no label of the task, and are left out where no "
        "other label is left; as often as needed.",
    ),
    "positive": typer.Option(
        metavar=_CLASS,
        help="Class of two that decisions, coefficients and ROC speak of; once for every task.",
        show_default="the later in alphabetical order",
    ),
    "n_factors": typer.Option(min=1, help="Most factors; those not needed switch off."),
    "random_state": typer.Option(
        "--random-state", "--seed", min=0, help="Seed of everything random."
    ),
    "n_threads": typer.Option(
        *("--n-threads", "--threads"),
        min=1,
        help="Cores to use; the answer does not depend on it.",
        show_default="all",
    ),
    "n_jobs": typer.Option(help="Fits at the same time, -1 for all cores; the answer is the same."),
    "force": typer.Option(
        "--force", help="Replace files that exist even if rankfactor did not write them."
    ),
    "as_json": typer.Option("--json", help="Print the result as JSON, for programs to read."),
}
_reading = partial(option, default=None, rich_help_panel="Reading")
READING: Options = {
    "id_column": _reading(str, "Column of the sample names.", show_default="the first"),
    "orient": _reading(
        choice("samples-in-rows", "features-in-rows"),
        "Which way the table lies.",
        show_default="detected",
    ),
    "exclude": _reading(
        list[str],
        "Feature, column or sample to leave out, by name or by a pattern such as 'QC_*'; as often "
        "as needed.",
        metavar="NAME|PATTERN",
    ),
    "layer": _reading(str, "Layer of an .h5ad file to take as the table.", show_default="X"),
    "sheet": _reading(str, "Sheet of an Excel file.", show_default="the first"),
}

# Arguments without an option, or with one that is not made here.
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
        "kind": choice("regress", "block", "view"),  # the last is the former name of block
        "rich_help_panel": None,
        "help": "regress: taken out of every feature on the rank scale; block: features of a block "
        "of their own.",
    },
    "n_factors": {
        "kind": str,
        "min": None,
        "metavar": "NUMBER[,NUMBER...]|auto",
        "show_default": "20; auto without --labels",
        "help": "Most factors; those not needed switch off. Several numbers: the best is chosen by "
        "cross-validation within the training samples; auto: by parallel analysis on the ranks.",
    },
    "training": {
        "help": "label-free: factors of the table alone; bayes: of table and labels jointly; "
        "predictive: factors that predict; auto: by the size of the table."
    },
    "residual": {
        "kind": choice("auto", "yes", "no"),
        "help": "Whether decisions also use what the factors leave of each feature; auto: after "
        "label-free training.",
    },
    "class_weight": {
        "kind": list[str],
        "show_default": "1 each",
        "metavar": "balanced|[TASK:]CLASS=WEIGHT",
        "help": "Weight of the labels of a class; once for every class.",
    },
    "margin": {
        "help": "Margin of the rank likelihood: larger keeps more and weaker factors; auto: 0.05, "
        "more where features are few."
    },
    "likelihood": {
        "show_default": "the model's",
        "help": "Data likelihood in place of the model's, such as ordinal_probit.",
    },
    "classifier": {
        "show_default": "the model's",
        "help": "Classifier in place of the model's: hinge or probit.",
    },
    "engine": {
        "kind": choice("vb", "gibbs"),
        "help": "Variational Bayes, or Gibbs sampling, which gives intervals.",
    },
    "n_draws": {"min": 2},
    "target_ess": {
        "kind": float,
        "min": 1.0,
        "show_default": "off",
        "help": "Go on until the decision function has as many effective draws.",
    },
    "max_minutes": {
        "help": "Time limit for --until-converged and --target-ess.",
    },
    "burn_in": {"min": 0},
    "checkpoint": {
        "kind": Path,
        "help": "Folder that the fit is written to as it goes on, and resumed from by the same "
        "command.",
    },
}


def _documented(file: str, name: str) -> dict[str, tuple[str, str]]:
    """Type and first sentence of every argument of a class, as its docstring has them."""
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
    elif kind.startswith("{"):  # or an object, so that the library judges the name
        settings["help"] = f"{sentence.rstrip('.')}: {', '.join(choices[:-1])} or {choices[-1]}."
    elif kind in ("int", "float"):
        settings |= {"kind": int, "min": 1} if kind == "int" else {"kind": float, "min": 0.0}
    elif kind == 'float or "auto"':
        settings["metavar"] = AUTO
    settings |= _DIFFERENT.get(name, {})
    if panel == _GIBBS:  # whether one was given at all matters: they mean nothing without it
        settings, default = {"show_default": str(default).lower(), **settings}, None
    kind_of = settings.pop("kind")
    if default is not None and kind_of not in (int, float):
        default = kind_of(default)
    told, names = settings.pop("help"), "--" + name.replace("_", "-")
    return option(kind_of, told, names, default=default, **settings)


def _options_of(documented: dict[str, tuple[str, str]], panel: str) -> Options:
    """Options of the arguments of a class that have one."""
    found = {key: one for key, one in documented.items() if key not in _EXCLUDED}
    ordered = dict.fromkeys([*(key for key in _FIRST if key in found), *found])
    return {key: _derived(key, *found[key], panel) for key in ordered}


_CLASSIFIER = _documented("estimators/classifier.py", "PlainClassifier")
ESTIMATOR = _options_of(_CLASSIFIER, _MODEL)
UNTIL_CONVERGED, TARGET_ESS, CHECKPOINT = "until_converged", 400.0, "checkpoint"
GIBBS = {
    UNTIL_CONVERGED: option(
        bool,
        f"Go on until the decision function has {TARGET_ESS:.0f} effective draws and R-hat is at "
        "most --target-r-hat.",
        "--until-converged",
        default=None,
        show_default="off",
        rich_help_panel=_GIBBS,
    ),
    **_options_of(_documented("engine/chain.py", "Gibbs"), _GIBBS),
}
del GIBBS[CHECKPOINT]  # that of the estimator serves both engines
REFITTED = {name: one for name, one in ESTIMATOR.items() if name != CHECKPOINT}  # of many fits
PRESETS = _CLASSIFIER["model"][1].partition(":")[0]  # the names of the paper's models


def command(
    options: Options | None = None, after: str = "", **told: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Derive the options of a command from its signature.

    Parameters
    ----------
    options : Options, optional
        Options to add behind the argument ``after``, of a command that takes ``**options``.
    **told : str or typer.Option
        Help of arguments, or all that is told of them, where it is not that which commands share.
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
