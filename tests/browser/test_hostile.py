"""A browser runs none of 1,000 hostile names in a report and makes no request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.hostile import MARK, names, report


@pytest.mark.slow
def test_no_name_is_run_or_fetched(browser: Any, tmp_path: Path) -> None:
    address = report(tmp_path / "report.html", names()).as_uri()
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.on("dialog", lambda one: said.append(one.message))
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda one: said.append(str(one)))
    page.goto(address)
    for place in page.query_selector_all("details"):
        place.evaluate("one => { one.open = true }")
    page.mouse.move(400, 300)
    page.wait_for_timeout(500)
    assert page.evaluate(f"typeof window.{MARK}") == "undefined"
    assert [one for one in asked if not one.startswith(("data:", "blob:")) and one != address] == []
    assert said == []
    page.close()
