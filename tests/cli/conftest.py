"""A folder with a table and labels for every test of the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import N


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and labels, which is also the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    rng = np.random.default_rng(0)
    names = pd.Index([f"s{i}" for i in range(N)], name="sample")
    y = np.arange(N) % 2
    values = rng.standard_normal((N, 5)) + np.outer(2 * y - 1, [1, 1, 1, 0, 0])
    table = pd.DataFrame(values.round(3), index=names, columns=list("abcde"))
    labels = pd.DataFrame(
        {
            "status": np.where(y, "ill", "well"),
            "kind": np.array(["x", "y", "z"])[np.arange(N) % 3],
            "patient": [f"p{i // 2}" for i in range(N)],
            "age": rng.integers(20, 80, N),
            "sex": np.where(rng.random(N) < 0.5, "f", "m"),
        },
        index=names,
    )
    table.to_csv("table.csv")
    labels.to_csv("labels.csv")
    table.assign(status=labels["status"]).to_csv("both.csv")
    return tmp_path
