"""A command opens and reads every file once."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, fit, works

from rankfactor.data import column_names, read_table
from rankfactor.data.textfile import Records


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, tuple[int, int]]]:
    """How often each CSV file was opened for reading, and how often its rows were read."""
    opened: Counter[str] = Counter()
    walked: Counter[str] = Counter()
    plain_open, plain_walk = Path.open, Records.checked

    def counted_open(self: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        # Parts are outputs, which are read again for their hashes.
        if "r" in mode and ".csv" in self.name and not self.name.startswith("."):
            opened[self.name] += 1
        return plain_open(self, mode, *rest, **more)

    def counted_walk(self: Records) -> Any:
        walked[Path(self.source).name] += 1
        return plain_walk(self)

    monkeypatch.setattr(Path, "open", counted_open)
    monkeypatch.setattr(Records, "checked", counted_walk)
    return lambda: {name: (opened[name], walked[name]) for name in opened}


OTHERS = ("--groups", "labels.csv:patient", "--covariates", "labels.csv:age")


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "table.csv", *LABELS, *OTHERS, *QUICK),
        ("cv", "table.csv", *LABELS, *OTHERS, "--models", "L-SVM", "--folds", "2"),
        ("stability", "table.csv", *LABELS, *OTHERS, "--repeats", "4", *QUICK),
    ],
)
def test_table_and_labels(command: tuple[str, ...], read: Any) -> None:
    works(*command)
    assert read() == {"table.csv": (1, 1), "labels.csv": (1, 1)}


def test_words_patterns_and_compression(read: Any) -> None:
    both = pd.read_csv("both.csv", index_col=0)
    # Numbers among words, before and after the first word, stay as they are written.
    both["site"] = ["01", "02", *["a", "b"] * 10, "01", "02"]
    Path("both.csv.gz").write_bytes(gzip.compress(both.to_csv().encode()))
    fit("both.csv.gz", "--labels", "status", "--exclude", "[de]")
    assert read() == {"both.csv.gz": (1, 1)}
    assert sorted(set(read_table("both.csv.gz").annotations["site"])) == ["01", "02", "a", "b"]


def test_predicting_and_inspecting(read: Any) -> None:
    works("inspect", "both.csv")
    fit("table.csv", *LABELS)
    works("predict", "model.rankfactor", "table.csv")
    assert read() == {"both.csv": (1, 1), "table.csv": (2, 2), "labels.csv": (1, 1)}


def test_a_header_is_read_without_the_body(read: Any) -> None:
    assert column_names("table.csv") == ["sample", *"abcde"]
    assert read() == {"table.csv": (1, 0)}
