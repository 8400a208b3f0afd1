"""Figures as inline SVG: text stays text, nothing is random, names of parts do not clash."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from rankfactor.plots.style import figure_style, plain

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"


@dataclass(frozen=True)
class InlineFigure:
    """A figure of the page.

    Attributes
    ----------
    svg : Markup
        The drawing, with its description as the accessible name.
    caption : str
    width : int
        Natural width in CSS pixels.
    """

    svg: Markup
    caption: str
    width: int


def inline_figure(figure: Figure, name: str, description: str, caption: str) -> InlineFigure:
    """Turn a figure into SVG that can stand inside a page.

    Parameters
    ----------
    figure : Figure
    name : str
        Unique in the page; parts of the drawing are named after it.
    description : str
        What a reader who cannot see the figure needs to know.
    caption : str
    """
    buffer = io.BytesIO()
    # The layout was found when the figure was made; finding it again takes most of the time.
    figure.set_layout_engine("none")
    with figure_style():
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", dpi=150, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            # A style element inside the page would hold for the whole page.
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                parent.remove(child)
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key in {"href", f"{{{_XLINK}}}href"} and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
    width = round(figure.get_figwidth() * 96)
    root.set("id", name)
    root.set("role", "img")
    root.set("aria-label", plain(description))
    root.set("width", str(width))
    root.set("height", str(round(figure.get_figheight() * 96)))
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    # The parser has read every name as text, and the writer escapes it again: this is safe markup.
    return InlineFigure(Markup(ElementTree.tostring(root, encoding="unicode")), caption, width)
