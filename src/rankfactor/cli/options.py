"""Options that several commands share; those of the estimator are derived from its docstring.

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
from enum import StrEnum
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, cast

import typer

_READING, _MODEL, _GIBBS = "Reading", "Model", "Gibbs sampling (with --engine gibbs)"
_PLACE = "COLUMN|FILE:COLUMN"
AUTO = "NUMBER|auto"
Options = dict[str, tuple[Any, Any]]  # type and default by argument


def choice(*values: str) -> type[StrEnum]:
    """Values of which an option takes one."""
    names = {value.replace("-", "_").upper(): value for value in values}
    return cast(type[StrEnum], StrEnum("Choice", names))


class Orient(StrEnum):
    """Which way a table lies."""

    SAMPLES_IN_ROWS = "samples-in-rows"
    FEATURES_IN_ROWS = "features-in-rows"


_reading = partial(typer.Option, rich_help_panel=_READING)
TablePath = Annotated[
    Path,
    typer.Argument(
        help="Table of samples x features: .csv, .tsv or .txt (also .gz, .xz, .zst), .parquet, "
        ".xlsx, .npz, .h5ad, .h5mu or a GEO series matrix."
    ),
]
ModelPath = Annotated[Path, typer.Argument(help="Model file that `rankfactor fit` wrote.")]
_LABELS = "Label column, of the table or of another file; once for every task."
Labels = Annotated[list[str], typer.Option("--labels", metavar=_PLACE, help=_LABELS)]
LabelsIfAny = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar=_PLACE,
        help=f"{_LABELS} Without it, the factors are fitted to the table alone.",
        show_default="none",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar=_PLACE,
        help="Samples of one group, such as a patient's, stay together when data are divided.",
        show_default="none",
    ),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariates",
        metavar=_PLACE,
        help="Column that is no feature, such as age, sex or batch; as often as needed.",
        show_default="none",
    ),
]
DropClass = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[TASK:]CLASS",
        help="Class to leave out: its samples have no label of the task, and are left out where no "
        "other label is left; as often as needed.",
        show_default="none",
    ),
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[TASK:]CLASS",
        help="Class of two that decisions, coefficients and ROC speak of; once for every task.",
        show_default="the later in alphabetical order",
    ),
]
IdColumn = Annotated[
    str | None, _reading(help="Column of the sample names.", show_default="the first")
]
OrientOption = Annotated[
    Orient | None, _reading(help="Which way the table lies.", show_default="detected")
]
Exclude = Annotated[
    list[str] | None,
    _reading(
        metavar="NAME|PATTERN",
        help="Feature, column or sample to leave out, by name or by a pattern such as 'QC_*'; as "
        "often as needed.",
        show_default="none",
    ),
]
Layer = Annotated[
    str | None, _reading(help="Layer of an .h5ad file to take as the table.", show_default="X")
]
Sheet = Annotated[str | None, _reading(help="Sheet of an Excel file.", show_default="the first")]
NFactors = Annotated[int, typer.Option(min=1, help="Most factors; those not needed switch off.")]
RandomState = Annotated[
    int, typer.Option("--random-state", "--seed", min=0, help="Seed of everything random.")
]
NThreads = Annotated[
    int | None,
    typer.Option(
        "--n-threads",
        "--threads",
        min=1,
        help="Cores to use; the answer does not depend on it.",
        show_default="all",
    ),
]
NJobs = Annotated[
    int, typer.Option(help="Fits at the same time, -1 for all cores; the answer is the same.")
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that exist even if rankfactor did not write them."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON, for programs to read.")
]

READING: Options = {
    "id_column": (IdColumn, None),
    "orient": (OrientOption, None),
    "exclude": (Exclude, None),
    "layer": (Layer, None),
    "sheet": (Sheet, None),
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
    *("memory", "block", "checkpoint_every", "store", "align"),
}
# These come first in the help, in this order.
_FIRST = (
    "covariate_use", "n_factors", "training", "label_weight", "class_weight", "margin", "max_cuts",
    "likelihood", "classifier", "shrinkage",
)  # fmt: skip
_DIFFERENT: dict[str, dict[str, Any]] = {
    "covariate_use": {
        "rich_help_panel": None,
        "help": "regress: taken out of every feature on the rank scale; view: features of a view "
        "of their own.",
    },
    "n_factors": {
        "kind": str,
        "min": None,
        "metavar": "NUMBER[,NUMBER...]",
        "help": "Most factors; those not needed switch off. Several numbers: the best is chosen by "
        "cross-validation within the training samples.",
    },
    "training": {
        "help": "bayes: jointly; predictive: factors that predict, usually more accurate; auto: "
        "predictive where the model has it."
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
    "burn_in": {"min": 0},
    "checkpoint": {
        "kind": Path,
        "help": "Folder that chains are written to as they run, and resumed from.",
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
    if default is None:
        kind_of = kind_of | None
    elif kind_of not in (int, float):
        default = kind_of(default)
    return Annotated[kind_of, typer.Option("--" + name.replace("_", "-"), **settings)], default


def _options_of(documented: dict[str, tuple[str, str]], panel: str) -> Options:
    """Options of the arguments of a class that have one."""
    found = {key: one for key, one in documented.items() if key not in _EXCLUDED}
    ordered = dict.fromkeys([*(key for key in _FIRST if key in found), *found])
    return {key: _derived(key, *found[key], panel) for key in ordered}


_CLASSIFIER = _documented("estimators/classifier.py", "RankFactorClassifier")
ESTIMATOR = _options_of(_CLASSIFIER, _MODEL)
GIBBS = _options_of(_documented("engine/chain.py", "Gibbs"), _GIBBS)
PRESETS = _CLASSIFIER["model"][1].partition(":")[0]  # the names of the paper's models


def with_options(
    options: Options, after: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options to a command that takes ``**options``, behind one of its own."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        parameters = []
        for name, parameter in own.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            if name == after:
                parameters += [
                    inspect.Parameter(one, parameter.KEYWORD_ONLY, default=value, annotation=kind)
                    for one, (kind, value) in options.items()
                ]
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return add
