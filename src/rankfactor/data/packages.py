"""Packages that only some formats need: imported when they are, and asked for when absent."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from rankfactor.errors import InputError

__all__ = ["need"]


def need(package: str, *, extra: str, path: str | Path = "this") -> Any:
    """Import an optional package.

    Parameters
    ----------
    package : str
        Its name in an import statement.
    extra : str
        The extra of rankfactor that installs it.
    path : str or Path
        What needs it, for the message: as a rule the file that is read.

    Returns
    -------
    module
        The package.

    Raises
    ------
    InputError
        If it is not installed, with the command that installs it.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise InputError(
            f"{path} needs the package {package}; install it with: "
            f"pip install 'rankfactor[{extra}]'"
        ) from error
