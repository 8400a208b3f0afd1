"""Errors that a user can mend."""

__all__ = ["InputError"]


class InputError(ValueError):
    """Bad input, described in one sentence; the CLI prints it and exits with 2.

    The sentence names the file, row, column or argument at fault and says what to do about it.
    """
