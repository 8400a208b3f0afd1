"""Reports that several tests read."""

from __future__ import annotations

import pytest
from tests.plots import models
from tests.report.given import arguments, predictions

from rankfactor.report import write_report


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="session")
def full(folder):
    return write_report(folder / "full.html", models.two_tasks(), **arguments())


@pytest.fixture(scope="session")
def bare(folder):
    return write_report(folder / "bare.html", models.two_tasks(), title="Bare")


@pytest.fixture(scope="session")
def unlabelled(folder):
    return write_report(folder / "plain.html", models.unsupervised(), title="Unlabelled")


@pytest.fixture(scope="session")
def assessed(folder):
    """With everything that a report can show: stability, predictions, the training table."""
    return write_report(
        folder / "assessed.html",
        models.with_stability(models.two_tasks()),
        **arguments() | {"decisions": predictions(), "table": models.table()[0]},
    )
