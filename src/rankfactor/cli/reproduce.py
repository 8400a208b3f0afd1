"""``rankfactor reproduce``: the paper's tables and figures, and the suite of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli import reproduce_options as own
from rankfactor.cli.reproduce_options import Settings
from rankfactor.cli.reproduce_run import chosen, run
from rankfactor.errors import InputError

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Reproduce the paper's tables, with its numbers beside, and its figures; compare models "
    "on many sets.",
    epilog="Example: rankfactor reproduce usps --models R-L-BSVM,R-NL-BSVM --repeats 1",
)


@reproduce.command(epilog="Example: rankfactor reproduce usps --repeats 5 --out results")
def usps(
    models: own.Models = None,
    settings: own.Way = Settings.ALL,
    repeats: own.Repeats = 5,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_threads: opt.NThreads = None,
    as_json: own.JsonFile = None,
    out: own.Out = None,
    figures: own.Figures = None,
    table: own.Tabled = True,
    force: opt.Force = False,
) -> None:
    """Table 2: test errors on handwritten 3 against 5 of USPS.

    With --figures the loadings of four models as images.
    """
    from rankfactor.experiments import usps as experiment

    run(
        experiment.run,
        {
            **chosen(models),
            "way": str(settings),
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_threads": n_threads,
        },
        name="usps",
        json_file=as_json,
        out=out,
        force=force,
        figures=figures,
        draw=experiment.pictures,
        table=table,
    )


@reproduce.command(epilog="Example: rankfactor reproduce mnist --settings paper --repeats 1")
def mnist(
    models: own.Models = None,
    settings: own.Way = Settings.ALL,
    repeats: own.Repeats = 5,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_threads: opt.NThreads = None,
    as_json: own.JsonFile = None,
    out: own.Out = None,
    figures: own.Figures = None,
    table: own.Tabled = True,
    force: opt.Force = False,
) -> None:
    """Table 3: test errors on handwritten 3 against 5 of MNIST.

    With --figures the loadings of four models as images.
    """
    from rankfactor.experiments import mnist as experiment

    run(
        experiment.run,
        {
            **chosen(models),
            "way": str(settings),
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_threads": n_threads,
        },
        name="mnist",
        json_file=as_json,
        out=out,
        force=force,
        figures=figures,
        draw=experiment.pictures,
        table=table,
    )


@reproduce.command(epilog="Example: rankfactor reproduce tb --series GSE39941_series_matrix.txt.gz")
def tb(
    models: own.Models = None,
    series: own.Series = None,
    labels: own.SeriesLabels = None,
    settings: own.Way = Settings.ALL,
    folds: own.Folds = 10,
    repeats: own.Divisions = 1,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_jobs: own.NJobs = 1,
    n_threads: opt.NThreads = None,
    as_json: own.JsonFile = None,
    out: own.Out = None,
    figures: own.Figures = None,
    gmt: own.GeneSets = None,
    table: own.Tabled = True,
    resume: own.Resume = False,
    force: opt.Force = False,
) -> None:
    """Table 4: tuberculosis and HIV, all tasks by one factor model.

    With --figures the coefficients of all tasks, the network of genes, the 200 leading genes of
    every factor and, with --gmt, the gene sets they belong to.
    """
    from rankfactor.experiments import tb as experiment

    sets = _gene_sets(gmt, figures)
    source: dict[str, Any] = {"series": series, "labels": labels or ()}
    run(
        experiment.run,
        {
            **chosen(models),
            **source,
            "way": str(settings),
            "n_folds": folds,
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "n_threads": n_threads,
        },
        name="tb",
        gmt=gmt,
        json_file=as_json,
        out=out,
        force=force,
        resume=resume,
        figures=figures,
        draw=lambda fits: experiment.pictures(fits, sets=sets, **source),
        table=table,
    )


@reproduce.command(
    epilog="Example: rankfactor reproduce rnaseq --series GSE63042_series_matrix.txt.gz "
    "--counts counts.tsv.gz"
)
def rnaseq(
    models: own.Models = None,
    series: own.Series = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            help="Table of counts, if the series matrix has no values.", show_default="none"
        ),
    ] = None,
    labels: own.SeriesLabels = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the series: samples of one group stay in one fold.",
            show_default="none",
        ),
    ] = None,
    settings: own.Way = Settings.ALL,
    folds: own.Folds = 10,
    repeats: own.Divisions = 1,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_jobs: own.NJobs = 1,
    n_threads: opt.NThreads = None,
    as_json: own.JsonFile = None,
    out: own.Out = None,
    figures: own.Figures = None,
    gmt: own.GeneSets = None,
    table: own.Tabled = True,
    resume: own.Resume = False,
    force: opt.Force = False,
) -> None:
    """Table 5: RNA sequencing and sepsis.

    With --figures the coefficients of all tasks, the network of genes, the 200 leading genes of
    every factor and, with --gmt, the gene sets they belong to.
    """
    from rankfactor.experiments import rnaseq as experiment

    sets = _gene_sets(gmt, figures)
    source: dict[str, Any] = {
        "series": series,
        "counts": counts,
        "labels": labels or (),
        "groups": groups,
    }
    run(
        experiment.run,
        {
            **chosen(models),
            **source,
            "way": str(settings),
            "n_folds": folds,
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "n_threads": n_threads,
        },
        name="rnaseq",
        gmt=gmt,
        json_file=as_json,
        out=out,
        force=force,
        resume=resume,
        figures=figures,
        draw=lambda fits: experiment.pictures(fits, sets=sets, **source),
        table=table,
    )


@reproduce.command(epilog="Example: rankfactor reproduce suite --folder my-tables --folds 5")
def suite(
    models: own.Models = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder of .npz archives (X, y, lab_*), in place of the library's sets.",
            show_default="none",
        ),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]", help="Data sets to take.", show_default="all there are"
        ),
    ] = None,
    max_samples: Annotated[
        int, typer.Option(min=10, help="Larger sets are represented by so many samples.")
    ] = 1000,
    settings: own.Way = Settings.DEFAULT,
    folds: own.Folds = 5,
    repeats: own.Divisions = 2,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_jobs: own.NJobs = 1,
    n_threads: opt.NThreads = None,
    as_json: own.JsonFile = None,
    out: own.Out = None,
    resume: own.Resume = False,
    force: opt.Force = False,
) -> None:
    """Compare models on every data set there is: mean ranks, and where a plain SVM wins."""
    from rankfactor.cli.settings import names_of
    from rankfactor.experiments import suite as experiment

    run(
        experiment.run,
        {
            **chosen(models),
            "folder": folder,
            "sets": names_of(sets or ""),
            "max_samples": max_samples,
            "way": str(settings),
            "n_folds": folds,
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "n_threads": n_threads,
        },
        name="suite",
        json_file=as_json,
        out=out,
        force=force,
        resume=resume,
    )


def _gene_sets(gmt: Path | None, figures: Path | None) -> Any:
    """Gene sets of a file, read before any work is done."""
    if gmt is None:
        return None
    if figures is None:
        raise InputError("--gmt is for what goes with the figures: give --figures as well.")
    from rankfactor.interpret import read_gmt

    return read_gmt(gmt)
