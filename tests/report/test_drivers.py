"""What drives the decisions: the page shows the effects and claims only what was assessed."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.plots import models
from tests.report.page import cells, read

from rankfactor.interpret import effect_table
from rankfactor.interpret.wording import number, plain
from rankfactor.posterior.certainty import effect_certainty
from rankfactor.report import effects as report_effects
from rankfactor.report import write_report
from rankfactor.report.effects import drivers, effects_data


def rows_of(posterior):
    frame = effect_table(posterior)
    return [part for _, part in frame.groupby(["task", "class"], sort=False)]


def test_a_card_lists_the_largest_effects_as_bars_around_zero(full):
    posterior, cards = models.two_tasks(), read(full).all("article")
    blocks = [block for card in cards for block in card.all("div", class_="drivers")]
    assert len(blocks) == 4  # one of the group, three of the stages
    for block, part in zip(blocks, rows_of(posterior), strict=True):
        lines = block.one("ol").all("li")
        expected = part.head(len(lines))
        assert len(lines) == (10 if part["task"].iloc[0] == "group" else 5)
        names = [line.one("span", class_="name").text for line in lines]
        assert names == [plain(name) for name in expected["feature"]]
        for line, effect in zip(lines, expected["effect"], strict=True):
            assert line.one("i").attributes["class"] == ("positive" if effect > 0 else "negative")
            assert line.one("span", class_="value").text.lstrip("+") == number(effect)
            # Readers who do not see the bars are told the class.
            two, label = part["task"].iloc[0] == "group", part["class"].iloc[0]
            other = "case <b>" if two else f"not {label}"
            assert line.text.endswith(f"towards {label if effect > 0 else other}")


def test_sides_of_two_classes_are_the_classes():
    posterior = models.two_tasks()
    (group,) = drivers(posterior, effect_table(posterior), 0)
    assert (group["left"], group["right"]) == ("case <b>", "control & co")
    for one in group["features"]:
        assert one["towards"] == (group["right"] if one["share"] > 0 else group["left"])
    assert abs(group["features"][0]["share"]) == 1.0
    stages = drivers(posterior, effect_table(posterior), 1)
    assert [one["left"] for one in stages] == ["not I", "not II", "not III"]


@pytest.mark.parametrize("page", ["full", "bare", "unlabelled"])
def test_nothing_is_called_clear_that_was_not_assessed(page, request):
    main = read(request.getfixturevalue(page)).one("main")
    text = main.text.lower()
    for word in ("clear", "lfsr", "false sign rate"):
        assert not re.search(word, text), word
    assert "stability not assessed" in text
    # The AUC alone has an interval.
    parts = [main.one("section", id=name).text for name in ("factors", "features", "methods")]
    assert "interval" not in " ".join(parts)


def test_what_was_assessed_is_said(assessed):
    posterior, page = models.with_stability(models.two_tasks()), read(assessed)
    text = page.one("main").text
    assert "not assessed" not in text
    assert "share of 30 half-sample fits in which the feature is among the 5" in text
    assert "false discovery rate of 0.05" in page.one("section", id="methods").text
    first = page.all("article")[0].one("div", class_="drivers").one("ol").all("li")
    (group, *_) = rows_of(posterior)
    for line, (_, row) in zip(first, group.head(10).iterrows(), strict=True):
        stable = line.one("span", class_="stable").text
        assert f"{number(100 * row['selected'], 0)} %" in stable
        assert (line.one("span", class_="certain").text == "✓clear") == bool(row["clear"])
    assert {bool(one) for one in group["clear"].head(10)} == {True, False}
    factors = page.one("section", id="factors").all("table")[0]
    heads = [head.text for head in factors.one("thead").all("th")]
    assert heads[-2:] == ["Clear features", "Match"]
    match = [cells(row)[-1] for row in factors.one("tbody").all("tr")]
    used = np.flatnonzero(posterior.active)
    assert match == [number(posterior.stability.factor_match[k]) for k in used]


def test_the_table_has_every_feature_of_the_model(assessed):
    posterior = models.with_stability(models.two_tasks())
    data = json.loads(read(assessed).one("script", id="effects-data").text)
    names = [plain(posterior.feature_names[i]) for i in posterior.coding.columns]
    assert sorted(data["features"]) == sorted(names)
    order = [names.index(name) for name in data["features"]]
    found = effect_certainty(posterior)
    assert [row["name"] for row in data["rows"]][:2] == ["group: control & co", "stage: I"]
    for place, row in enumerate(data["rows"]):
        np.testing.assert_allclose(row["effect"], found.mean[place, order], rtol=1e-3)
        np.testing.assert_allclose(row["sd"], found.sd[place, order], rtol=1e-3)
        np.testing.assert_array_equal(row["clear"], found.clear[place, order])
        sizes = np.abs(np.array(row["effect"])[row["order"]])
        assert (np.diff(sizes) <= 0).all()
    np.testing.assert_allclose(data["first"], posterior.effects.low[order], rtol=1e-3)
    np.testing.assert_allclose(data["third"], posterior.effects.high[order], rtol=1e-3)


def test_without_an_assessment_the_data_have_none(full):
    data = json.loads(read(full).one("script", id="effects-data").text)
    assert not data["assessed"]
    assert not {"sd", "selected", "clear"} & set(data["rows"][0])


def test_of_very_many_features_the_largest_are_kept(monkeypatch):
    posterior = models.two_tasks()
    frame = effect_table(posterior)
    monkeypatch.setattr(report_effects, "_MOST_NUMBERS", 40)
    data = effects_data(posterior, frame, False)
    assert len(data["features"]) == 10
    assert data["caption"].startswith("The 10 of 12 features with the largest effects.")
    left_out = set(frame["feature"].map(plain)) - set(data["features"])
    largest = frame.assign(size=frame["effect"].abs()).groupby("feature")["size"].max()
    largest.index = largest.index.map(plain)
    assert largest[list(left_out)].max() <= largest[data["features"]].min()


def test_readers_without_a_script_get_a_table(full):
    tables = read(full).one("section", id="effects").one("noscript").all("table")
    for table, part in zip(tables, rows_of(models.two_tasks()), strict=True):
        rows = [cells(row) for row in table.one("tbody").all("tr")]
        assert [row[0] for row in rows] == [plain(name) for name in part["feature"].head(25)]
        assert float(rows[0][1].replace("−", "-")) == pytest.approx(
            part["effect"].iloc[0], abs=5.01e-4
        )


@pytest.mark.slow
def test_a_model_of_an_earlier_version_has_no_effects(folder):
    from dataclasses import replace

    posterior = replace(models.two_tasks(), effects=None)
    page = read(write_report(folder / "old.html", posterior, title="t"))
    assert not page.all("section", id="effects")
    assert not page.all("div", class_="drivers")


def contributions(page):
    return json.loads(page.one("script", id="contributions-data").text)


def test_contributions_add_up_to_the_decision(assessed):
    posterior, table = models.two_tasks(), models.table()[0]
    data = contributions(read(assessed))
    explained = posterior.explain(table)
    assert [row["name"] for row in data["rows"]] == [plain(name) for name in explained]
    for row, one in zip(data["rows"], explained.values(), strict=True):
        np.testing.assert_allclose(row["decision"], one.decisions, atol=1e-4)
        np.testing.assert_allclose(row["base"], one.base_values, atol=1e-5)
        values = np.array(row["value"]).reshape(60, -1)
        # The largest first, each that of its feature, with the value of the table.
        assert (np.diff(np.abs(values), axis=1) <= 1e-9).all()
        places = np.array(row["feature"]).reshape(60, -1)
        names = [plain(name) for name in one.feature_names]
        for sample in (0, 17, 59):
            for j in range(data["count"]):
                column = names.index(data["features"][places[sample, j]])
                assert values[sample, j] == pytest.approx(one.values[sample, column], abs=1e-5)
                given = np.array(row["given"]).reshape(60, -1)[sample, j]
                assert given == pytest.approx(table.iloc[sample, column], rel=1e-3)


def test_without_the_table_there_are_no_contributions(full):
    assert contributions(read(full)) is None
    assert "--table TABLE" in read(full).one("div", id="sample").attributes["data-without"]


def test_samples_have_their_held_out_predictions(assessed):
    from tests.report.given import predictions

    data = json.loads(read(assessed).one("script", id="scores-data").text)
    frame, names = predictions(), data["samples"]
    group, stage = data["tasks"]
    own = frame[frame["task"] == "group"].set_index("sample").loc[names]
    assert [group["classes"][code] for code in group["predicted"]] == own["predicted"].tolist()
    np.testing.assert_allclose(group["probability"], own["probability"], atol=6e-4)
    # Of three classes, the probability of the class that was predicted; none without a label.
    own = frame[(frame["task"] == "stage") & (frame["positive"] == frame["predicted"])]
    own = own.set_index("sample").reindex(names)
    expected = own["probability"].to_numpy(float)
    assert stage["predicted"][:5] == [-1] * 5
    assert stage["probability"][:5] == [None] * 5
    np.testing.assert_allclose(np.array(stage["probability"][5:]), expected[5:], atol=6e-4)


def test_misclassified_samples_are_listed_without_a_script(assessed):
    from tests.report.given import predictions

    tables = read(assessed).one("section", id="samples").one("noscript").all("table")
    frame = predictions().drop_duplicates(["sample", "task"])
    for table, task in zip(tables, ("group", "stage"), strict=True):
        own = frame[(frame["task"] == task) & (frame["label"] != frame["predicted"])]
        rows = [cells(row) for row in table.one("tbody").all("tr")]
        assert rows == own[["sample", "label", "predicted"]].to_numpy().tolist()


def test_repeats_are_averaged():
    from rankfactor.report.held_out_samples import held_out

    posterior = models.two_tasks()
    rows = [("s0", "control & co", 0.6), ("s0", "case <b>", 0.1), ("s0", "case <b>", 0.2)]
    frame = pd.DataFrame(rows, columns=["sample", "predicted", "probability"]).assign(
        task="group", model="m", label="case <b>", decision=0.0, positive="control & co"
    )
    frame["repeat"] = [1, 2, 3]
    found, nothing = held_out(posterior, frame, np.array(["s0", "s1"]))
    assert found["predicted"] == [0, -1]
    assert found["probability"] == [0.3, None]
    assert nothing == {}
    # Decisions for the first class are turned round.
    turned = frame.assign(positive="case <b>", predicted="case <b>")
    assert held_out(posterior, turned, np.array(["s0"]))[0]["probability"] == [0.7]
