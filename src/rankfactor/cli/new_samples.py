"""Tables of new samples, matched to the features of a model.

Samples are processed in the same chunks whether the table is in memory or read chunk by chunk, so
results do not depend on it.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.cli import options as opt
from rankfactor.cli.console import progress
from rankfactor.cli.large_tables import A_QUARTER, CHUNKWISE, open_large
from rankfactor.cli.reading import covariate_table, new_table, read
from rankfactor.errors import InputError, counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table
    from rankfactor.data.streams import TableStream
    from rankfactor.posterior import Posterior

# Predictions are refused if the table has a smaller share of the model's features.
LEAST_SHARE = 0.5

Part = tuple[list[str], Any]  # names of samples, and their values in the features of a model

OPTIONS = {
    "memory": opt.option(
        str,
        "Read the table chunk by chunk if it would need more memory than this, such as 2GB.",
        default=None,
        show_default=A_QUARTER,
    ),
    "missing_features": opt.option(
        MissingFeatures := opt.choice("missing", "error"),
        "If the table lacks features of the model: treat their values as missing, unless more than "
        "half are absent (missing), or refuse the table (error).",
        default=MissingFeatures("missing"),
    ),
    **{name: one for name, one in opt.READING.items() if name != "exclude"},
}


@dataclass(frozen=True)
class NewSamples:
    """New samples in the features of a model, chunk by chunk."""

    notes: tuple[str, ...]  # what was detected in the table
    missing: list[str]  # features of the model that the table lacks
    n_features: int  # of the model's table
    entries: float  # of the table, infinite if it is not in memory
    about_n_rows: int
    parts: Callable[[int], Iterator[Part]]  # by the number of rows of a part

    def chunks(self, step: str) -> Iterator[Part]:
        """Iterate over the chunks, reporting progress if the table is read chunk by chunk."""
        from rankfactor.posterior.tables import chunk_rows

        parts = self.parts(chunk_rows(self.n_features))
        if math.isfinite(self.entries):
            yield from parts
            return
        done = 0
        with progress() as tell:
            for part in parts:
                yield part
                done += len(part[0])
                tell(step, done, max(self.about_n_rows, done + 1))
            tell(step, done, done)

    @property
    def found(self) -> str:
        """Number of the model's features in the table, in words."""
        n = self.n_features
        return f"{n - len(self.missing)} of {counted(n, 'feature')} found"


def open_new(
    path: Path, options: dict[str, Any], posterior: Posterior, only: str | None = None
) -> NewSamples:
    """Open a table of new samples, or one sample ``only``; read it if it fits into memory."""
    from rankfactor.data.streams import named

    stream = open_large(path, options)
    if stream is not None:
        return _streamed(named(stream), path, options, posterior, only)
    given = read_new(path, options, posterior)
    frame = new_table(given, path, options, posterior.covariate_names)
    names = given.values.index.astype(str).tolist()
    if only is not None:
        if only not in names:
            raise _no_sample(path, only, names)
        frame, names = frame.iloc[[names.index(only)]], [only]
    missing = lacking(posterior, given.values, given.source, options["missing_features"])
    values = posterior.match(
        frame if posterior.named_features else frame.to_numpy(), options["missing_features"]
    )

    def parts(rows: int) -> Iterator[Part]:
        for first in range(0, len(names), rows):
            yield names[first : first + rows], values[first : first + rows]

    n_features, entries = len(posterior.table_features), math.prod(values.shape)
    return NewSamples(given.notes, missing, n_features, entries, len(names), parts)


def _streamed(
    stream: TableStream,
    path: Path,
    options: dict[str, Any],
    posterior: Posterior,
    only: str | None,
) -> NewSamples:
    """New samples of a table that is read chunk by chunk."""
    import pandas as pd

    assert stream.columns is not None
    described = stream.annotations
    wanted, places = covariate_table(
        path,
        options,
        posterior.covariate_names,
        {*stream.columns, *(() if described is None else described.columns)},
        described,
    )
    words = {*posterior.word_columns, *(name for name in places if name in stream.words)}
    known = {*posterior.table_features.tolist()}
    _refuse_text(path, [name for name in stream.words if name not in words], known)
    stream = stream.without([name for name in stream.words if name not in words])
    missing_features = options["missing_features"]
    header = pd.DataFrame(columns=stream.columns)
    missing = lacking(posterior, header, stream.name, missing_features)

    def matched(table: Any) -> Any:
        frame = table if isinstance(table, pd.DataFrame) else _dense(table)
        if len(wanted.columns):
            frame = frame.drop(columns=list(wanted.columns), errors="ignore")
            frame = pd.concat([frame, wanted.reindex(frame.index)], axis=1)
        given = frame if posterior.named_features else frame.to_numpy()
        return posterior.match(given, missing_features)

    def parts(rows: int) -> Iterator[Part]:
        said: set[str] = set()
        first: list[str] = []
        for chunk in stream.chunks(rows):
            table, names = chunk.table, [str(name) for name in chunk.table.index]
            first = first or names
            if only is not None:
                if only not in names:
                    continue
                place = names.index(only)
                table = (table if isinstance(table, pd.DataFrame) else _dense(table)).iloc[[place]]
                names = [only]
            with _once(said):
                values = matched(table)
            yield names, values
            if only is not None:
                return
        if only is not None:
            raise _no_sample(path, only, first)

    notes = (*stream.notes, CHUNKWISE)
    n_features = len(posterior.table_features)
    return NewSamples(notes, missing, n_features, math.inf, stream.about_n_rows, parts)


def _dense(table: Any) -> pd.DataFrame:
    """A sparse table with names as a frame of doubles."""
    import pandas as pd

    return pd.DataFrame(table.matrix.toarray().astype(float), table.index, table.columns)


@contextmanager
def _once(said: set[str]) -> Iterator[None]:
    """Pass on warnings of the block unless they differ from earlier ones only in numbers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        text = re.sub(r"\d+", "", str(one.message))
        if text not in said:
            said.add(text)
            warnings.warn(str(one.message), one.category, stacklevel=3)


def _no_sample(path: Path, sample: str, names: list[str]) -> InputError:
    return InputError(f"{path} has no sample {sample!r} (--sample); it has {listed(names)}.")


def _refuse_text(path: Path, names: list[str], known: set[str]) -> None:
    """Refuse columns of text that are features of the model."""
    for name in names:
        if name in known:
            raise InputError(
                f"{path}, column {name!r} is a feature of the model but contains text: correct its "
                "cells, or leave the column out to treat it as missing."
            )


def read_new(path: Path, options: dict[str, Any], posterior: Posterior) -> Table:
    """Read a table in the orientation that has the model's features."""
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
    _refuse_text(path, [name for name in table.annotations.columns if name not in words], known)
    numbers = table.values.drop(columns=words, errors="ignore")
    return replace(table, values=numbers.join(table.annotations[words]))


def lacking(
    posterior: Posterior, table: pd.DataFrame, source: str, missing_features: str
) -> list[str]:
    """Features of the model that a table lacks; refuse too many, warn of fewer."""
    if not posterior.named_features:
        return []
    missing, n_features = posterior.plan.lacking(table), len(posterior.table_features)
    share = len(missing) / n_features
    lacks = f"{source} lacks {len(missing)} of the model's {counted(n_features, 'feature')}"
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
    if 0 < len(missing) < n_features:  # the model itself refuses a table that has none
        warnings.warn(
            f"{lacks} ({share:.1%}), which are treated as missing values: {listed(missing)}.",
            UserWarning,
            stacklevel=2,
        )
    return missing
