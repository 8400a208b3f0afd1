"""``rankfactor reproduce``: the paper's tables and figures, and the suite of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.reproduce_run import run

Settings = opt.choice("paper", "default", "chosen", "all")


def _maybe(kind: Any, *names: str, none: str = "none", **told: Any) -> tuple[Any, None]:
    """An option that need not be given; `none` says what happens then."""
    return Annotated[kind | None, typer.Option(*names, show_default=none, **told)], None


def _given(default: Any, *names: str, **told: Any) -> tuple[Any, Any]:
    """An option with a default."""
    return Annotated[type(default), typer.Option(*names, **told)], default


_WAY = (
    "paper: K = 20 and joint training as in the paper; default: K = 20 and the library's training; "
    "chosen: by cross-validation on the training part."
)
# Every option with its usual default, in the order of the help.
_ALL: opt.Options = {
    "models": _maybe(
        str,
        none="those of the table",
        metavar="NAME[,NAME...]",
        help="Models to compare, as for `cv`.",
    ),
    "series": _maybe(
        Path,
        help="GEO series matrix of your own, in place of the sets that stand in for the paper's.",
    ),
    "counts": _maybe(Path, help="Table of counts, if the series matrix has no values."),
    "labels": _maybe(
        list[str],
        none="those that look like it",
        metavar="COLUMN",
        help="Column of the series with labels; as often as needed.",
    ),
    "groups": _maybe(
        str,
        metavar="COLUMN",
        help="Column of the series: samples of one group stay in one fold.",
    ),
    "folder": _maybe(
        Path, help="Folder of .npz archives (X, y, lab_*), in place of the library's sets."
    ),
    "sets": _maybe(str, none="all there are", metavar="NAME[,NAME...]", help="Data sets to take."),
    "max_samples": _given(1000, min=10, help="Larger sets are represented by so many samples."),
    "settings": _given(Settings("all"), help=_WAY),
    "folds": _given(10, min=2, help="Folds of a repeat; fewer if a class is small."),
    "repeats": _given(1, min=1, help="How often the samples are divided anew."),
    "n_factors": (opt.NFactors, 20),
    "random_state": (opt.RandomState, 0),
    "n_jobs": (opt.NJobs, 1),
    "n_threads": (opt.NThreads, None),
    "as_json": _maybe(
        Path,
        "--json",
        metavar="FILE",
        help="Write the result, every fit included, as JSON; - is stdout, without the table.",
    ),
    "out": _maybe(
        Path,
        help="Folder for the table as .csv, .md and .json, and every fit as .csv; made if needed.",
    ),
    "figures": _maybe(
        Path, help="Folder for the paper's figures of these data, from fits of their own."
    ),
    "gmt": _maybe(
        Path,
        help="Gene sets as a GMT file, to test the leading features of factors; with --figures.",
    ),
    "table": _given(
        True, "--table/--no-table", help="Whether to make the table, or figures alone."
    ),
    "resume": _given(
        False,
        "--resume",
        help="Go on with the run in the folder of --out: sets it has are not run again.",
    ),
    "force": (opt.Force, False),
}
_OF_SUITE = ("folder", "sets", "max_samples")


def _without(*names: str, **others: tuple[Any, Any]) -> opt.Options:
    """All options but some, and some with another meaning or default."""
    return {name: others.get(name, one) for name, one in _ALL.items() if name not in names}


_DIGITS = _without(
    *("series", "counts", "labels", "groups", "folds", "n_jobs", "gmt", "resume", *_OF_SUITE),
    repeats=_given(5, min=1, help="Fits of a model with different seeds."),
)
_SUITE = _without(
    *("series", "counts", "labels", "groups", "figures", "gmt", "table"),
    settings=_given(Settings("default"), help=_WAY),
    folds=(_ALL["folds"][0], 5),
    repeats=(_ALL["repeats"][0], 2),
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
