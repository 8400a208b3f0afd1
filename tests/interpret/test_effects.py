"""The table of what drives the decisions."""

from dataclasses import replace

import numpy as np
import pytest
from tests.plots import models

from rankfactor.errors import InputError
from rankfactor.interpret import effect_table
from rankfactor.interpret.effects import driver_sentences
from rankfactor.interpret.wording import plain
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


def test_sentences_name_the_largest_effects_and_their_side() -> None:
    posterior = models.two_tasks()
    said = driver_sentences(posterior, 2)
    assert [one.split(":")[0] for one in said] == [
        "group, towards control & co",
        "stage, towards I",
        "stage, towards II",
        "stage, towards III",
    ]
    first = effect_table(posterior).head(2)
    for name, effect in zip(first["feature"], first["effect"], strict=True):
        start = said[0].split(plain(name))[0]
        assert start.rindex("high " if effect > 0 else "low ") > start.find("towards")
    assert driver_sentences(models.unsupervised()) == []


def test_only_clear_effects_are_named_where_that_was_assessed() -> None:
    posterior = models.with_stability(models.two_tasks())
    table = effect_table(posterior)
    for one, (_, part) in zip(
        driver_sentences(posterior, 12), table.groupby(["task", "class"], sort=False), strict=True
    ):
        named = [plain(name) in one for name in part["feature"]]
        assert named == part["clear"].tolist()
    stability = posterior.stability
    unsure = replace(stability, effect_sd=np.full_like(stability.effect_sd, 1e3))
    assert driver_sentences(posterior.with_stability(unsure))[0].endswith(
        ": no feature has a clear effect."
    )
