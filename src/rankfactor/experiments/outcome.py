"""`Outcome`: result of an experiment, as a frame, as text and as values for JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd

from rankfactor.__about__ import __version__

Progress = Callable[[str, int, int], None]  # step, part done, total
# Headings of columns, which mean and standard deviation share, and decimals of each.
_MEASURES = {
    "error": ("error %", 2),
    "auc": ("AUC", 3),
    "accuracy": ("accuracy", 3),
    "seconds": ("seconds", 1),
}
_WORDS = ("data", "task", "model", "settings")


# Equality of frames is elementwise, so the generated comparison has no single truth value.
@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of an experiment.

    There is one row per model and way of settings (and data set and task if there are several):
    ``model``, ``settings``, measures (``error``, or ``auc`` and ``accuracy``) with ``..._sd``,
    ``seconds`` per fit, ``chosen`` (chosen settings with counts) and the paper's numbers as
    ``paper_...``, NaN if it has none.
    """

    name: str
    title: str
    rows: pd.DataFrame
    fits: pd.DataFrame  # one row per fit
    settings: Mapping[str, Any]  # what the experiment was run with
    notes: tuple[str, ...] = ()  # notes for the reader, one sentence each
    summary: pd.DataFrame = field(default_factory=pd.DataFrame)  # mean ranks of a suite
    complete: bool = True  # False if it was interrupted; finished parts are kept

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; the writer of JSON must turn NaN into null."""
        return {
            "experiment": self.name,
            "title": self.title,
            "rankfactor": __version__,
            "complete": self.complete,
            "settings": dict(self.settings),
            "rows": self.rows.to_dict("records"),
            "summary": self.summary.to_dict("records"),
            "fits": self.fits.to_dict("records"),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`; unknown values are NaN or null."""
        rows, fits, summary = (
            pd.DataFrame([{k: np.nan if v is None else v for k, v in one.items()} for one in part])
            for part in (values["rows"], values["fits"], values["summary"])
        )
        name, title, settings = values["experiment"], values["title"], values["settings"]
        notes, complete = tuple(values["notes"]), values["complete"]
        return cls(name, title, rows, fits, settings, notes, summary, complete)

    def readable(self) -> pd.DataFrame:
        """The rows as text, with the spread after each mean and the paper's numbers beside ours."""
        shown: dict[str, Any] = {
            name: self.rows[name].astype(str) for name in _WORDS if name in self.rows
        }
        for name, (heading, digits) in _MEASURES.items():
            for prefix, place in (("", heading), ("paper_", f"paper: {heading}")):
                if prefix + name in self.rows and self.rows[prefix + name].notna().any():
                    spread = self.rows.get(f"{prefix}{name}_sd")
                    shown[place] = _text(self.rows[prefix + name], spread, digits)
        if (self.rows["chosen"] != "").any():
            shown["chosen"] = self.rows["chosen"]
        return pd.DataFrame(shown)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Tables of text to show, by title; the first is the main one."""
        tables = {self.title: self.readable()}
        if len(self.summary):
            tables["Mean ranks over data sets"] = readable_ranks(self.summary)
        return tables

    def markdown(self) -> str:
        """The experiment as a section of a page."""
        parts = [f"## {self.title}"]
        for number, (title, table) in enumerate(self.tables().items()):
            parts += [*([f"**{title}**"] if number else []), markdown_table(table)]
        parts += list(self.notes)
        told = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        parts.append(f"rankfactor {__version__}; {told}.")
        return "\n\n".join(parts) + "\n"


Keep = Callable[[Outcome], None]  # takes the results so far


def in_turn(
    parts: Sequence[Any],
    run: Callable[[Any], bool],
    outcome: Callable[..., Outcome],
    keep: Keep | None,
) -> Outcome:
    """Run the named parts of an experiment one after the other.

    ``run`` returns whether a part added results; ``outcome`` returns the results so far, with a
    note on what is missing. Ctrl-C keeps finished parts; without any, it is raised.
    """
    for number, part in enumerate(parts):
        try:
            news = run(part)
        except KeyboardInterrupt:
            if not number:
                raise
            return outcome(f"Interrupted in {part.name}: it and the following parts are left out.")
        if news and keep is not None and number < len(parts) - 1:
            left = ", ".join(one.name for one in parts[number + 1 :])
            keep(outcome(f"Not finished: {left}."))
    return outcome()


def readable_ranks(summary: pd.DataFrame) -> pd.DataFrame:
    """Mean ranks as text."""
    digits = {"mean_rank": 2, "auc": 3, "difference": 3, "sets_lost": 0}
    digits |= {"accuracy": 3, "seconds": 1}
    headings = {"auc": "AUC", "difference": "AUC less L-SVM's", "sets_lost": "sets lost to L-SVM"}
    return pd.DataFrame(
        {
            headings.get(name, name.replace("_", " ")): (
                _text(summary[name], summary.get(f"{name}_se"), digits[name])
                if name in digits
                else summary[name].astype(str)
            )
            for name in summary.columns
            if not name.endswith("_se")
        }
    )


def markdown_table(frame: pd.DataFrame) -> str:
    """A frame of text as a table of Markdown."""
    lines = [list(frame.columns), ["---"] * frame.shape[1], *frame.to_numpy().tolist()]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def counted(values: pd.Series[Any]) -> str:
    """Choices with their counts, most frequent first."""
    counts = values[values != ""].value_counts()
    if len(counts) == 1:
        return str(counts.index[0])
    return "; ".join(f"{value} ({count})" for value, count in counts.items())


def _text(mean: pd.Series[Any], spread: pd.Series[Any] | None, digits: int) -> list[str]:
    spreads = np.full(len(mean), np.nan) if spread is None else spread.to_numpy(float)
    return [
        "" if np.isnan(m) else f"{m:.{digits}f}" + ("" if np.isnan(s) else f" ({s:.{digits}f})")
        for m, s in zip(mean.to_numpy(float), spreads, strict=True)
    ]
