"""The options that several commands share: the library's names, and defaults as the library's."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_READING, _MODEL, _GIBBS = "Reading", "Model", "Gibbs sampling (with --engine gibbs)"

# The paper's models; a test holds this to the library's list.
PRESETS = "R-L-BSVM, G-L-BSVM, G-L-Probit, OR-L-BSVM, OR-L-Probit, R-NL-BSVM or G-NL-BSVM"


class Orient(StrEnum):
    """Which way a table lies."""

    SAMPLES_IN_ROWS = "samples-in-rows"
    FEATURES_IN_ROWS = "features-in-rows"


class CovariateUse(StrEnum):
    """What is done with covariates."""

    REGRESS = "regress"
    VIEW = "view"


class Training(StrEnum):
    """How labels shape the factors."""

    AUTO = "auto"
    BAYES = "bayes"
    PREDICTIVE = "predictive"


class Experts(StrEnum):
    """Forms of nonlinear classifiers."""

    MIXED = "mixed"
    PER_COMPONENT = "per_component"


class Calibration(StrEnum):
    """How probabilities are calibrated."""

    REFIT = "refit"
    CROSS_VALIDATION = "cross-validation"
    NONE = "none"


class Engine(StrEnum):
    """How the posterior is found."""

    VB = "vb"
    GIBBS = "gibbs"


TablePath = Annotated[
    Path,
    typer.Argument(
        help="Table of samples x features: .csv, .tsv or .txt (also .gz, .xz, .zst), .parquet, "
        ".xlsx, .npz, .h5ad, .h5mu or a GEO series matrix."
    ),
]
Labels = Annotated[
    list[str],
    typer.Option(
        "--labels",
        metavar="COLUMN|FILE:COLUMN",
        help="Label column, of the table or of another file; once for every task.",
    ),
]
LabelsIfAny = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="COLUMN|FILE:COLUMN",
        help="Label column, of the table or of another file; once for every task. Without it, the "
        "factors are fitted to the table alone.",
        show_default="none",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN|FILE:COLUMN",
        help="Samples of one group, such as a patient's, stay together when data are divided.",
        show_default="none",
    ),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariates",
        metavar="COLUMN|FILE:COLUMN",
        help="Column that is no feature, such as age, sex or batch; as often as needed.",
        show_default="none",
    ),
]
CovariateUse_ = Annotated[
    CovariateUse,
    typer.Option(
        "--covariate-use",
        help="regress: taken out of every feature on the rank scale; view: features of a view of "
        "their own.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id-column",
        help="Column of the sample names.",
        show_default="the first",
        rich_help_panel=_READING,
    ),
]
OrientOption = Annotated[
    Orient | None,
    typer.Option(
        "--orient",
        help="Which way the table lies.",
        show_default="detected",
        rich_help_panel=_READING,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="NAME|PATTERN",
        help="Feature, column or sample to leave out, by name or by a pattern such as 'QC_*'; as "
        "often as needed.",
        show_default="none",
        rich_help_panel=_READING,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        "--layer",
        help="Layer of an .h5ad file to take as the table.",
        show_default="X",
        rich_help_panel=_READING,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        help="Sheet of an Excel file.",
        show_default="the first",
        rich_help_panel=_READING,
    ),
]

Training_ = Annotated[
    Training,
    typer.Option(
        "--training",
        help="bayes: jointly; predictive: factors that predict, usually more accurate; auto: "
        "predictive where the model has it.",
        rich_help_panel=_MODEL,
    ),
]
NumbersOfFactors = Annotated[
    str,
    typer.Option(
        "--n-factors",
        metavar="NUMBER[,NUMBER...]",
        help="Most factors; those not needed switch off. Several numbers: the best is chosen by "
        "cross-validation within the training samples.",
        rich_help_panel=_MODEL,
    ),
]
NFactors = Annotated[
    int, typer.Option("--n-factors", min=1, help="Most factors; those not needed switch off.")
]
LabelWeight = Annotated[
    str,
    typer.Option(
        "--label-weight",
        metavar="NUMBER|auto",
        help="How much predictive training heeds the labels.",
        rich_help_panel=_MODEL,
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        metavar="balanced|[TASK:]CLASS=WEIGHT",
        help="Weight of the labels of a class; once for every class.",
        show_default="1 each",
        rich_help_panel=_MODEL,
    ),
]
DropClass = Annotated[
    list[str] | None,
    typer.Option(
        "--drop-class",
        metavar="[TASK:]CLASS",
        help="Class to leave out: its samples have no label of the task, and are left out where no "
        "other label is left; as often as needed.",
        show_default="none",
    ),
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        "--positive",
        metavar="[TASK:]CLASS",
        help="Class of two that decisions, coefficients and ROC speak of; once for every task.",
        show_default="the later in alphabetical order",
    ),
]
Margin = Annotated[
    str,
    typer.Option(
        "--margin",
        metavar="NUMBER|auto",
        help="Margin of the rank likelihood: larger keeps more and weaker factors; auto: 0.05, "
        "more where features are few.",
        rich_help_panel=_MODEL,
    ),
]
MaxCuts = Annotated[
    int,
    typer.Option(
        "--max-cuts",
        min=1,
        help="How finely ranks are resolved, at most 254.",
        rich_help_panel=_MODEL,
    ),
]
Likelihood = Annotated[
    str | None,
    typer.Option(
        "--likelihood",
        help="Data likelihood in place of the model's, such as ordinal_probit.",
        show_default="the model's",
        rich_help_panel=_MODEL,
    ),
]
Classifier = Annotated[
    str | None,
    typer.Option(
        "--classifier",
        help="Classifier in place of the model's: hinge or probit.",
        show_default="the model's",
        rich_help_panel=_MODEL,
    ),
]
Shrinkage = Annotated[
    str,
    typer.Option(
        "--shrinkage",
        help="Prior of the loadings: tpbn, normal or multiplicative_gamma.",
        rich_help_panel=_MODEL,
    ),
]
Experts_ = Annotated[
    Experts,
    typer.Option(
        "--experts", help="Form of a nonlinear model's classifiers.", rich_help_panel=_MODEL
    ),
]
NComponents = Annotated[
    int,
    typer.Option(
        "--n-components",
        min=1,
        help="Local classifiers of a nonlinear model, at most.",
        rich_help_panel=_MODEL,
    ),
]
Calibration_ = Annotated[
    Calibration,
    typer.Option("--calibration", help="How probabilities are calibrated.", rich_help_panel=_MODEL),
]
Engine_ = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Variational Bayes, or Gibbs sampling, which gives intervals.",
        rich_help_panel=_MODEL,
    ),
]
MaxIter = Annotated[
    int, typer.Option("--max-iter", min=1, help="Most iterations.", rich_help_panel=_MODEL)
]
Tol = Annotated[
    float,
    typer.Option(
        "--tol",
        min=0.0,
        help="Relative change of the ELBO at which the fit has converged.",
        rich_help_panel=_MODEL,
    ),
]
NRestarts = Annotated[
    int,
    typer.Option("--n-restarts", min=1, help="Starting points to try.", rich_help_panel=_MODEL),
]
NDraws = Annotated[
    int | None,
    typer.Option(
        "--n-draws",
        min=2,
        help="Draws of a chain that count.",
        show_default="500",
        rich_help_panel=_GIBBS,
    ),
]
BurnIn = Annotated[
    int | None,
    typer.Option(
        "--burn-in",
        min=0,
        help="Sweeps before the first of them.",
        show_default="500",
        rich_help_panel=_GIBBS,
    ),
]
Thin = Annotated[
    int | None,
    typer.Option(
        "--thin",
        min=1,
        help="Sweeps from one of them to the next.",
        show_default="1",
        rich_help_panel=_GIBBS,
    ),
]
NChains = Annotated[
    int | None,
    typer.Option("--n-chains", min=1, help="Chains.", show_default="2", rich_help_panel=_GIBBS),
]
NPredict = Annotated[
    int | None,
    typer.Option(
        "--n-predict",
        min=1,
        help="Draws that predictions average over.",
        show_default="20",
        rich_help_panel=_GIBBS,
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Folder that chains are written to as they run, and gone on from.",
        show_default="none",
        rich_help_panel=_GIBBS,
    ),
]

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
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that exist even if rankfactor did not write them."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON, for programs to read.")
]
