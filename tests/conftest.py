"""Fixtures and markers for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from rankfactor.steps import acceleration, workers

# The first example of a test may have to compile a kernel.
settings.register_profile("rankfactor", deadline=None)
settings.load_profile("rankfactor")

# A shell's background jobs ignore Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Give every worker one thread of BLAS: two that wait for one core take ten times as long."""
    if config.getoption("numprocesses", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers inherit it


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that ``quick_cases`` does not name as slow."""
    for item in items:
        chosen = item.get_closest_marker("quick_cases")
        if chosen is None:
            continue
        case = item.callspec.id  # type: ignore[attr-defined]
        if case not in chosen.args:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def threads_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the requested number of threads for small tables as well."""
    monkeypatch.setattr(workers, "SMALL", 0)


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """Give the path of a file in the data folder, or skip the test if there is none."""

    def find(name: str) -> Path:
        folder = os.environ.get("RANKFACTOR_DATA")
        if not folder:
            pytest.skip(f"RANKFACTOR_DATA is not set: needs {name}")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"RANKFACTOR_DATA has no {name}")
        return path

    return find


@pytest.fixture
def without_momentum(monkeypatch):
    """Plain coordinate ascent: steps with momentum may lower the ELBO."""
    monkeypatch.setattr(acceleration, "MOMENTUM", 0.0)
