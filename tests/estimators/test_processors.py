"""A fit gives the same probabilities on every processor.

``tests/fixtures/fits.json`` has those of one machine; `make test-processors` runs this test as two
others. It is written again, by `write`, when a fit is meant to change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fixtures.write_release import SHORT, table_and_labels, told

from rankfactor import RankFactorClassifier
from rankfactor.likelihoods import MarginRank

FILE = Path(__file__).parents[1] / "fixtures" / "fits.json"
# The model, and how far apart probabilities may be: the default works in single precision.
MODELS: dict[str, tuple[Any, float]] = {
    "double": (
        RankFactorClassifier(likelihood=MarginRank(double=True), training="bayes", **SHORT),
        1e-6,
    ),
    "gaussian": (RankFactorClassifier("G-L-BSVM", training="bayes", **SHORT), 1e-6),
    "default": (RankFactorClassifier(**SHORT), 5e-6),
}


def fitted(name: str) -> list[Any]:
    table, labels = table_and_labels()
    table = table.drop(columns="age")
    return told(MODELS[name][0].fit(table, labels), table)


def write() -> None:
    """Write the file again."""
    FILE.write_text(json.dumps({name: fitted(name) for name in MODELS}, indent=1) + "\n", "utf-8")


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_another_machine(name: str) -> None:
    expected = json.loads(FILE.read_text("utf-8"))[name]
    np.testing.assert_allclose(fitted(name), expected, rtol=0, atol=MODELS[name][1])
