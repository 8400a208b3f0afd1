"""``--cluster``: folds, half-samples and predictions on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.running import LABELS, fails, fit, works

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Address of a scheduler with two worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as local:
        yield local.scheduler_address


@pytest.mark.slow
def test_predictions_are_the_same(address: str) -> None:
    fit("table.csv", *LABELS)
    given = ("predict", "model.rankfactor", "table.csv", "--scores")
    works(*given, "here.scores.csv", "--out", "here.csv")
    works(*given, "there.scores.csv", "--out", "there.csv", "--cluster", address)
    for one, other in (("here.csv", "there.csv"), ("here.scores.csv", "there.scores.csv")):
        assert Path(one).read_bytes() == Path(other).read_bytes()


@pytest.mark.slow
def test_folds_and_half_samples_are_the_same(address: str) -> None:
    folds = ("cv", "table.csv", *LABELS, "--folds", "3", "--models", "R-L-BSVM", "--n-factors", "2")
    halves = ("stability", "table.csv", *LABELS, "--repeats", "4", "--n-factors", "2")
    for command, file in ((folds, "summary.csv"), (halves, "effects.csv")):
        name = command[0]
        works(*command, "--out", f"{name}-here")
        works(*command, "--out", f"{name}-there", "--cluster", address)
        here, there = (pd.read_csv(Path(f"{name}-{place}") / file) for place in ("here", "there"))
        taken = [column for column in here if column.startswith("seconds")]
        pd.testing.assert_frame_equal(
            here.drop(columns=taken), there.drop(columns=taken), rtol=1e-9
        )


def test_a_scheduler_that_does_not_answer() -> None:
    fit("table.csv", *LABELS)
    given = ("--cluster", "tcp://127.0.0.1:1")
    for command in (
        ("predict", "model.rankfactor", "table.csv"),
        ("cv", "table.csv", *LABELS),
        ("fit", "table.csv", *LABELS, "--out", "other.rankfactor"),
    ):
        fails("no scheduler answers at tcp://127.0.0.1:1", *command, *given)
