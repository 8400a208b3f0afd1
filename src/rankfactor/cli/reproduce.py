"""``rankfactor reproduce``: the paper's tables and figures, and the suite of data sets."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.reproduce_run import run

_NAMES = "NAME[,NAME...]"
Settings = opt.choice("paper", "default", "chosen", "margin", "all")
_maybe = partial(opt.option, str, default=None)
_path = partial(opt.option, Path, default=None)
# Every option with its usual default, in the order of the help.
_ALL: opt.Options = {
    "models": _maybe(
        "Models to compare, as for `cv`.", metavar=_NAMES, show_default="those of the table"
    ),
    "series": _path("Your own GEO series matrix, instead of the sets that replace the paper's."),
    "counts": _path("Table of counts, if the series matrix has no values."),
    "labels": opt.option(
        list[str],
        "Column of the series with labels; may be repeated.",
        default=None,
        metavar="COLUMN",
        show_default="columns that look like labels",
    ),
    "groups": _maybe(
        "Column of the series: samples of one group stay in one fold.", metavar="COLUMN"
    ),
    "folder": _path("Folder of .npz archives (X, y, lab_*), instead of the library's sets."),
    "sets": _maybe("Data sets to use.", metavar=_NAMES, show_default="all there are"),
    "max_samples": opt.option(
        int, "Maximum number of samples per set; larger sets are subsampled.", default=1000, min=10
    ),
    "settings": opt.option(
        Settings,
        "paper: K = 20 and joint training as in the paper; default: K = 20 and the library's "
        "training; chosen: by cross-validation on the training part; margin: like paper, with "
        "the margin and cuts of the rank likelihood also chosen; all: the first three.",
        default=Settings("all"),
    ),
    "folds": opt.option(int, "Folds per repeat; fewer if a class is small.", default=10, min=2),
    "repeats": opt.option(int, "Number of repeats, each with new folds.", default=1, min=1),
    "n_factors": (int, 20),
    "random_state": (int, 0),
    "n_jobs": (int, 1),
    "n_threads": (int | None, None),
    "as_json": _path(
        "Write the result, including every fit, as JSON; - is stdout, without the table.",
        "--json",
        metavar="FILE",
    ),
    "out": _path(
        "Folder for the table as .csv, .md and .json, and every fit as .csv; created if needed."
    ),
    "figures": _path("Folder for the paper's figures of these data, from separate fits."),
    "gmt": _path(
        "GMT file of gene sets to test against the leading features of factors; with --figures."
    ),
    "table": opt.option(bool, "Whether to make the table, or only figures.", default=True),
    "resume": opt.option(
        bool,
        "Resume the run in the folder of --out: finished models and sets are not run again.",
        "--resume",
        default=False,
    ),
    "force": (bool, False),
}
_SIMULATED: opt.Options = {  # of simulated tables
    "models": _maybe("Methods to compare.", metavar=_NAMES, show_default="all"),
    "cases": _maybe(
        "Sizes of tables: base, n100, n1000, d30, d400, k2, k8, noise2.",
        metavar=_NAMES,
        show_default="all",
    ),
    "seen_as": _maybe(
        "Forms of the data: values, raw, outliers, counts, levels, mixture, missing.",
        metavar=_NAMES,
        show_default="all in the first case, three in the others",
    ),
    "repeats": opt.option(int, "Tables per case and form.", default=5, min=1),
}
_SERIES = ("series", "counts", "labels", "groups")
_SUITE = ("folder", "sets", "max_samples")

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Reproduce the paper's tables, next to its numbers, and its figures; compare models "
    "on many sets.",
    epilog="Example: rankfactor reproduce usps --models R-L-BSVM,R-NL-BSVM --repeats 1",
)


def _add(name: str, words: str, example: str, without: tuple[str, ...], **others: Any) -> None:
    """Add a command with all options except some; some have another default or help."""
    options = {key: others.get(key, one) for key, one in _ALL.items() if key not in without}
    options = {**{key: one for key, one in others.items() if key not in _ALL}, **options}

    @reproduce.command(name, help=words, epilog=f"Example: rankfactor reproduce {name} {example}")
    @opt.command(options, after="ctx")
    def _(ctx: typer.Context, **_: Any) -> None:
        run(name, ctx.params)


_IMAGES = "With --figures the loadings of four models as images."
_GENES = (
    "With --figures the coefficients of all tasks, the network of genes, the 200 leading genes of "
    "every factor and, with --gmt, the gene sets they belong to."
)
_OF_FOLDS = (*_SERIES, *_SUITE, "folds", "n_jobs", "gmt", "resume")
_SEEDS = opt.option(int, "Fits of a model with different seeds.", default=5, min=1)
_add(
    "usps",
    f"Table 2: test errors on handwritten 3 against 5 of USPS.\n\n{_IMAGES}",
    "--repeats 5 --out results",
    _OF_FOLDS,
    repeats=_SEEDS,
)
_add(
    "mnist",
    f"Table 3: test errors on handwritten 3 against 5 of MNIST.\n\n{_IMAGES}",
    "--settings paper --repeats 1",
    _OF_FOLDS,
    repeats=_SEEDS,
)
_add(
    "tb",
    f"Table 4: tuberculosis and HIV, all tasks by one factor model.\n\n{_GENES}",
    "--series GSE39941_series_matrix.txt.gz",
    ("counts", "groups", *_SUITE),
)
_add(
    "rnaseq",
    f"Table 5: RNA sequencing and sepsis.\n\n{_GENES}",
    "--series GSE63042_series_matrix.txt.gz --counts counts.tsv.gz",
    _SUITE,
)
_add(
    "suite",
    "Compare models on all available data sets: mean ranks, and where a plain SVM wins.",
    "--folder my-tables --folds 5",
    (*_SERIES, "figures", "gmt", "table"),
    settings=(_ALL["settings"][0], Settings("default")),
    folds=(_ALL["folds"][0], 5),
    repeats=(_ALL["repeats"][0], 2),
)
_add(
    "stress",
    "Compare models on all available data sets, as given and damaged: raw scale, outliers, missing "
    "values, few labels.",
    "--sets alzheimer,khan --folds 3 --out results --figures results",
    (*_SERIES, "gmt", "table"),
    settings=(_ALL["settings"][0], Settings("default")),
    folds=(_ALL["folds"][0], 5),
    max_samples=(_ALL["max_samples"][0], 400),
    figures=_path("Folder for the figure, stress.png."),
)
_add(
    "recovery",
    "Recovery of known factors from simulated tables, by our models and by other programs.\n\n"
    "Other programs are compared if they are installed: pip install mofapy2 factor_analyzer.",
    "--cases base --seen-as values,raw --repeats 1 --figures drawn",
    (*_SERIES, *_SUITE, "settings", "folds", "n_factors", "n_jobs", "gmt", "table", "resume"),
    **_SIMULATED,
    n_threads=(_ALL["n_threads"][0], 1),
    figures=_path("Folder for the figure, recovery.png."),
)
