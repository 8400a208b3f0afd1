"""The bundled set against known facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rankfactor.data import data_directory, load_alzheimer, read_npz_dataset


class TestAlzheimer:
    def test_known_facts(self) -> None:
        data = load_alzheimer()
        assert (data.n_samples, data.n_features) == (333, 129)
        assert data.task_names == ["Impairment", "APOE4"]
        assert data.labels["Impairment"].value_counts().to_dict() == {
            "Control": 242,
            "Impaired": 91,
        }
        assert data.labels["APOE4"].value_counts().to_dict() == {
            "non-carrier": 206,
            "E4 carrier": 127,
        }
        assert all(dtype.kind == "O" for dtype in data.labels.dtypes)
        assert not data.table.isna().to_numpy().any()
        assert {"tau", "p_tau", "Ab_42", "age", "male"} <= set(data.feature_names)
        assert data.table.index[[0, -1]].tolist() == ["1", "333"]
        assert "e18850" in data.source

    def test_known_biology(self) -> None:
        # Tau is raised and amyloid beta 42 lowered in the fluid of impaired people.
        data = load_alzheimer()
        impaired = (data.labels["Impairment"] == "Impaired").to_numpy()
        means = data.table.groupby(impaired).mean()
        assert means.loc[True, "tau"] > means.loc[False, "tau"]
        assert means.loc[True, "Ab_42"] < means.loc[False, "Ab_42"]

    def test_equals_its_origin_exactly(self, shared_data: Callable[[str], Path]) -> None:
        bundled, origin = load_alzheimer(), read_npz_dataset(shared_data("alzheimer_csf.npz"))
        np.testing.assert_array_equal(bundled.table.to_numpy(), origin.table.to_numpy())
        assert bundled.feature_names == origin.feature_names
        assert bundled.table.index.equals(origin.table.index)
        assert bundled.labels["Impairment"].tolist() == origin.labels["y"].tolist()
        carrier = ["E4" in genotype for genotype in origin.labels["Genotype"]]
        assert (bundled.labels["APOE4"] == "E4 carrier").tolist() == carrier


def test_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKFACTOR_DATA", "some/folder")
    assert data_directory() == Path("some/folder")
    monkeypatch.setenv("RANKFACTOR_DATA", "")
    assert data_directory() is None
    monkeypatch.delenv("RANKFACTOR_DATA")
    assert data_directory() is None
