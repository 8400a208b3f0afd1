"""Errors that users can fix, shared wording of messages, and checks of arguments."""

import numbers
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "AUTO",
    "InputError",
    "check_count",
    "check_n_factors",
    "check_path",
    "check_positive",
    "convergence_warning",
    "counted",
    "did_you_mean",
    "listed",
]

AUTO = "auto"  # of n_factors: parallel analysis chooses the number


class InputError(ValueError):
    """Bad input, described in one sentence; the CLI prints it and exits with 2.

    The sentence names the file, row, column or argument at fault and what to do. Line breaks, as in
    quoted names, become spaces.
    """

    def __init__(self, message: str) -> None:
        super().__init__(re.sub(r"\s*[\r\n]+\s*", " ", message))


def convergence_warning() -> type[Warning]:
    """scikit-learn's `ConvergenceWarning`; importing it takes longer than a small fit."""
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning  # type: ignore[no-any-return]


def counted(number: int, noun: str, plural: str = "") -> str:
    """Number and noun, optionally with a verb: "1 sample is", "2 samples are"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Any, most: int = 5) -> str:
    """The first names of a sequence, quoted, and how many more there are; empty without any."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """The known names nearest to a mistyped one, as a question to append; empty without any."""
    by_lower = {str(one).casefold(): str(one) for one in known}
    near = get_close_matches(str(name).casefold(), list(by_lower), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_lower[one]) for one in near)}?" if near else ""


def check_count(name: str, value: object, most: int | None = None, *, least: int = 1) -> int:
    """Return ``value`` if it is an integer from ``least`` to ``most``; else refuse it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    if most is not None and int(value) > most:
        raise InputError(f"{name} must be at most {most}, not {value!r}.")
    return int(value)


def check_path(name: str, what: str, value: object) -> None:
    """Refuse values that are neither a path (of ``what``, such as "a folder") nor None."""
    if value is not None and not (isinstance(value, str | os.PathLike) and os.fspath(value)):
        raise InputError(f"{name} must be the path of {what} or None, not {value!r}.")


def check_n_factors(value: object) -> None:
    """Refuse values that are neither an integer of at least 1 nor "auto"."""
    if isinstance(value, str) and value != AUTO:
        raise InputError(f"n_factors must be a whole number or {AUTO!r}, not {value!r}.")
    if value != AUTO:
        check_count("n_factors", value)


def check_positive(name: str, value: object) -> None:
    """Refuse values that are not positive finite numbers."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (real and 0 < value < float("inf")):  # type: ignore[operator]
        raise InputError(f"{name} must be a positive number, not {value!r}.")
