"""Errors that a user can mend."""

import re

__all__ = ["InputError"]


class InputError(ValueError):
    """Bad input, described in one sentence; the CLI prints it and exits with 2.

    The sentence names the file, row, column or argument at fault and says what to do about it.
    Line breaks, as names in quotes can have them, become spaces.
    """

    def __init__(self, message: str) -> None:
        super().__init__(re.sub(r"\s*[\r\n]+\s*", " ", message))
