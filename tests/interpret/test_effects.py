"""The table of what drives the decisions."""

import numpy as np
import pytest
from tests.plots import models

from rankfactor.errors import InputError
from rankfactor.interpret import effect_table
from rankfactor.storage.model_file import load_model


def test_every_feature_and_class_largest_effects_first() -> None:
    posterior = models.two_tasks()
    found = effect_table(posterior)
    assert len(found) == 4 * 12
    frame = posterior.feature_effects()
    for (task, label), part in found.groupby(["task", "class"], sort=False):
        row = f"{task}: {label}"
        assert part["rank"].tolist() == list(range(1, 13))
        assert part["effect"].abs().is_monotonic_decreasing
        np.testing.assert_array_equal(part["effect"], frame["effect"][row][part["feature"]])
        chances = frame["probability"][row][part["feature"]]
        np.testing.assert_array_equal(part["probability"], chances)
        assert (part["from"] < part["to"]).all()
    assert found[["sd", "low", "high", "lfsr", "clear", "selected"]].isna().all(axis=None)


def test_with_refits_it_says_how_sure_an_effect_is() -> None:
    posterior = models.with_stability(models.two_tasks())
    found = effect_table(posterior)
    names = posterior.feature_names[posterior.coding.columns].tolist()
    first = found[found["class"] == found["class"][0]]
    rows = [names.index(name) for name in first["feature"]]
    np.testing.assert_array_equal(first["sd"], posterior.stability.effect_sd[0, rows])
    np.testing.assert_array_equal(first["selected"], posterior.stability.effect_selected[0, rows])
    assert found["clear"].any()
    assert not found["clear"].all()


def test_models_without_effects_are_refused() -> None:
    with pytest.raises(InputError, match="fitted without labels"):
        effect_table(models.unsupervised())
    with pytest.raises(InputError, match="saved by an earlier version"):
        effect_table(load_model("tests/fixtures/linear_v1.rankfactor"))
