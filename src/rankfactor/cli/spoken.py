"""Messages of the library in the words of the command line: its options for Python's arguments.

The library speaks of arguments, ``n_factors=5`` or ``Gibbs(n_draws=500)``. Whatever it says passes
through `in_options` on its way to the user. Names in quotes and parts of file names stay as they
are: they are the user's own.
"""

from __future__ import annotations

import re

__all__ = ["OPTIONS", "in_options"]

# Arguments that have an option; a test holds this to the signatures of library and commands.
_SAME = (
    "burn_in", "calibration", "checkpoint", "class_weight", "classifier", "covariate_use",
    "covariates", "engine", "exclude", "experts", "groups", "id_column", "label_weight", "layer",
    "likelihood", "margin", "max_cuts", "max_iter", "missing_features", "model", "models",
    "n_chains", "n_components", "n_draws", "n_factors", "n_jobs", "n_predict", "n_restarts",
    "n_threads", "orient", "positive", "random_state", "sheet", "shrinkage", "thin", "tol",
    "training",
)  # fmt: skip
OPTIONS = {
    **{name: "--" + name.replace("_", "-") for name in _SAME},
    "n_folds": "--folds",
    "n_repeats": "--repeats",
}
_START, _END = r"(?<![\w'\"/.=-])", r"(?!\w|['\"/=]|\.\w)"
_ANY = "|".join(sorted(OPTIONS, key=len, reverse=True))
_VALUE = r"'[^']*'|\"[^\"]*\"|[\w+-]+(?:\.\w+)*"
_GIBBS = re.compile(r"(?:engine=)?\bGibbs\(([^()]*)\)")
_GIVEN = re.compile(rf"{_START}({_ANY})=({_VALUE})")
# A name with an underscore is no English word; one without is an argument by what is beside it.
_NAME = re.compile(rf"{_START}({'|'.join(name for name in OPTIONS if '_' in name)}){_END}")
_WORD = re.compile(
    rf"(?<=\bdrop )({_ANY}){_END}|(?<=\braise )({_ANY}){_END}|(?<=\blower )({_ANY}){_END}|"
    rf"(?<=\bset )({_ANY})(?= to\b)|(?:(?<=^)|(?<=: ))({_ANY})(?= (?:must be|means|names)\b)"
)
_PHRASES = (
    (re.compile(r"\bexclude (it|them) from X\b"), r"exclude \1 with --exclude"),
    (re.compile(r"\bleave out the class ('[^']*'|\"[^\"]*\")"), r"leave it out (--drop-class \1)"),
    (
        re.compile(r"\bFound array with n_samples=(\d+), 1 sample is not enough"),
        "the table has too few samples",
    ),
)


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
    for pattern, words in _PHRASES:
        text = pattern.sub(words, text)
    return text


def _bare(value: str) -> str:
    """A value without its quotes, where a shell does not need them."""
    return value[1:-1] if re.fullmatch(r"(['\"])[\w.+-]+\1", value) else value
