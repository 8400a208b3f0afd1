"""``rankfactor explain``: contributions of the features to the decisions of samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import compile_notice, note, result
from rankfactor.cli.frame_files import frame_files
from rankfactor.cli.new_samples import OPTIONS, open_new
from rankfactor.cli.outputs import EXPLANATIONS, asked, check_outputs, files_of
from rankfactor.errors import InputError, counted

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 10  # features of a sample that are printed


@opt.command(
    OPTIONS,
    after="sample",
    table=typer.Argument(help="Table of samples; columns are matched by name."),
    out="The file to write: .csv, .parquet or .zarr.",
    sample=typer.Option(
        help="Explain this sample only: one row per feature, largest contributions first."
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
    """Write the contribution of each feature to the decisions of samples.

    Each row of the file has a sample, a task and the class that a positive decision favours, the
    decision, the base value and the contribution of every feature. Base and contributions add up to
    the decision. A contribution is relative to the feature's training mean; it is zero where the
    value is missing.
    """
    import numpy as np

    from rankfactor.interpret import contribution_table, sample_contributions
    from rankfactor.steps.workers import workers
    from rankfactor.storage.model_file import load_model

    posterior = load_model(model)
    if posterior.classifiers is None:
        raise InputError(f"{model} was fitted without labels, so it has no decisions to explain.")
    outputs = asked(("--out", out, EXPLANATIONS))
    check_outputs([model, table, *files_of(covariates)], outputs, force=force)
    new = open_new(table, ctx.params, posterior, sample)
    for text in new.notes:
        note(text)
    n_samples, largest, said = 0, [], []
    with (
        compile_notice(as_json),
        workers(n_threads, new.entries) as pool,
        frame_files(out) as (file,),
    ):
        for names, values in new.chunks("Explaining"):
            found = posterior.explanations(values, names, pool)
            n_samples += len(names)
            if sample is None:
                # All rows of a sample, then those of the next.
                lines = np.arange(len(found) * len(names)).reshape(len(found), -1).T.ravel()
                file.append(contribution_table(posterior, found).iloc[lines])
                continue
            whole = sample_contributions(posterior, found, sample)
            file.append(whole)
            parts = [part for _, part in whole.groupby(["task", "class"], sort=False)]
            largest = [part.head(_NAMED).to_dict("records") for part in parts]
            said = [_in_words(part) for part in parts]
    content: dict[str, Any] = {
        "explanations": out,
        "n_samples": n_samples,
        "n_features_missing": len(new.missing),
        "notes": list(new.notes),
    }
    if sample is not None:
        content |= {"sample": sample, "largest": largest}
    first = f"{counted(n_samples, 'sample')} explained; {new.found}."
    result(as_json, content, [first, *said, f"Explanations: {out}"])


def _in_words(part: pd.DataFrame) -> str:
    """Decision of a sample for one class, its base, and the largest contributions."""
    first = part.iloc[0]
    top = part.head(_NAMED)
    pairs = zip(top["feature"].tolist(), top["contribution"].tolist(), strict=True)
    named = [f"{feature} {added:+.2f}" for feature, added in pairs if added]
    return (
        f"{first['task']}, {first['class']}: decision {first['decision']:+.2f}, base "
        f"{first['base']:+.2f}; largest contributions: {', '.join(named) or 'none'}."
    )
