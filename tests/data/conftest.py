"""Fixtures for the tests of readers."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a package look as if it were not installed."""

    def hide(package: str) -> None:
        for name in list(sys.modules):
            if name == package or name.startswith(f"{package}."):
                monkeypatch.delitem(sys.modules, name)

        class Finder:
            @staticmethod
            def find_spec(name: str, path: object = None, target: object = None) -> None:
                if name == package or name.startswith(f"{package}."):
                    raise ModuleNotFoundError(f"No module named '{name}'", name=name)

        monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])

    return hide
