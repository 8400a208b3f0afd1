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
    order = page.locator("#features details[open] thead .range button").first
    order.click()
    table = order.locator("xpath=ancestor::table")
    shown = table.locator("tbody td.range").all_inner_texts()
    page.close()
    return list(csv.reader(io.StringIO(text))), shown


def test_cells_are_safe_and_intervals_are_numbers(downloaded):
    (head, *rows), shown = downloaded
    found = {row[1] for row in rows}
    assert {escaped(name) for name in NAMES} <= found  # the rule of Python
    assert {'\'=HYPERLINK("x")', "'-omega", "'@SUM(A1)", "''=x", "+3", "-1.5e-3"} <= found
    assert set(NAMES) <= {unescaped(name) for name in found}
    low, high, loading = head.index("Low"), head.index("High"), head.index("Loading")
    assert all(float(row[low]) < float(row[loading]) < float(row[high]) for row in rows)
    assert any(row[low].startswith("-0.") for row in rows)
    assert any(len(row[low].strip("-")) > 5 for row in rows)  # more digits than the page shows
    # On the page the column is sorted by the lower end.
    ends = [float(text.split(" to ")[0].replace("\N{MINUS SIGN}", "-")) for text in shown]
    assert ends == sorted(ends)
