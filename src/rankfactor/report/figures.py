"""Figures as inline SVG: text stays text, output is reproducible, ids do not clash.

Colours become variables of the page's style sheet, so that figures follow the page's light or dark
theme. Parts can have a hint, which the page's script shows beside the pointer.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from rankfactor.interpret.wording import plain
from rankfactor.plots.style import FAINT, INK, MUTED, PALETTE, UNCLEAR, figure_style

# Hints of the parts of a figure, by the part's name: one for each mark in it, in their order.
Tips = Mapping[str, Sequence[str]]

# Names of the style sheet's variables for the colours of the figures. Classes have two, c for marks
# and t for text, which needs more contrast than a mark does.
_COLOURS = {INK: "ink", MUTED: "muted", FAINT: "line", UNCLEAR: "unclear", "#ffffff": "card"}
_CLASSES = {colour.lower(): str(i) for i, colour in enumerate(PALETTE)}

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"


class InlineFigure(NamedTuple):
    """A figure of the page."""

    svg: Markup  # the drawing, with its description as the accessible name
    caption: str
    width: int  # natural width in CSS pixels


def inline_figure(
    figure: Figure, name: str, description: str, caption: str, tips: Tips | None = None
) -> InlineFigure:
    """Turn a figure into SVG for embedding in a page.

    The name is unique in the page and prefixes the ids of the drawing's parts. The description is
    the text for readers who cannot see the figure. Hints are keyed by the id (gid) of a part.
    """
    buffer = io.BytesIO()
    # The layout was computed when the figure was made; repeating it takes most of the time.
    figure.set_layout_engine("none")
    with figure_style():
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", dpi=150, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            # A style element inside the SVG would apply to the whole page.
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                parent.remove(child)
    for part, texts in (tips or {}).items():
        for mark, text in zip(_marks(root, part), texts, strict=True):
            mark.set("data-tip", text)
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "style":
                element.set(key, _themed(value, "t" if element.tag == f"{{{_SVG}}}text" else "c"))
            elif key == "id":
                element.set(key, f"{name}-{value}")
            elif key in {"href", f"{{{_XLINK}}}href"} and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
    width, height = (round(96 * inches) for inches in figure.get_size_inches())
    root.set("id", name)
    root.set("role", "img")
    root.set("aria-label", plain(description))
    root.set("width", str(width))
    root.set("height", str(height))
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    # The parser reads every name as text and the writer escapes it, so this markup is safe.
    return InlineFigure(Markup(ElementTree.tostring(root, encoding="unicode")), caption, width)


def _marks(root: ElementTree.Element, part: str) -> Iterator[ElementTree.Element]:
    """Drawn elements of a part: paths and ``use`` elements, without the definitions they copy."""
    (group,) = (element for element in root.iter() if element.get("id") == part)
    copied = {id(path) for defs in group.iter(f"{{{_SVG}}}defs") for path in defs.iter()}
    for element in group.iter():
        drawn = element.tag in {f"{{{_SVG}}}use", f"{{{_SVG}}}path"}
        if drawn and id(element) not in copied:
            yield element


def _themed(style: str, kind: str) -> str:
    """Style with colours replaced by the page's variables; class colours are of the given kind."""
    names = _COLOURS | {colour: kind + place for colour, place in _CLASSES.items()}
    return re.sub(
        r"#[0-9a-fA-F]{6}\b",
        lambda found: f"var(--{names[key]})" if (key := found[0].lower()) in names else found[0],
        style,
    )
