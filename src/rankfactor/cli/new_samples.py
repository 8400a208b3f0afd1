"""Tables of new samples, matched to the features of a model, for the commands that apply one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.cli import options as opt
from rankfactor.cli.reading import read
from rankfactor.errors import InputError, counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table
    from rankfactor.posterior import Posterior

# With fewer of the model's features than this share, a prediction would be a guess.
LEAST_SHARE = 0.5
OPTIONS = {
    "missing_features": opt.option(
        MissingFeatures := opt.choice("missing", "error"),
        "If the table lacks features of the model: treat their values as missing, unless more than "
        "half are absent (missing), or refuse (error).",
        default=MissingFeatures("missing"),
    ),
    **{name: one for name, one in opt.READING.items() if name != "exclude"},
}


def read_new(path: Path, options: dict[str, Any], posterior: Posterior) -> Table:
    """Read a table, the way up in which it has the model's features."""
    table = read(path, options)
    if not posterior.named_features:
        return table
    known = {*posterior.table_features.tolist(), *posterior.word_columns}
    across, down = (len(known & set(names)) for names in (table.values.columns, table.values.index))
    if options["orient"] is None and down > across:
        on_its_side = any(text.startswith("features in rows") for text in table.notes)
        orient = "samples-in-rows" if on_its_side else "features-in-rows"
        table = read(path, {**options, "orient": orient})
        said = [text for text in table.notes if not text.startswith("features in rows")]
        said.append(f"{orient.replace('-', ' ')} (by the names of the model's features)")
        table = replace(table, notes=tuple(said))
    words = [name for name in posterior.word_columns if name in table.annotations.columns]
    for name in table.annotations.columns:
        if name in known and name not in words:
            raise InputError(
                f"{path}, column {name!r} is a feature of the model but holds text: mend its "
                "cells, or leave the column out to have it treated as missing."
            )
    numbers = table.values.drop(columns=words, errors="ignore")
    return replace(table, values=numbers.join(table.annotations[words]))


def matched(
    posterior: Posterior, table: Table, frame: pd.DataFrame, missing_features: str
) -> tuple[Any, list[str]]:
    """Values in the columns of training, and the names of the features that were not found."""
    if not posterior.named_features:
        return posterior.match(frame.to_numpy(), missing_features), []
    missing, n_features = posterior.plan.lacking(table.values), len(posterior.table_features)
    share = len(missing) / n_features
    lacks = f"{table.source} lacks {len(missing)} of the model's {counted(n_features, 'feature')}"
    if missing and missing_features == "error":
        raise InputError(
            f"{lacks}: {listed(missing)}; add them, or leave out --missing-features error to treat "
            "them as missing values."
        )
    if 1 - share < LEAST_SHARE and len(missing) < n_features:
        raise InputError(
            f"{lacks} ({share:.0%}), too many to predict from: check that the names are of the "
            f"same kind ({listed(missing)} are missing)."
        )
    values = posterior.match(frame, missing_features)
    if missing:
        warnings.warn(
            f"{lacks} ({share:.1%}), which are treated as missing values: {listed(missing)}.",
            UserWarning,
            stacklevel=2,
        )
    return values, missing
