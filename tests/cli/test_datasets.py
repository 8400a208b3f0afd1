"""``rankfactor datasets``: the list, files of a folder, and advice if files are missing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.cli.running import answer, fails, works

from rankfactor import load_alzheimer
from rankfactor.data.collection import list_datasets
from rankfactor.data.textblocks import EXACT


def test_list() -> None:
    told = answer("datasets", "list")["datasets"]
    assert [one["name"] for one in told] == [one.name for one in list_datasets()]
    first = next(one for one in told if one["name"] == "alzheimer")
    assert (first["n_samples"], first["n_features"], first["bundled"]) == (333, 129, True)
    lines = works("datasets", "list").stdout.splitlines()
    assert len(lines) == len(told)
    assert lines[0].startswith("alzheimer (333 x 129, bundled): ")


def test_a_bundled_set_as_a_table_that_can_be_fitted() -> None:
    told = answer("datasets", "fetch", "alzheimer", "--out", "alzheimer.csv")
    assert (told["files"], told["table"]) == ([], "alzheimer.csv")
    found = answer("inspect", "alzheimer.csv")
    assert (found["n_samples"], found["n_features"]) == (333, 129)
    assert found["label_columns"]["Impairment"]["classes"] == {"Control": 242, "Impaired": 91}
    frame = pd.read_csv("alzheimer.csv", index_col=0, **EXACT)
    data = load_alzheimer()
    assert (frame[data.table.columns].to_numpy() == data.table.to_numpy()).all()


def test_what_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKFACTOR_DATA", raising=False)
    monkeypatch.delenv("RANKFACTOR_DATA_URL", raising=False)
    fails("golub.npz is not bundled", "datasets", "fetch", "golub")
    fails("there is no data set 'nope'", "datasets", "fetch", "nope")
    fails("the folder no does not exist", "datasets", "fetch", "alzheimer", "--out", "no/a.csv")
    # A file of the right name and the wrong content is not taken.
    Path("golub.npz").write_text("something else")
    monkeypatch.setenv("RANKFACTOR_DATA", ".")
    fails("is not the expected file", "datasets", "fetch", "golub")
