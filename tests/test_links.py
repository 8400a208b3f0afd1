"""Links between the pages of the repository lead to files. `make docs` checks anchors, too."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *(ROOT / "docs").rglob("*.md")]
# Written while the site is built.
GENERATED = re.compile(r"docs/reference/(commands|api/\w+)\.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(page):
    targets = re.findall(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)", page.read_text("utf-8"))
    paths = [os.path.relpath(page.parent / target, ROOT) for target in targets]
    broken = [path for path in paths if not (ROOT / path).exists() and not GENERATED.match(path)]
    assert broken == []
