"""``rankfactor reproduce``: the paper's tables and figures, and the suite of data sets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.reproduce_run import run


class Settings(StrEnum):
    """Where settings come from."""

    PAPER = "paper"
    DEFAULT = "default"
    CHOSEN = "chosen"
    ALL = "all"


Models = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[,NAME...]",
        help="Models to compare, as for `cv`.",
        show_default="those of the table",
    ),
]
Way = Annotated[
    Settings,
    typer.Option(
        "--settings",
        help="paper: K = 20 and joint training as in the paper; default: K = 20 and the library's "
        "training; chosen: by cross-validation on the training part.",
    ),
]
Repeats = Annotated[int, typer.Option(min=1, help="Fits of a model with different seeds.")]
Divisions = Annotated[int, typer.Option(min=1, help="How often the samples are divided anew.")]
Folds = Annotated[int, typer.Option(min=2, help="Folds of a repeat; fewer if a class is small.")]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the result, every fit included, as JSON; - is stdout, without the table.",
        show_default="none",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the table as .csv, .md and .json, and every fit as .csv; made if needed.",
        show_default="none",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on with the run in the folder of --out: sets it has are not run again."
    ),
]
Series = Annotated[
    Path | None,
    typer.Option(
        help="GEO series matrix of your own, in place of the sets that stand in for the paper's.",
        show_default="none",
    ),
]
SeriesLabels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="COLUMN",
        help="Column of the series with labels; as often as needed.",
        show_default="those that look like it",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the paper's figures of these data, from fits of their own.",
        show_default="none",
    ),
]
Tabled = Annotated[
    bool,
    typer.Option("--table/--no-table", help="Whether to make the table, or figures alone."),
]
GeneSets = Annotated[
    Path | None,
    typer.Option(
        "--gmt",
        help="Gene sets as a GMT file, to test the leading features of factors; with --figures.",
        show_default="none",
    ),
]
Counts = Annotated[
    Path | None,
    typer.Option(help="Table of counts, if the series matrix has no values.", show_default="none"),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the series: samples of one group stay in one fold.",
        show_default="none",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of .npz archives (X, y, lab_*), in place of the library's sets.",
        show_default="none",
    ),
]
Sets = Annotated[
    str | None,
    typer.Option(metavar="NAME[,NAME...]", help="Data sets to take.", show_default="all there are"),
]
MaxSamples = Annotated[
    int, typer.Option(min=10, help="Larger sets are represented by so many samples.")
]

# Every option with its usual default, in the order of the help.
_ALL: opt.Options = {
    "models": (Models, None),
    "series": (Series, None),
    "counts": (Counts, None),
    "labels": (SeriesLabels, None),
    "groups": (Groups, None),
    "folder": (Folder, None),
    "sets": (Sets, None),
    "max_samples": (MaxSamples, 1000),
    "settings": (Way, Settings.ALL),
    "folds": (Folds, 10),
    "repeats": (Divisions, 1),
    "n_factors": (opt.NFactors, 20),
    "random_state": (opt.RandomState, 0),
    "n_jobs": (opt.NJobs, 1),
    "n_threads": (opt.NThreads, None),
    "as_json": (JsonFile, None),
    "out": (Out, None),
    "figures": (Figures, None),
    "gmt": (GeneSets, None),
    "table": (Tabled, True),
    "resume": (Resume, False),
    "force": (opt.Force, False),
}
_OF_SUITE = ("folder", "sets", "max_samples")


def _without(*names: str, **others: tuple[Any, Any]) -> opt.Options:
    """All options but some, and some with another meaning or default."""
    return {name: others.get(name, one) for name, one in _ALL.items() if name not in names}


_DIGITS = _without(
    *("series", "counts", "labels", "groups", "folds", "n_jobs", "gmt", "resume", *_OF_SUITE),
    repeats=(Repeats, 5),
)
_SUITE = _without(
    *("series", "counts", "labels", "groups", "figures", "gmt", "table"),
    settings=(Way, Settings.DEFAULT),
    folds=(Folds, 5),
    repeats=(Divisions, 2),
)

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Reproduce the paper's tables, with its numbers beside, and its figures; compare models "
    "on many sets.",
    epilog="Example: rankfactor reproduce usps --models R-L-BSVM,R-NL-BSVM --repeats 1",
)


@reproduce.command(epilog="Example: rankfactor reproduce usps --repeats 5 --out results")
@opt.with_options(_DIGITS, after="ctx")
def usps(ctx: typer.Context, **_: Any) -> None:
    """Table 2: test errors on handwritten 3 against 5 of USPS.

    With --figures the loadings of four models as images.
    """
    run("usps", ctx.params)


@reproduce.command(epilog="Example: rankfactor reproduce mnist --settings paper --repeats 1")
@opt.with_options(_DIGITS, after="ctx")
def mnist(ctx: typer.Context, **_: Any) -> None:
    """Table 3: test errors on handwritten 3 against 5 of MNIST.

    With --figures the loadings of four models as images.
    """
    run("mnist", ctx.params)


@reproduce.command(epilog="Example: rankfactor reproduce tb --series GSE39941_series_matrix.txt.gz")
@opt.with_options(_without("counts", "groups", *_OF_SUITE), after="ctx")
def tb(ctx: typer.Context, **_: Any) -> None:
    """Table 4: tuberculosis and HIV, all tasks by one factor model.

    With --figures the coefficients of all tasks, the network of genes, the 200 leading genes of
    every factor and, with --gmt, the gene sets they belong to.
    """
    run("tb", ctx.params)


@reproduce.command(
    epilog="Example: rankfactor reproduce rnaseq --series GSE63042_series_matrix.txt.gz "
    "--counts counts.tsv.gz"
)
@opt.with_options(_without(*_OF_SUITE), after="ctx")
def rnaseq(ctx: typer.Context, **_: Any) -> None:
    """Table 5: RNA sequencing and sepsis.

    With --figures the coefficients of all tasks, the network of genes, the 200 leading genes of
    every factor and, with --gmt, the gene sets they belong to.
    """
    run("rnaseq", ctx.params)


@reproduce.command(epilog="Example: rankfactor reproduce suite --folder my-tables --folds 5")
@opt.with_options(_SUITE, after="ctx")
def suite(ctx: typer.Context, **_: Any) -> None:
    """Compare models on every data set there is: mean ranks, and where a plain SVM wins."""
    run("suite", ctx.params)
