"""Pages of the repository: links lead to files, lists are lists. `make docs` checks anchors."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = list((ROOT / "docs").rglob("*.md"))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *SITE]
# Written while the site is built.
GENERATED = re.compile(r"docs/reference/(commands|api/\w+)\.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(page):
    targets = re.findall(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)", page.read_text("utf-8"))
    paths = [os.path.relpath(page.parent / target, ROOT) for target in targets]
    broken = [path for path in paths if not (ROOT / path).exists() and not GENERATED.match(path)]
    assert broken == []


@pytest.mark.parametrize("page", SITE, ids=lambda path: str(path.relative_to(ROOT)))
def test_lists(page):
    """On the site, a list that follows text without a blank line is part of that text."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    blocks = re.split(r"\n\s*\n", re.sub(r"^#.*$", "", text, flags=re.MULTILINE))
    in_text = [block for block in blocks if not re.match(r"\s*(-|\d+\.) |    ", block)]
    assert [block for block in in_text if re.search(r"\n(-|\d+\.) ", block)] == []
