"""A real browser for the report: the system's Chromium, driven by playwright.

Tests are skipped, with the reason, if either is missing; nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.plots import models
from tests.report.given import predictions

from rankfactor.report import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str | None:
    """The browser named by RANKFACTOR_BROWSER, or the first that is installed."""
    named = os.environ.get("RANKFACTOR_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = executable()
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=options)
        yield running
        running.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a report that has most sections."""
    path = write_report(
        tmp_path_factory.mktemp("browser") / "report.html",
        models.with_stability(models.two_tasks()),
        title="A report",
        comparison=models.comparison(),
        decisions=predictions(),
        settings={"seed": 1},
        table=models.table()[0],
    )
    return path.as_uri()
