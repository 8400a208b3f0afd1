"""The command line: one file per command, assembled in `rankfactor.cli.program`.

Slow imports happen inside `main` and the commands, so that ``--help`` answers at once and Ctrl-C
ends the program at any moment without a traceback. Results go to stdout; progress, notes, warnings
and errors go to stderr.
"""

try:
    from rankfactor.cli.start import main
except KeyboardInterrupt:  # before a handler is installed
    raise SystemExit(130) from None

TYPE_CHECKING = False  # see rankfactor/__init__.py
if TYPE_CHECKING:
    from rankfactor.cli.program import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> object:
    """Import the program on first use."""
    if name != "app":
        raise AttributeError(f"module 'rankfactor.cli' has no attribute {name!r}")
    from rankfactor.cli.program import app

    return app
