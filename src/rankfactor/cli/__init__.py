"""The command line: one file a command, all of them put together in `rankfactor.cli.app`.

What takes long to import is imported inside the commands, so that ``--help`` answers at once.
Results go to stdout; progress, notes, warnings and errors to stderr.
"""

from rankfactor.cli.app import app, main

__all__ = ["app", "main"]
