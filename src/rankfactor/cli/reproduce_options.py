"""Options of ``rankfactor reproduce``, which its commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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
