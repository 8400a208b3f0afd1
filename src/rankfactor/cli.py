"""The command line: ``rankfactor demo``, ``fit`` and ``predict``.

What takes long to import is imported inside the commands, so that ``--help`` answers at once.
Results go to stdout; progress, warnings and errors to stderr.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from rankfactor.__about__ import __version__
from rankfactor.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.demo import Progress
    from rankfactor.posterior import Posterior

BAD_INPUT = 2
INTERRUPTED = 130  # as a shell reports a program stopped by Ctrl-C


class _PlainErrors(TyperGroup):
    """Commands whose errors and warnings are one readable line each."""

    def invoke(self, ctx: Any) -> Any:
        with _plain_warnings():
            try:
                return super().invoke(ctx)
            except InputError as error:
                _say(f"error: {_one_line(error)}", err=True)
                raise typer.Exit(BAD_INPUT) from error
            except KeyboardInterrupt as error:
                _say("interrupted: nothing was written.", err=True)
                raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    cls=_PlainErrors,
    no_args_is_help=True,
    add_completion=False,
    # A traceback of ours is for a report of the fault, and has to be complete and plain.
    pretty_exceptions_enable=False,
    help="Discriminative Bayesian factor analysis of non-Gaussian data.",
    epilog="Example: rankfactor demo --out my-demo",
)

Factors = Annotated[
    int, typer.Option("--factors", min=1, help="Most factors; those not needed switch off.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Cores to use; the answer does not depend on it.",
        show_default="all",
    ),
]


class MissingFeatures(StrEnum):
    """What to do about features of the model that a table lacks."""

    ERROR = "error"
    MISSING = "missing"


def _show_version(wanted: bool) -> None:
    if wanted:
        _say(f"rankfactor {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Take the options that belong to no command."""


@app.command(epilog="Example: rankfactor demo --out my-demo --folds 5")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the model.")] = Path(
        "rankfactor-demo"
    ),
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 10,
    factors: Factors = 20,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Compare models on the bundled Alzheimer data and write a report."""
    from rankfactor.demo import run_demo

    with _progress() as progress:
        result = run_demo(
            out,
            n_folds=folds,
            n_factors=factors,
            random_state=seed,
            n_threads=threads,
            progress=progress,
        )
    table = Table(title=f"{folds}-fold cross-validation: mean (standard deviation)")
    for heading in ("task", "model"):
        table.add_column(heading, overflow="fold")
    for heading in ("AUC", "accuracy", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for _, row in result.evaluation.summary().iterrows():
        table.add_row(
            row["task"],
            row["model"],
            f"{row['auc']:.3f} ({row['auc_sd']:.3f})",
            f"{row['accuracy']:.3f} ({row['accuracy_sd']:.3f})",
            f"{row['seconds']:.1f}",
        )
    Console().print(table)
    _say(f"Model: {result.model}")
    _say(f"Folds: {result.folds}")
    _say(f"Report: {result.report}")


@app.command(epilog="Example: rankfactor fit proteins.csv --labels patients.csv:status")
def fit(
    table: Annotated[
        Path, typer.Argument(help="Table of samples x features (.csv, .tsv or .txt; .gz, .xz).")
    ],
    labels: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN|FILE:COLUMN",
            help="Label column, of the table or of another file; once for every task.",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            help="R-L-BSVM, G-L-BSVM, G-L-Probit, OR-L-BSVM, OR-L-Probit, R-NL-BSVM or G-NL-BSVM."
        ),
    ] = "R-L-BSVM",
    training: Annotated[
        str, typer.Option(help="bayes, or predictive: factors that predict, often better.")
    ] = "bayes",
    factors: Factors = 20,
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.rankfactor"),
    report: Annotated[
        Path | None, typer.Option(help="Also write a report in HTML.", show_default="none")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Fit a model to a table and its labels, and keep it in a file."""
    from rankfactor.demo import fit_with_progress, settings_of
    from rankfactor.estimators import RankFactorClassifier
    from rankfactor.evaluation.watch import kinds, overheard
    from rankfactor.files import check_destinations, written_together
    from rankfactor.modelfile import save_model

    outputs = [out] if report is None else [out, report]
    check_destinations(*outputs)
    features, answers = _read_labelled(table, labels)
    classifier = RankFactorClassifier(
        model, training=training, n_factors=factors, random_state=seed, n_threads=threads
    )
    with _progress() as progress, overheard() as heard:
        interrupted = fit_with_progress(classifier, features, answers, progress)
    with written_together(*outputs) as parts:
        save_model(classifier.posterior_, parts[0])
        if report is not None:
            from rankfactor.report import write_report

            write_report(
                parts[1],
                classifier.posterior_,
                title=f"{model} of {table.name}",
                source=str(table),
                warnings=[one.text for one in kinds(heard)],
                settings=settings_of(classifier) | {"seed": seed},
            )
    _say(
        f"{model}: {len(features)} samples, {features.shape[1]} features, "
        f"{classifier.n_active_} of {factors} factors in use, {classifier.n_iter_} iterations."
    )
    _say(f"Model: {out}")
    if report is not None:
        _say(f"Report: {report}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@app.command(epilog="Example: rankfactor predict model.rankfactor new.csv --out predictions.csv")
def predict(
    model: Annotated[Path, typer.Argument(help="Model file that `rankfactor fit` wrote.")],
    table: Annotated[
        Path, typer.Argument(help="Table of new samples; columns are matched by name.")
    ],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
    missing_features: Annotated[
        MissingFeatures,
        typer.Option(
            help="What to do if the table lacks features of the model: refuse (error), or treat "
            "their values as missing (missing)."
        ),
    ] = MissingFeatures.ERROR,
    threads: Threads = None,
) -> None:
    """Predict the classes of new samples, and write them to a CSV file."""
    from rankfactor.data import numeric_table, read_frame
    from rankfactor.files import check_destinations, written_together
    from rankfactor.modelfile import load_model

    check_destinations(out)
    posterior = load_model(model)
    if posterior.classifiers is None:
        raise InputError(f"{model} was fitted without labels, so it predicts no classes.")
    frame = read_frame(table)
    if posterior.named_features:
        # Text in columns that the model does not use, such as old labels, does no harm.
        frame = frame[[name for name in frame.columns if name in set(posterior.feature_names)]]
    values = numeric_table(frame, source=table)
    predictions = _predictions(posterior, values, missing_features.value, threads)
    with written_together(out) as (part,):
        predictions.to_csv(part, index=False)
    _say(f"{len(predictions)} samples predicted.")
    _say(f"Predictions: {out}")


def _predictions(
    posterior: Posterior, table: pd.DataFrame, missing_features: str, threads: int | None
) -> pd.DataFrame:
    """Class, probabilities and decisions of every sample, one row each."""
    import pandas as pd

    from rankfactor.features import match_columns
    from rankfactor.inference.threads import workers

    classifiers = posterior.classifiers
    assert classifiers is not None
    names = posterior.feature_names.astype(object) if posterior.named_features else None
    n_features = len(posterior.feature_names)
    given: Any = table if posterior.named_features else table.to_numpy()
    values = match_columns(given, names, n_features, missing_features, estimator=posterior)
    with workers(threads) as pool:
        decision = posterior.decide(values, pool)
    columns: dict[str, Any] = {"sample": table.index.astype(str)}
    answers = zip(
        classifiers.tasks,
        posterior.predictions(decision[0]),
        posterior.probabilities(decision),
        strict=True,
    )
    for number, (task, predicted, probability) in enumerate(answers):
        columns[f"{task.name}_predicted"] = predicted
        for j, label in enumerate(task.classes):
            columns[f"{task.name}_probability_{label}"] = probability[:, j]
        mean = decision[0][:, classifiers.rows_of(number)]
        if task.n_rows == 1:
            columns[f"{task.name}_decision"] = mean[:, 0]
        else:
            for j, label in enumerate(task.classes):
                columns[f"{task.name}_decision_{label}"] = mean[:, j]
    return pd.DataFrame(columns)


def _read_labelled(path: Path, labels: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table and labels, of the table's own columns and of other files."""
    import pandas as pd

    from rankfactor.data import align_labels, numeric_table, read_frame, read_labels, split_labels
    from rankfactor.data.textfile import read_layout

    header = set(read_layout(path).names)
    places = [_label_place(path, header, text) for text in labels]
    columns = [column for _, column in places]
    for column in columns:
        if columns.count(column) > 1:
            raise InputError(f"the label {column!r} is given more than once: rename one of them.")
    own = [column for file, column in places if file is None]
    features, within = split_labels(read_frame(path, text_columns=own), own, source=path)
    table = numeric_table(features, source=path)
    parts = []
    for file, column in places:
        if file is None:
            part, source = within[[column]], path
        else:
            _, part = split_labels(read_labels(file), [column], source=file)
            source = file
            if column in table.columns:
                warnings.warn(
                    f"{path} has a feature called {column!r}, as the label is: if it is the label "
                    "itself, leave it out, or the model is told the answer.",
                    UserWarning,
                    stacklevel=2,
                )
        parts.append(align_labels(table.index, part, source=source))
    return table, pd.concat(parts, axis=1)


def _label_place(table: Path, header: set[str], text: str) -> tuple[Path | None, str]:
    """File (None for the table itself) and column of a ``--labels`` option."""
    # A column of the table may have a colon in its name, and a path one after its drive.
    file, colon, column = text.rpartition(":")
    if text in header or not colon or not file:
        return None, text
    if not column:
        raise InputError(f"--labels {text} names no column: write {file}:COLUMN.")
    return (None if Path(file).absolute() == table.absolute() else Path(file)), column


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show steps on stderr: moving bars on a terminal, else one line per finished step."""
    console = Console(stderr=True)
    if not console.is_terminal:

        def tell(step: str, done: int, total: int) -> None:
            if done == total:
                _say(f"{step}: done" + (f" ({total})" if total > 1 else ""), err=True)

        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bars: dict[str, Any] = {}
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    ) as display:

        def show(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = display.add_task(step, total=total)
            display.update(bars[step], completed=done, total=total)

        yield show


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show every warning once, as one line on stderr."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = f"warning: {_one_line(message)}"
        if text not in said:
            said.add(text)
            _say(text, err=True)

    with warnings.catch_warnings():
        # Ours are for the user, whatever the filters; those for developers stay as they are.
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _say(text: str, *, err: bool = False) -> None:
    """Write one line as it is: not wrapped, not coloured, no markup."""
    Console(stderr=err).print(text, markup=False, highlight=False, soft_wrap=True)


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


def main() -> None:
    """Run the command line."""
    try:
        app()
    except KeyboardInterrupt:  # before a command has begun
        _say("interrupted.", err=True)
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
