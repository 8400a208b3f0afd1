"""``rankfactor reproduce``: the paper's tables, and the suite of data sets."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import INTERRUPTED, plain, progress, say

if TYPE_CHECKING:
    from rankfactor.experiments.outcome import Outcome

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Reproduce the paper's tables, with its numbers beside, and compare models on many sets.",
    epilog="Example: rankfactor reproduce usps --models R-L-BSVM,R-NL-BSVM --repeats 1",
)


class Settings(StrEnum):
    """Where settings come from."""

    PAPER = "paper"
    CHOSEN = "chosen"
    BOTH = "both"


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
        help="paper: K = 20 as in the paper; chosen: by cross-validation on the training part.",
    ),
]
Repeats = Annotated[int, typer.Option(min=1, help="Fits of a model with different seeds.")]
Divisions = Annotated[int, typer.Option(min=1, help="How often the samples are divided anew.")]
Folds = Annotated[int, typer.Option(min=2, help="Folds of a repeat; fewer if a class is small.")]
NJobs = Annotated[
    int,
    typer.Option("--n-jobs", help="Fits at the same time, -1 for all cores; the same answer."),
]
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


@reproduce.command(epilog="Example: rankfactor reproduce usps --repeats 5 --out results")
def usps(
    models: Models = None,
    settings: Way = Settings.BOTH,
    repeats: Repeats = 5,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_threads: opt.NThreads = None,
    as_json: JsonFile = None,
    out: Out = None,
) -> None:
    """Table 2: test errors on handwritten 3 against 5 of USPS."""
    from rankfactor.experiments import usps as experiment

    _run(
        experiment.run,
        {
            **_chosen(models),
            "way": str(settings),
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_threads": n_threads,
        },
        as_json,
        out,
    )


@reproduce.command(epilog="Example: rankfactor reproduce mnist --settings paper --repeats 1")
def mnist(
    models: Models = None,
    settings: Way = Settings.BOTH,
    repeats: Repeats = 5,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_threads: opt.NThreads = None,
    as_json: JsonFile = None,
    out: Out = None,
) -> None:
    """Table 3: test errors on handwritten 3 against 5 of MNIST."""
    from rankfactor.experiments import mnist as experiment

    _run(
        experiment.run,
        {
            **_chosen(models),
            "way": str(settings),
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_threads": n_threads,
        },
        as_json,
        out,
    )


@reproduce.command(epilog="Example: rankfactor reproduce tb --series GSE39941_series_matrix.txt.gz")
def tb(
    models: Models = None,
    series: Series = None,
    labels: SeriesLabels = None,
    settings: Way = Settings.BOTH,
    folds: Folds = 10,
    repeats: Divisions = 1,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_jobs: NJobs = 1,
    n_threads: opt.NThreads = None,
    as_json: JsonFile = None,
    out: Out = None,
) -> None:
    """Table 4: tuberculosis and HIV, all tasks by one factor model."""
    from rankfactor.experiments import tb as experiment

    _run(
        experiment.run,
        {
            **_chosen(models),
            "series": series,
            "labels": labels or (),
            "way": str(settings),
            "n_folds": folds,
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "n_threads": n_threads,
        },
        as_json,
        out,
    )


@reproduce.command(
    epilog="Example: rankfactor reproduce rnaseq --series GSE63042_series_matrix.txt.gz "
    "--counts counts.tsv.gz"
)
def rnaseq(
    models: Models = None,
    series: Series = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            help="Table of counts, if the series matrix has no values.", show_default="none"
        ),
    ] = None,
    labels: SeriesLabels = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the series: samples of one group stay in one fold.",
            show_default="none",
        ),
    ] = None,
    settings: Way = Settings.BOTH,
    folds: Folds = 10,
    repeats: Divisions = 1,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_jobs: NJobs = 1,
    n_threads: opt.NThreads = None,
    as_json: JsonFile = None,
    out: Out = None,
) -> None:
    """Table 5: RNA sequencing and sepsis."""
    from rankfactor.experiments import rnaseq as experiment

    _run(
        experiment.run,
        {
            **_chosen(models),
            "series": series,
            "counts": counts,
            "labels": labels or (),
            "groups": groups,
            "way": str(settings),
            "n_folds": folds,
            "n_repeats": repeats,
            "n_factors": n_factors,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "n_threads": n_threads,
        },
        as_json,
        out,
    )


@reproduce.command(epilog="Example: rankfactor reproduce suite --folder my-tables --folds 5")
def suite(
    models: Models = None,
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
    settings: Way = Settings.PAPER,
    folds: Folds = 5,
    repeats: Divisions = 2,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_jobs: NJobs = 1,
    n_threads: opt.NThreads = None,
    as_json: JsonFile = None,
    out: Out = None,
) -> None:
    """Compare models on every data set there is: mean ranks, and where a plain SVM wins."""
    from rankfactor.cli.settings import names_of
    from rankfactor.experiments import suite as experiment

    _run(
        experiment.run,
        {
            **_chosen(models),
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
        as_json,
        out,
    )


def _chosen(models: str | None) -> dict[str, Any]:
    """The models asked for, checked before any data are read; none for those of the table."""
    if models is None:
        return {}
    from rankfactor.cli.settings import names_of
    from rankfactor.experiments.models import check_models

    return {"models": check_models(names_of(models))}


def _run(
    run: Callable[..., Outcome], arguments: dict[str, Any], json_file: Path | None, out: Path | None
) -> None:
    """Run an experiment, print its table and write what was asked for."""
    from contextlib import nullcontext

    from rankfactor.files import check_destinations
    from rankfactor.files import folder as made_folder

    to_stdout = json_file is not None and str(json_file) == "-"
    if json_file is not None and not to_stdout:
        check_destinations(json_file)
    with made_folder(out) if out is not None else nullcontext():
        with progress() as tell:
            found = run(**arguments, progress=tell)
        written = _write(found, None if to_stdout else json_file, out)
    if to_stdout:
        say(_json(found).rstrip())
    else:
        _show(found)
        for path in written:
            say(f"Written: {path}")
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


def _json(found: Outcome) -> str:
    import json

    return json.dumps(plain(found.to_dict()), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _write(found: Outcome, json_file: Path | None, out: Path | None) -> list[Path]:
    """Write all files or none."""
    from rankfactor.files import written_together

    contents: dict[Path, str] = {}
    if out is not None:
        contents = {
            out / f"{found.name}.csv": found.rows.to_csv(index=False),
            out / f"{found.name}-fits.csv": found.fits.to_csv(index=False),
            out / f"{found.name}.md": found.markdown(),
            out / f"{found.name}.json": _json(found),
        }
    if json_file is not None:
        contents[json_file] = _json(found)
    with written_together(*contents) as parts:
        for part, text in zip(parts, contents.values(), strict=True):
            part.write_text(text, "utf-8")
    return list(contents)


def _show(found: Outcome) -> None:
    """Print the table, the ranks and the notes."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from rankfactor.experiments.outcome import readable_ranks

    frames = [(found.title, found.readable())]
    if len(found.summary):
        frames.append(("Mean ranks over data sets", readable_ranks(found.summary)))
    for title, frame in frames:
        table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in frame.columns:
            words = name in ("data", "task", "model", "settings", "chosen")
            table.add_column(name, justify="left" if words else "right", overflow="fold")
        for row in frame.to_numpy().tolist():
            table.add_row(*row)
        Console().print(table)
    for note in found.notes:
        say(note)
