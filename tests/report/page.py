"""A page, read as a browser would."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent = tag, dict(attributes), parent
        self.children: list[Element | str] = []

    def all(self, tag=None, **attributes):
        """Descendants with that tag and those attributes."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                fits = tag in (None, child.tag) and all(
                    child.attributes.get(k.rstrip("_")) == v for k, v in attributes.items()
                )
                found += [child] * fits + child.all(tag, **attributes)
        return found

    def one(self, tag=None, **attributes):
        (found,) = self.all(tag, **attributes)
        return found

    @property
    def text(self):
        """Text within, white space as shown."""
        parts = [c if isinstance(c, str) else c.text for c in self.children]
        return " ".join("".join(parts).split())


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.current = Element("#page", {}, None)

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute of <{tag}> is given twice"
        element = Element(tag, attrs, self.current)
        self.current.children.append(element)
        if tag not in VOID:
            self.current = element

    def handle_startendtag(self, tag, attrs):
        self.current.children.append(Element(tag, attrs, self.current))

    def handle_endtag(self, tag):
        assert tag == self.current.tag, f"</{tag}> closes <{self.current.tag}>"
        self.current = self.current.parent

    def handle_data(self, data):
        self.current.children.append(data)


@cache
def read(path) -> Element:
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    reader.close()
    assert reader.current is reader.root, f"<{reader.current.tag}> is never closed"
    return reader.root


def cells(row: Element) -> list[str]:
    """Texts of a row's cells."""
    return [c.text for c in row.children if isinstance(c, Element)]
