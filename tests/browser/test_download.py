"""Downloads of the report: nothing that a spreadsheet would run, numbers as they are."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plots import models

from rankfactor.report import write_report
from rankfactor.storage.spreadsheet import escaped, unescaped

NAMES = ['=HYPERLINK("x")', "-omega", "+3", "@SUM(A1)", "'=x", "-1.5e-3", "a=b", "o'-x"]


@pytest.fixture
def downloaded(browser, tmp_path):
    posterior = models.two_tasks()
    names = posterior.feature_names.astype("<U100").copy()
    names[4 : 4 + len(NAMES)] = NAMES
    path = write_report(
        tmp_path / "r.html",
        replace(posterior, plan=replace(posterior.plan, names=names)),
        title="t",
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    host = page.locator("#features .host")
    with page.expect_download() as waiting:
        host.get_by_role("button", name="Download CSV").click()
    text = Path(waiting.value.path()).read_bytes().decode("utf-8-sig")
    effects = page.locator("#effects-table")
    with page.expect_download() as waiting:
        effects.get_by_role("button", name="Download CSV").click()
    more = Path(waiting.value.path()).read_bytes().decode("utf-8-sig")
    page.close()
    return [list(csv.reader(io.StringIO(one))) for one in (text, more)]


def test_cells_are_safe_and_numbers_are_numbers(downloaded):
    for (head, *rows), place in zip(downloaded, (1, 0), strict=True):
        found = {row[place] for row in rows}
        assert {escaped(name) for name in NAMES} <= found  # the rule of Python
        assert {'\'=HYPERLINK("x")', "'-omega", "'@SUM(A1)", "''=x", "+3", "-1.5e-3"} <= found
        assert set(NAMES) <= {unescaped(name) for name in found}
        column = head.index("Loading" if place else "Effect")
        values = [float(row[column]) for row in rows]
        assert any(value < 0 for value in values)
        assert any(len(row[column].strip("-")) > 5 for row in rows)  # more than the page shows
