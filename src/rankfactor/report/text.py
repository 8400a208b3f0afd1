"""Text of the page with allowed line breaks: never inside a word."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# Names such as Gamma_Interferon_induced_Monokin have no space to break at. Numbers never break.
_BREAKS = re.compile(r"(?<=.{4}[_/|])(?=\S{3})|(?<=.{4}[.:,;])(?=[^\s\d].{2})")
_LONG = 10  # letters from which a word may break
_LONGEST_WHOLE = 20  # letters of a word with hyphens, such as R-L-BSVM, that stays on one line


def breakable(text: object) -> Markup:
    """Escape text; allow line breaks after an underscore, a point or a colon of a long word.

    Short words with a hyphen stay on one line. Text between backticks is code.
    """
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is plain text
        parts = [str(text)]
    return Markup("").join(
        Markup("<code>{}</code>").format(_words(part)) if place % 2 else _words(part)
        for place, part in enumerate(parts)
    )


def _words(text: str) -> Markup:
    return Markup(" ").join(_word(word) for word in text.split(" "))


def _word(word: str) -> Markup:
    if "-" in word and len(word) <= _LONGEST_WHOLE:
        return Markup('<span class="whole">{}</span>').format(word)
    if len(word) < _LONG:
        return escape(word)
    return Markup("<wbr>").join(escape(piece) for piece in _BREAKS.split(word))
