"""``rankfactor stability``: variation of a model between half-samples."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.belonging import hashes
from rankfactor.cli.console import (
    compile_notice,
    json_of,
    print_rows,
    progress,
    result,
    say,
)
from rankfactor.cli.estimator import asked_for
from rankfactor.cli.many_fits import record_of, resumable
from rankfactor.cli.on_cluster import jobs_at
from rankfactor.cli.outputs import Kind, check_outputs, files_of, in_folder, json_object, table_of
from rankfactor.cli.start import INTERRUPTED
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.posterior import Posterior
    from rankfactor.posterior.stability import Stability

RECORD, ARRAYS = "result.json", "stability.zip"


def _is_arrays(path: Path) -> bool:
    from rankfactor.cli.stability_folder import FORMAT
    from rankfactor.storage.archive import read_header

    return bool(read_header(path, FORMAT))


_TABLE = "a table of `rankfactor stability`"
FILES = {
    "effects.csv": table_of(_TABLE, "task", "class"),
    "loadings.csv": table_of(_TABLE, "factor", "feature", "loading"),
    "factors.csv": table_of(_TABLE, "factor", "match"),
    "coefficients.csv": table_of(_TABLE, "task", "class", "factor"),
    RECORD: json_object("a result of `rankfactor stability`", "n_fits", "fits_planned"),
    ARRAYS: Kind("a file of `rankfactor stability`", _is_arrays),
}
PAIRS = {"problem.json": json_object("of `rankfactor stability`", "library", "seed", "table")}
SHOWN = 10  # features of a task


@opt.command(
    {**opt.READING, **opt.REFITTED, **opt.GIBBS},
    after="covariates",
    labels=typer.Option(
        metavar="COLUMN|FILE:COLUMN",
        help=f"{opt.LABELS} Without it, only the stability of the factors is assessed.",
    ),
    model=opt.PRESETS + ". Without labels, only its first part is used.",
    repeats=typer.Option(min=4, help="Number of half-sample fits, rounded up to an even number."),
    top=typer.Option(
        min=1,
        help="Number of leading features of a task or factor.",
        show_default="20, or a quarter of the features",
    ),
    out=f"Folder for {', '.join(FILES)} and the finished pairs of fits; created if needed.",
    resume=typer.Option(
        "--resume", help="Keep the finished pairs in the folder and compute the rest."
    ),
)
def stability(
    ctx: typer.Context,
    table: Path,
    labels: list[str] | None = None,
    model: str = "R-L-BSVM",
    repeats: int = 50,
    top: int | None = None,
    drop_class: list[str] | None = None,
    positive: list[str] | None = None,
    groups: str | None = None,
    covariates: list[str] | None = None,
    n_jobs: int = 1,
    out: Path = Path("rankfactor-stability"),
    resume: bool = False,
    random_state: int = 0,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Fit a model to complementary halves of the samples, and report how much it varies.

    For every feature and class: the effect on the decision, its spread, and the share of the fits
    in which the feature is among the leading ones with the same sign. The same for loadings and
    coefficients, and how well every factor is recovered. Ctrl-C keeps the finished pairs.
    """
    from rankfactor.cli.stability_folder import write_arrays
    from rankfactor.cli.stability_tables import tables
    from rankfactor.evaluation import stability as refit
    from rankfactor.evaluation.pair_store import PairFolder
    from rankfactor.evaluation.watch import overheard, watched_fit
    from rankfactor.storage.files import folder, written_together

    pairs = out / "pairs"
    written = [*in_folder("--out", out, FILES), *in_folder("--out", pairs, PAIRS)]
    check_outputs([table, *files_of(labels, groups, covariates)], written, force=force)
    asked = asked_for(ctx, table, divides=True)
    data, fitted = asked.data, asked.estimator
    cluster, fitted.cluster = fitted.cluster, None  # for the half-samples, not for each fit
    with folder(out):
        with (
            compile_notice(as_json),
            jobs_at(cluster, n_jobs) as at_once,
            progress() as tell,
            overheard() as heard,
        ):
            asked.choose_factors()
            asked.check_halves(pairs if resume else None)
            step = partial(tell, "Fit to all samples")
            together = data.groups if labels else None
            if watched_fit(fitted, data.values, asked.labels, step, together):
                raise KeyboardInterrupt
            posterior = fitted.posterior_.with_positive(data.positive)
            with resumable(PairFolder(pairs), "pair"):
                found = refit(
                    fitted,
                    data.values,
                    asked.labels,
                    repeats=repeats,
                    top=top,
                    groups=data.groups,
                    posterior=posterior,
                    random_state=random_state,
                    n_jobs=at_once,
                    progress=tell,
                    folder=pairs,
                    resume=resume,
                )
        posterior = posterior.with_stability(found)
        planned = 2 * -(-repeats // 2)
        frames = tables(posterior)
        content = {
            **record_of(table, data, heard),
            "n_factors": posterior.n_factors,
            "n_fits": found.n_fits,
            "fits_planned": planned,
            "complete": found.n_fits >= planned,
            "top": found.top,
            "settings": asked.settings,
            "factor_match": dict(zip(posterior.factor_names, found.factor_match, strict=True)),
            "clear_effects": _clear(frames["effects.csv"]),
        }
        with written_together(*(out / name for name in FILES)) as paths:
            parts = dict(zip(FILES, paths, strict=True))
            for name, frame in frames.items():
                csv_of(frame, parts[name])
            write_arrays(parts[ARRAYS], posterior)
            files = hashes({name: part for name, part in parts.items() if name != RECORD})
            parts[RECORD].write_text(json_of({**content, "files": files}) + "\n", "utf-8")
    result(as_json, {**content, "folder": out}, ())
    if not as_json:
        say(in_short(found))
        _show(posterior, frames["effects.csv"])
        say(f"Results: {out}")
    if not content["complete"]:
        raise typer.Exit(INTERRUPTED)


def in_short(stability: Stability) -> str:
    """One sentence on how stability was assessed."""
    return (
        f"Stability: {stability.n_fits} fits to half-samples "
        f"({stability.n_pairs} complementary pairs)."
    )


def _clear(effects: pd.DataFrame) -> dict[str, int]:
    """Number of clear effects of every row."""
    rows = effects["task"] + ": " + effects["class"]
    return {str(row): int(n) for row, n in effects["clear"].groupby(rows, sort=False).sum().items()}


def _show(posterior: Posterior, effects: pd.DataFrame) -> None:
    """Print the features with the largest effects, and how well factors are recovered."""
    found = posterior.stability
    assert found is not None
    numbers: dict[str, Any] = {"justify": "right", "no_wrap": True}
    columns = {"feature": {"overflow": "fold"}}
    columns |= dict.fromkeys(("effect", "sd", f"in top {found.top}"), numbers)
    for (task, label), part in effects.groupby(["task", "class"], sort=False):
        rows = [
            [str(one.feature), f"{one.effect:+.2f}", f"{one.sd:.2f}", f"{one.selected:.0%}"]
            for one in part.head(SHOWN).itertuples()
        ]
        print_rows(f"{task}: {label}, effect from first to third quartile", columns, rows)
    match = found.factor_match
    say(
        f"Factors: mean |cosine| with their match in half-sample fits {match.mean():.2f} "
        f"(lowest {match.min():.2f})."
    )
