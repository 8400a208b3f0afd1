"""Run the experiments of ``rankfactor reproduce``; print, write and draw their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.__about__ import __version__
from rankfactor.cli import outputs
from rankfactor.cli.console import json_of, note, print_rows, progress, say
from rankfactor.cli.settings import names_of
from rankfactor.cli.start import INTERRUPTED
from rankfactor.errors import InputError
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    from rankfactor.experiments.outcome import Outcome
    from rankfactor.experiments.pictures import Pictures

DPI = 150
RESULT = outputs.json_object("a result of `rankfactor reproduce`", "experiment", "fits")
# Options on outputs; the others are arguments of the experiment, some under another name.
_WRITTEN = ("as_json", "out", "figures", "gmt", "resume", "force")
_RENAMED = {"settings": "way", "folds": "n_folds", "repeats": "n_repeats"}
_LISTS = {"sets", "cases", "seen_as"}
_SOURCE = ("series", "counts", "labels", "groups")
_OF_FITS = ("n_factors", "random_state", "n_threads")


def run(name: str, options: Mapping[str, Any]) -> None:
    """Run an experiment, print its table, and write the requested files and figures.

    Files of the table are rewritten whenever a part is finished, so that they contain all finished
    parts if the program is stopped. The name is that of the module in `rankfactor.experiments` and
    of the files in ``--out``.
    """
    from rankfactor.storage.files import folder as made_folder

    experiment = import_module(f"rankfactor.experiments.{name}")
    json_file, out, figures, gmt, resume, force = map(options.get, _WRITTEN)
    table = options.get("table", True)
    arguments = {
        _RENAMED.get(key, key): value
        for key, value in options.items()
        if key not in (*_WRITTEN, "table", "models")
    }
    if "way" in arguments:
        arguments["way"] = str(arguments["way"])
    if "labels" in arguments:
        arguments["labels"] = arguments["labels"] or ()
    for key in _LISTS & arguments.keys():
        arguments[key] = names_of(arguments[key] or "")
    if options["models"] is not None:  # checked before any data are read
        from rankfactor.experiments.entries import check_models

        check = getattr(experiment, "check_models", check_models)
        arguments["models"] = check(names_of(options["models"]))
    source = {key: arguments[key] for key in _SOURCE if key in arguments}
    if gmt is not None:
        if figures is None:
            raise InputError("--gmt needs the figures: give --figures as well.")
        from rankfactor.interpret import read_gmt

        source["sets"] = read_gmt(gmt)
    if not table and figures is None:
        raise InputError("--no-table leaves nothing to do: give --figures as well.")
    if not table and (json_file is not None or out is not None):
        raise InputError("--json and --out write the table: leave out --no-table, or these two.")
    if resume:
        if out is None:
            raise InputError("--resume continues the run in the folder of --out: give --out.")
        arguments["known"] = _earlier(out / f"{name}.json")
    to_stdout = str(json_file) == "-"
    file = None if to_stdout else json_file
    # Other files of a folder are recognised by the result beside them.
    kind = outputs.Kind(RESULT.name, lambda path: RESULT.is_earlier(path.parent / f"{name}.json"))
    written = [
        *outputs.asked(("--json", file, RESULT)),
        *outputs.in_folder("--out", out, dict.fromkeys(_names(name), kind)),
        *outputs.figures_in("--figures", figures),
    ]
    read = [one for one in arguments.values() if isinstance(one, Path)]
    read += [file for one in read if one.is_dir() for file in one.glob("*.npz")]
    outputs.check_outputs([*read, gmt], written, force=bool(force))
    # A folder that stays empty is removed, however the block ends.
    with ExitStack() as places:
        for place in (out, figures):
            if place is not None:
                places.enter_context(made_folder(place))
        if table:
            with progress() as tell:
                found = experiment.run(
                    **arguments, progress=tell, keep=lambda part: _write(part, file, out)
                )
            paths = _write(found, file, out)
            if to_stdout:
                say(json_of(found.to_dict(), ensure_ascii=False))
            else:
                _show(found, paths)
            if not found.complete:
                raise typer.Exit(INTERRUPTED)
        if figures is None:
            return
        try:
            if hasattr(experiment, "drawn"):  # from the table, without further fits
                pictures = experiment.drawn(found)
            else:
                fits = {key: arguments[key] for key in _OF_FITS}
                pictures = _fitted(partial(experiment.pictures, **source), fits)
            paths = _write_pictures(pictures, figures)
        except KeyboardInterrupt:
            if not table:
                raise
            note("interrupted: the table is complete, but no figure was written.")
            raise typer.Exit(INTERRUPTED) from None
        for path in () if to_stdout else paths:
            say(f"Written: {path}")


def _fitted(draw: Callable[..., Pictures], fits: dict[str, Any]) -> Pictures:
    """Pictures from separate fits."""
    from rankfactor.experiments.pictures import Fits

    with progress() as tell:
        return draw(Fits(**fits, progress=tell))


def _write_pictures(pictures: Pictures, folder: Path) -> list[Path]:
    """Write all pictures or none."""
    from rankfactor.interpret import write_graphml
    from rankfactor.plots.style import figure_style
    from rankfactor.storage.files import written_together

    look: dict[str, Any] = {"dpi": DPI, "metadata": {"Software": f"rankfactor {__version__}"}}
    writers: dict[Path, Callable[[Path], Any]] = {
        **{
            folder / f"{name}.png": partial(figure.savefig, **look)
            for name, figure in pictures.figures.items()
        },
        **{folder / f"{name}.csv": partial(csv_of, one) for name, one in pictures.tables.items()},
        **{
            folder / f"{name}.graphml": partial(write_graphml, graph)
            for name, graph in pictures.networks.items()
        },
    }
    with written_together(*writers) as parts, figure_style():
        for part, write in zip(parts, writers.values(), strict=True):
            write(part)
    for text in pictures.notes:
        note(text)
    return list(writers)


def _earlier(path: Path) -> Outcome | None:
    """Result of an earlier run; None if there was none."""
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


def _show(found: Outcome, paths: list[Path]) -> None:
    """Print the tables, the notes and the files that were written."""
    words = ("data", "task", "model", "settings", "chosen", "seen as", "method")
    for title, frame in found.tables().items():
        columns = {
            name if name in words else _narrow(name, frame[name]): {
                "justify": "left" if name in words else "right",
                "overflow": "fold",
            }
            for name in frame.columns
        }
        print_rows(title, columns, frame.to_numpy().tolist())
    for text in (*found.notes, *(f"Written: {path}" for path in paths)):
        say(text)


def _narrow(heading: str, cells: Iterable[str]) -> str:
    """A heading wrapped to the width of the cells below it, as far as its words allow."""
    return fill(heading, max(map(len, [*cells, *heading.split()])), break_long_words=False)
