"""docs/notation.md names real things."""

import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "notation.md"
NAMES = re.findall(r"^\| [^|]+ \| `(rankfactor\.[\w.]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)


def test_the_page_has_a_table():
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name):
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        break
    for part in parts[length:]:
        if is_dataclass(found) and part in {field.name for field in fields(found)}:
            return
        found = getattr(found, part)
