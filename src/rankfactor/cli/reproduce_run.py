"""What the commands of ``rankfactor reproduce`` do: run, print, write, draw."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.__about__ import __version__
from rankfactor.cli.console import json_of, note, print_rows, progress, say
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


# Options of what is written; the others are arguments of the experiment, some by another name.
_WRITTEN = ("as_json", "out", "figures", "gmt", "resume", "force")
_RENAMED = {"settings": "way", "folds": "n_folds", "repeats": "n_repeats"}
_SOURCE = ("series", "counts", "labels", "groups")


def run(name: str, options: Mapping[str, Any]) -> None:
    """Run an experiment, print its table, write and draw what was asked for.

    Files of the table are written anew whenever a part is finished, so that they hold what there
    is if the program is ended.

    Parameters
    ----------
    name : str
        The module in `rankfactor.experiments`, and the name of its files in ``--out``.
    options : mapping
        Values of the command's options, as its context has them.
    """
    from rankfactor.cli.settings import names_of
    from rankfactor.storage.files import folder as made_folder

    experiment = import_module(f"rankfactor.experiments.{name}")
    json_file, out, figures, gmt, resume, force = map(options.get, _WRITTEN)
    table = options.get("table", True)
    arguments = {
        _RENAMED.get(key, key): str(value) if key == "settings" else value
        for key, value in options.items()
        if key not in (*_WRITTEN, "table", "models")
    }
    if "labels" in arguments:
        arguments["labels"] = arguments["labels"] or ()
    if "sets" in arguments:
        arguments["sets"] = names_of(arguments["sets"] or "")
    if options["models"] is not None:  # checked before any data are read
        from rankfactor.experiments.entries import check_models

        arguments["models"] = check_models(names_of(options["models"]))
    source = {key: arguments[key] for key in _SOURCE if key in arguments}
    if gmt is not None:
        if figures is None:
            raise InputError("--gmt is for what goes with the figures: give --figures as well.")
        from rankfactor.interpret import read_gmt

        source["sets"] = read_gmt(gmt)
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
    check_outputs([*read, gmt], outputs, force=bool(force))
    # A folder that stays empty is removed, whichever way the block is left.
    with ExitStack() as places:
        for place in (out, figures):
            if place is not None:
                places.enter_context(made_folder(place))
        if table:
            with progress() as tell:
                found = experiment.run(
                    **arguments, progress=tell, keep=lambda part: _write(part, file, out)
                )
            written = _write(found, file, out)
            if to_stdout:
                say(json_of(found.to_dict(), ensure_ascii=False))
            else:
                _show(found)
                _tell_of(written)
            if not found.complete:
                raise typer.Exit(INTERRUPTED)
        if figures is None:
            return
        try:
            drawn = _draw(partial(experiment.pictures, **source), arguments, figures)
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
    """Make the pictures, and write all of them or none."""
    from rankfactor.experiments.pictures import Fits
    from rankfactor.interpret import write_graphml
    from rankfactor.plots.style import figure_style
    from rankfactor.storage.files import written_together

    with progress() as tell:
        shared = {name: arguments[name] for name in ("n_factors", "random_state", "n_threads")}
        pictures = draw(Fits(**shared, progress=tell))
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


def _write(found: Outcome, json_file: Path | None, out: Path | None) -> list[Path]:
    """Write all files or none."""
    from rankfactor.storage.files import written_together

    whole = json_of(found.to_dict(), ensure_ascii=False) + "\n"
    contents: dict[Path, str] = {}
    if out is not None:
        texts = (csv_of(found.rows), csv_of(found.fits), found.markdown(), whole)
        contents = {out / file: text for file, text in zip(_names(found.name), texts, strict=True)}
    if json_file is not None:
        contents[json_file] = whole
    with written_together(*contents) as parts:
        for part, text in zip(parts, contents.values(), strict=True):
            part.write_text(text, "utf-8")
    return list(contents)


def _show(found: Outcome) -> None:
    """Print the table, the ranks and the notes."""
    from rankfactor.experiments.outcome import readable_ranks

    frames = [(found.title, found.readable())]
    if len(found.summary):
        frames.append(("Mean ranks over data sets", readable_ranks(found.summary)))
    words = ("data", "task", "model", "settings", "chosen")
    for title, frame in frames:
        columns = {
            name: {"justify": "left" if name in words else "right", "overflow": "fold"}
            for name in frame.columns
        }
        print_rows(title, columns, frame.to_numpy().tolist())
    for text in found.notes:
        say(text)
