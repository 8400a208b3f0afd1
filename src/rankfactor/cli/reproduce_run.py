"""What the commands of ``rankfactor reproduce`` do: run, print, write, draw."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.__about__ import __version__
from rankfactor.cli.console import note, progress, say
from rankfactor.cli.outputs import (
    Kind,
    Output,
    check_outputs,
    figures_in,
    in_folder,
    json_object,
)
from rankfactor.cli.start import INTERRUPTED
from rankfactor.errors import InputError
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    from rankfactor.experiments.outcome import Outcome
    from rankfactor.experiments.pictures import Fits, Pictures

DPI = 150
RESULT = json_object("a result of `rankfactor reproduce`", "experiment", "fits")


def chosen(models: str | None) -> dict[str, Any]:
    """The models asked for, checked before any data are read; none for those of the table."""
    if models is None:
        return {}
    from rankfactor.cli.settings import names_of
    from rankfactor.experiments.entries import check_models

    return {"models": check_models(names_of(models))}


def run(
    experiment: Callable[..., Outcome],
    arguments: dict[str, Any],
    *,
    name: str,
    json_file: Path | None,
    out: Path | None,
    gmt: Path | None = None,
    force: bool = False,
    figures: Path | None = None,
    draw: Callable[[Fits], Pictures] | None = None,
    table: bool = True,
    resume: bool = False,
) -> None:
    """Run an experiment, print its table and write what was asked for.

    Files of the table are written anew whenever a part is finished, so that they hold what there
    is if the program is ended.

    Parameters
    ----------
    experiment : callable
        Gives the outcome for the arguments, ``progress`` and ``keep``.
    arguments : dict
        Those that are paths are read.
    name : str
        Of the experiment, and of its files in ``out``.
    json_file, out, figures : Path or None
    gmt : Path or None
        A file that ``draw`` has read.
    force : bool
        Whether files that exist are replaced, whatever they are.
    draw : callable, optional
        Gives the pictures for ``figures``.
    table : bool
        Whether the experiment is to be run at all.
    resume : bool
        Whether to resume the earlier run in ``out``.
    """
    from rankfactor.storage.files import folder as made_folder

    to_stdout = json_file is not None and str(json_file) == "-"
    file = None if to_stdout else json_file
    if not table and figures is None:
        raise InputError("--no-table leaves nothing to do: give --figures as well.")
    if not table and (json_file is not None or out is not None):
        raise InputError("--json and --out are for the table: leave --no-table out, or them.")
    if resume:
        if out is None or not table:
            raise InputError("--resume goes on with the run in the folder of --out: give --out.")
        arguments = {**arguments, "known": _earlier(out / f"{name}.json")}
    outputs = [] if file is None else [Output("--json", file, RESULT)]
    if out is not None:
        whole = out / f"{name}.json"
        # The other files of a folder are known by the result beside them.
        kind = Kind(RESULT.name, lambda _: RESULT.is_earlier(whole))
        outputs += in_folder("--out", out, dict.fromkeys(_names(name), kind))
    if figures is not None:
        outputs += figures_in("--figures", figures)
    read = [one for one in arguments.values() if isinstance(one, Path)]
    read += [file for one in read if one.is_dir() for file in one.glob("*.npz")]
    check_outputs([*read, gmt], outputs, force=force)
    # A folder that stays empty is removed, whichever way the block is left.
    with ExitStack() as places:
        for place in (out, figures):
            if place is not None:
                places.enter_context(made_folder(place))
        if table:
            with progress() as tell:
                found = experiment(
                    **arguments, progress=tell, keep=lambda part: _write(part, file, out)
                )
            written = _write(found, file, out)
            if to_stdout:
                say(_json(found).rstrip())
            else:
                _show(found)
                _tell_of(written)
            if not found.complete:
                raise typer.Exit(INTERRUPTED)
        if figures is None or draw is None:
            return
        try:
            drawn = _draw(draw, arguments, figures)
        except KeyboardInterrupt:
            if not table:
                raise
            note("interrupted: the table is complete, but no figure was written.")
            raise typer.Exit(INTERRUPTED) from None
        if not to_stdout:
            _tell_of(drawn)


def _tell_of(paths: list[Path]) -> None:
    for path in paths:
        say(f"Written: {path}")


def _draw(draw: Callable[[Fits], Pictures], arguments: dict[str, Any], folder: Path) -> list[Path]:
    """Make the pictures and write them."""
    from rankfactor.experiments.pictures import Fits

    with progress() as tell:
        pictures = draw(
            Fits(
                n_factors=arguments["n_factors"],
                random_state=arguments["random_state"],
                n_threads=arguments["n_threads"],
                progress=tell,
            )
        )
    return _write_pictures(pictures, folder)


def _write_pictures(pictures: Pictures, folder: Path) -> list[Path]:
    """Write all of them or none."""
    from rankfactor.interpret import write_graphml
    from rankfactor.plots.style import figure_style
    from rankfactor.storage.files import written_together

    writers: dict[Path, Callable[[Path], Any]] = {}
    for name, figure in pictures.figures.items():
        writers[folder / f"{name}.png"] = partial(
            figure.savefig, dpi=DPI, metadata={"Software": f"rankfactor {__version__}"}
        )
    for name, frame in pictures.tables.items():
        writers[folder / f"{name}.csv"] = partial(csv_of, frame)
    for name, graph in pictures.networks.items():
        writers[folder / f"{name}.graphml"] = partial(write_graphml, graph)
    with written_together(*writers) as parts, figure_style():
        for part, write in zip(parts, writers.values(), strict=True):
            write(part)
    for text in pictures.notes:
        note(text)
    return list(writers)


def _earlier(path: Path) -> Outcome | None:
    """What an earlier run has written; nothing if there was none."""
    import json

    from rankfactor.experiments.outcome import Outcome

    if not path.exists():
        return None
    try:
        return Outcome.from_dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} cannot be read as a result of `rankfactor reproduce`: "
            "leave --resume out, or give another --out."
        ) from error


def _names(name: str) -> list[str]:
    """Files of an experiment's table in a folder."""
    return [f"{name}{end}" for end in (".csv", "-fits.csv", ".md", ".json")]


def _json(found: Outcome) -> str:
    import json

    from rankfactor.storage.archive import plain

    return json.dumps(plain(found.to_dict()), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _write(found: Outcome, json_file: Path | None, out: Path | None) -> list[Path]:
    """Write all files or none."""
    from rankfactor.storage.files import written_together

    contents: dict[Path, str] = {}
    if out is not None:
        texts = (
            csv_of(found.rows),
            csv_of(found.fits),
            found.markdown(),
            _json(found),
        )
        contents = {out / file: text for file, text in zip(_names(found.name), texts, strict=True)}
    if json_file is not None:
        contents[json_file] = _json(found)
    with written_together(*contents) as parts:
        for part, text in zip(parts, contents.values(), strict=True):
            part.write_text(text, "utf-8")
    return list(contents)


def _show(found: Outcome) -> None:
    """Print the table, the ranks and the notes."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from rankfactor.experiments.outcome import readable_ranks

    frames = [(found.title, found.readable())]
    if len(found.summary):
        frames.append(("Mean ranks over data sets", readable_ranks(found.summary)))
    for title, frame in frames:
        table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in frame.columns:
            words = name in ("data", "task", "model", "settings", "chosen")
            table.add_column(name, justify="left" if words else "right", overflow="fold")
        for row in frame.to_numpy().tolist():
            table.add_row(*row)
        Console().print(table)
    for text in found.notes:
        say(text)
