"""Output of the commands: results on stdout, everything else on stderr.

Messages of the library name arguments, ``n_factors=5`` or ``Gibbs(n_draws=500)``. `in_options`
replaces them with the options of the command line. Names in quotes and parts of file names stay
unchanged: they are the user's own.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rich.console import Console

from rankfactor.cli.options import ESTIMATOR, GIBBS
from rankfactor.cli.start import silence

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[..., None]  # step, how much of it is done, out of how much, and a note
_warned: ContextVar[dict[str, None]] = ContextVar("warned")

# Arguments of the library that have an option; a test compares this with its signatures.
_SAME = (
    *("covariates", "exclude", "groups", "id_column", "layer", "missing_features", "model"),
    *("memory", "models", "n_jobs", "n_threads", "orient", "positive", "random_state", "scratch"),
    "sheet",
)
OPTIONS = {
    **{name: "--" + name.replace("_", "-") for name in (*_SAME, *ESTIMATOR, *GIBBS)},
    "n_folds": "--folds",
    "n_repeats": "--repeats",
    "repeats": "--repeats",
    "top": "--top",
}
_START, _END = r"(?<![\w'\"/.=-])", r"(?!\w|['\"/=]|\.\w)"
_ANY = "|".join(sorted(OPTIONS, key=len, reverse=True))
_VALUE = r"'[^']*'|\"[^\"]*\"|[\w+-]+(?:\.\w+)*"
_GIBBS = re.compile(r"(?:engine=)?\bGibbs\(([^()]*)\)")
_GIVEN = re.compile(rf"{_START}({_ANY})=({_VALUE})")
# Names with an underscore are always arguments; other names only in the contexts below.
_NAME = re.compile(rf"{_START}({'|'.join(name for name in OPTIONS if '_' in name)}){_END}")
_WORD = re.compile(
    rf"(?<=\bdrop )({_ANY}){_END}|(?<=\braise )({_ANY}){_END}|(?<=\blower )({_ANY}){_END}|"
    rf"(?<=\bset )({_ANY})(?= to\b)|(?:(?<=^)|(?<=: ))({_ANY})(?= (?:must be|means|names)\b)"
)
_PHRASES = {
    r"\bexclude (it|them) from X\b": r"exclude \1 with --exclude",
    r"\bleave out the class ('[^']*'|\"[^\"]*\")": r"leave it out (--drop-class \1)",
    r"\bFound array with n_samples=(\d+), 1 sample is not enough": "the table has too few samples",
}


def in_options(text: str) -> str:
    """A message of the library with options in place of arguments.

    Examples
    --------
    >>> in_options("n_factors=30 needs as many samples: lower n_factors.")
    '--n-factors 30 needs as many samples: lower --n-factors.'
    >>> in_options("set Gibbs(n_draws=500), or engine='vb'.")
    'set --n-draws 500, or --engine vb.'
    """
    text = _GIBBS.sub(lambda found: found[1].replace(", ", " ") or "engine=gibbs", text)
    text = _GIVEN.sub(lambda found: f"{OPTIONS[found[1]]} {_bare(found[2])}", text)
    text = _NAME.sub(lambda found: OPTIONS[found[1]], text)
    text = _WORD.sub(lambda found: OPTIONS[found[0]], text)
    for pattern, words in _PHRASES.items():
        text = re.sub(pattern, words, text)
    return text


def _bare(value: str) -> str:
    """A value without quotes, if the shell does not need them."""
    return value[1:-1] if re.fullmatch(r"(['\"])[\w.+-]+\1", value) else value


def say(text: str, *, err: bool = False) -> None:
    """Write one line as it is: not wrapped, not coloured, no markup.

    A line on stderr that cannot be written, as in a log on a full disk, does not end the command.
    """
    console = Console(stderr=err)
    try:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    except OSError:
        if not err:
            raise
        silence(console.file)


def note(text: str) -> None:
    """Print a note on stderr."""
    say(f"note: {in_options(one_line(text))}", err=True)


def one_line(message: object) -> str:
    """Text without line breaks."""
    return " ".join(str(message).split())


def result(as_json: bool, content: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Print the result of a command: as one JSON object with its warnings, or as lines."""
    if not as_json:
        for line in lines:
            say(line)
        return
    say(json_of({**content, "warnings": list(_warned.get({}))}, ensure_ascii=False))


def json_of(content: Mapping[str, Any], **settings: Any) -> str:
    """Text of a JSON object; NaN and infinity become null."""
    from rankfactor.storage.archive import plain

    return json.dumps(plain(content), indent=1, allow_nan=False, **settings)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show every warning once, as one line on stderr, and remember it for the JSON result."""
    said: dict[str, None] = {}
    token = _warned.set(said)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_options(one_line(message))
        if text not in said:
            said[text] = None
            say(f"warning: {text}", err=True)

    try:
        with warnings.catch_warnings():
            # Our warnings are always shown to the user; warnings for developers follow the filters.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield
    finally:
        _warned.reset(token)


@contextmanager
def compile_notice(quiet: bool) -> Iterator[None]:
    """Announce on stderr, unless ``quiet``, the first compilation of a kernel.

    numba caches them: this happens once per machine, and again after an update.
    """
    from numba.core import event

    class Notice(event.Listener):
        said = quiet

        def on_start(self, event: Any) -> None:
            if not self.said:
                say("Compiling kernels, once on this machine ...", err=True)
            self.said = True

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Notice()):
        yield


@contextmanager
def progress() -> Iterator[Progress]:
    """Show steps on stderr: moving bars on a terminal, else one line per finished step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        finished: set[str] = set()

        def tell(step: str, done: int, total: int, note: str = "") -> None:
            if done == total and step not in finished:
                finished.add(step)
                say(f"{step}: done" + (f" ({total})" if total > 1 else ""), err=True)

        yield tell
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Display

    bars: dict[str, Any] = {}
    with Display(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    ) as display:

        def show(step: str, done: int, total: int, note: str = "") -> None:
            if step not in bars:
                bars[step] = display.add_task(step, total=total)
            elif done < display.tasks[bars[step]].completed:  # restarted from the beginning
                display.reset(bars[step])
            text = f"{step} ({note})" if note else step
            display.update(bars[step], completed=done, total=total, description=text)

        yield show


def print_rows(
    title: str, columns: Mapping[str, Mapping[str, Any]], rows: Iterable[Iterable[str]]
) -> None:
    """Print a table on stdout; each heading comes with rich's settings of its column."""
    from rich import box
    from rich.table import Table

    # Without vertical rules it fits a terminal of 80 columns.
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading, settings in columns.items():
        table.add_column(heading, **settings)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def print_comparison(title: str, summary: pd.DataFrame) -> None:
    """Print the summary of a cross-validation, as returned by `Evaluation.summary`, on stdout."""
    balanced = "balanced_accuracy" in summary
    measure = "balanced_accuracy" if balanced else "accuracy"
    rows = [
        [
            *(str(row["task"]), str(row["model"])),
            f"{row['auc']:.3f} {_interval(row.get('auc_low'), row.get('auc_high'))}".rstrip(),
            f"{row[measure]:.3f} ({row[measure + '_sd']:.3f})",
            f"{row['seconds']:.1f}",
        ]
        for row in summary.to_dict("records")
    ]
    numbers: dict[str, Any] = {"justify": "right", "no_wrap": True}
    headings = ("AUC [95 %]", "balanced accuracy" if balanced else "accuracy", "s a fold")
    columns = dict.fromkeys(headings, numbers)
    print_rows(title, {"task": {"overflow": "fold"}, "model": {"no_wrap": True}, **columns}, rows)


def _interval(low: float | None, high: float | None) -> str:
    """An interval in brackets; empty if unknown."""
    known = low is not None and high is not None and low == low
    return f"[{low:.3f}, {high:.3f}]" if known else ""
