"""``rankfactor explain``: what the features of samples add to their decisions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import compile_notice, note, result
from rankfactor.cli.new_samples import OPTIONS, matched, read_new
from rankfactor.cli.outputs import EXPLANATIONS, asked, check_outputs, files_of
from rankfactor.cli.reading import new_table
from rankfactor.errors import InputError, counted, listed
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 10  # features of a sample that are printed


@opt.command(
    OPTIONS,
    after="sample",
    table=typer.Argument(help="Table of samples; columns are matched by name."),
    out="The CSV file to write.",
    sample=typer.Option(
        help="Explain this sample alone: one line a feature, the largest contributions first."
    ),
)
def explain(
    ctx: typer.Context,
    model: Path,
    table: Path,
    out: Path = Path("explain.csv"),
    sample: str | None = None,
    covariates: list[str] | None = None,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Write what each feature adds to the decisions of samples.

    A line of the file has a sample, a task and the class that a positive decision favours, the
    decision, the base value and the contribution of every feature. Base and contributions add up to
    the decision. A contribution is compared with the feature's mean in training; it is zero where
    the value is missing.
    """
    from rankfactor.interpret import contribution_table, sample_contributions
    from rankfactor.steps.workers import workers
    from rankfactor.storage.files import written_together
    from rankfactor.storage.model_file import load_model

    posterior = load_model(model)
    if posterior.classifiers is None:
        raise InputError(f"{model} was fitted without labels, so it has no decisions to explain.")
    outputs = asked(("--out", out, EXPLANATIONS))
    check_outputs([model, table, *files_of(covariates)], outputs, force=force)
    given = read_new(table, ctx.params, posterior)
    for text in given.notes:
        note(text)
    frame = new_table(given, table, ctx.params, posterior.covariate_names)
    names = given.values.index.astype(str).tolist()
    if sample is not None:
        if sample not in names:
            raise InputError(
                f"{table} has no sample {sample!r}, as --sample asks for; it has {listed(names)}."
            )
        place = [names.index(sample)]
        frame, names = frame.iloc[place], [sample]
    values, missing = matched(posterior, given, frame, ctx.params["missing_features"])
    with compile_notice(as_json), workers(n_threads, math.prod(values.shape)) as pool:
        found = posterior.explanations(values, names, pool)
    n_features = len(posterior.table_features)
    lines = [
        f"{counted(len(names), 'sample')} explained; {n_features - len(missing)} of "
        f"{counted(n_features, 'feature')} found."
    ]
    content: dict[str, Any] = {
        "explanations": out,
        "n_samples": len(names),
        "n_features_missing": len(missing),
        "notes": list(given.notes),
    }
    if sample is None:
        whole = contribution_table(posterior, found)
    else:
        whole = sample_contributions(posterior, found, sample)
        parts = [part for _, part in whole.groupby(["task", "class"], sort=False)]
        content["sample"] = sample
        content["largest"] = [part.head(_NAMED).to_dict("records") for part in parts]
        lines += [_in_words(part) for part in parts]
    with written_together(out) as (file,):
        csv_of(whole, file)
    result(as_json, content, [*lines, f"Explanations: {out}"])


def _in_words(part: pd.DataFrame) -> str:
    """Decision of a sample for one class, its base, and the features that add most."""
    first = part.iloc[0]
    top = part.head(_NAMED)
    pairs = zip(top["feature"].tolist(), top["contribution"].tolist(), strict=True)
    named = [f"{feature} {added:+.2f}" for feature, added in pairs if added]
    return (
        f"{first['task']}, {first['class']}: decision {first['decision']:+.2f}, base "
        f"{first['base']:+.2f}; largest contributions: {', '.join(named) or 'none'}."
    )
