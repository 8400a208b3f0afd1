"""The program: its commands, its version, and the handling of errors and Ctrl-C."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rankfactor.__about__ import __version__
from rankfactor.cli.console import in_options, one_line, plain_warnings, say
from rankfactor.cli.cv import cv
from rankfactor.cli.datasets import datasets
from rankfactor.cli.demo import demo
from rankfactor.cli.explain import explain
from rankfactor.cli.fit import fit
from rankfactor.cli.inspect import inspect
from rankfactor.cli.interpret import interpret
from rankfactor.cli.predict import predict
from rankfactor.cli.report import report
from rankfactor.cli.reproduce import reproduce
from rankfactor.cli.stability import stability
from rankfactor.cli.start import BAD_INPUT, INTERRUPTED, Interruptible, is_interruption
from rankfactor.errors import InputError


class _PlainErrors(TyperGroup):
    """Commands whose errors and warnings are one readable line each."""

    def invoke(self, ctx: Any) -> Any:
        with plain_warnings():
            try:
                with Interruptible():
                    return super().invoke(ctx)
            except InputError as error:
                say(f"error: {in_options(one_line(error))}", err=True)
                raise typer.Exit(BAD_INPUT) from error
            except BaseException as error:
                if isinstance(error, typer.Exit) or not is_interruption(error):
                    raise
                said = str(error) if isinstance(error, KeyboardInterrupt) else ""
                say(f"interrupted: {said or 'nothing was written'}.", err=True)
                raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    cls=_PlainErrors,
    no_args_is_help=True,
    add_completion=False,
    # Tracebacks are for bug reports, so they are complete and plain.
    pretty_exceptions_enable=False,
    help="Discriminative Bayesian factor analysis of non-Gaussian data.",
    epilog="Example: rankfactor demo --out my-demo",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"rankfactor {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options that belong to no command."""


for _command, _example in {
    fit: "proteins.csv --labels patients.csv:status --out model.rankfactor",
    predict: "model.rankfactor new.csv --out predictions.csv",
    explain: "model.rankfactor new.csv --out explain.csv --sample P-17",
    cv: "proteins.csv --labels patients.csv:status --models R-L-BSVM,L-SVM --folds 10 --repeats 5 "
    "--groups patients.csv:family",
    stability: "proteins.csv --labels patients.csv:status --repeats 50 --n-jobs -1",
    inspect: "proteins.csv",
    report: "model.rankfactor --cv rankfactor-cv --out report.html",
    interpret: "model.rankfactor --gmt pathways.gmt --out interpretation",
    demo: "--out my-demo --folds 5",
}.items():
    app.command(epilog=f"Example: rankfactor {_command.__name__} {_example}")(_command)
app.add_typer(datasets, name="datasets")
app.add_typer(reproduce, name="reproduce")
