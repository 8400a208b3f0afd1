"""Journeys of a reader: search for a feature, for a sample, and for what drives its decision."""

from __future__ import annotations

import re

import pytest
from tests.browser.test_page import in_view, opened
from tests.plots import models
from tests.report.given import predictions

from rankfactor.interpret import effect_table
from rankfactor.interpret.wording import plain


@pytest.fixture
def page(browser, report):
    with opened(browser, report, viewport={"width": 1280, "height": 900}) as page:
        yield page
        assert page.trouble == []


def numbers(texts):
    return [float(text.replace("\N{MINUS SIGN}", "-").replace("+", "")) for text in texts]


def test_a_feature_is_found_in_the_table_of_effects(page):
    host = page.locator("#effects-table")
    names = host.locator("tbody th")
    frame = effect_table(models.two_tasks())
    group = frame[frame["task"] == "group"]
    shown = [re.sub(r"\s+", " ", text) for text in names.all_inner_texts()]
    assert shown == [plain(name) for name in group["feature"]]
    host.get_by_role("searchbox").fill("F5")
    assert names.all_inner_texts() == ["f5"]
    assert host.get_by_role("status").first.inner_text() == "1 of 12 rows"
    effect = group.set_index("feature").loc["f5", "effect"]
    assert numbers(host.locator("tbody td.num").first.all_inner_texts()) == [
        pytest.approx(effect, abs=5.01e-4)
    ]
    # The same feature in the decision for another class.
    host.get_by_label("Decision").select_option("stage: III")
    assert "favour not III, positive ones III" in host.locator(".sides").inner_text()
    stage = frame[frame["class"] == "III"].set_index("feature").loc["f5", "effect"]
    assert numbers(host.locator("tbody td.num").first.all_inner_texts()) == [
        pytest.approx(stage, abs=5.01e-4)
    ]


def test_effects_are_sorted_by_any_column(page):
    host = page.locator("#effects-table")
    heading = host.locator("th", has_text="Effect").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = numbers(host.locator("tbody td:nth-child(2)").all_inner_texts())
    assert values == sorted(values, reverse=True)
    heading.get_by_role("button").press("Enter")
    values = numbers(host.locator("tbody td:nth-child(2)").all_inner_texts())
    assert values == sorted(values)
    bars = host.locator("tbody tr td.bar i").evaluate_all("all => all.map(one => one.className)")
    assert bars == ["negative" if value < 0 else "positive" for value in values]


def test_the_contributions_of_a_sample_add_up_to_its_decision(page):
    posterior, (table, _) = models.two_tasks(), models.table()
    page.locator("#samples-table").get_by_role("button", name="s17", exact=True).click()
    panel = page.locator("#sample")
    assert panel.get_by_role("heading").inner_text() == "Sample s17"
    for name, explanation in posterior.explain(table).items():
        panel.get_by_label("Decision").select_option(name)
        cells = panel.locator("tbody td.num")
        exact = [float(v) for v in cells.evaluate_all("all => all.map(one => one.dataset.value)")]
        assert len(exact) == 2 + 10 + 1
        assert sum(exact[:-1]) == pytest.approx(exact[-1], abs=1e-9)
        place = table.index.get_loc("s17")
        assert exact[-1] == pytest.approx(explanation.decisions[place], abs=1e-4)
        assert numbers(cells.all_inner_texts()) == pytest.approx(exact, abs=5.01e-4)
    assert panel.locator("tbody th").first.inner_text() == "Base value"


def test_scatter_and_table_select_the_same_sample(page):
    plot = page.locator(".plot")
    assert plot.locator(".selected").count() == 0
    page.locator("#samples-table").get_by_role("button", name="s17", exact=True).click()
    assert plot.locator(".selected").count() == 1
    # The other way: the far right sample is one that no other covers.
    in_view(page, plot)
    right = max(plot.locator(".point").all(), key=lambda one: one.bounding_box()["x"])
    box = right.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    name = page.get_by_role("tooltip").inner_text().splitlines()[0]
    page.mouse.down()
    page.mouse.up()
    assert page.locator("#sample").get_by_role("heading").inner_text() == f"Sample {name}"
    chosen = page.locator("#samples-table tr.chosen")
    assert chosen.locator("th").inner_text() == name
    # And by keys.
    plot.focus()
    plot.press("ArrowRight")
    first = page.get_by_role("tooltip").inner_text().splitlines()[0]
    plot.press("Enter")
    assert page.locator("#sample").get_by_role("heading").inner_text() == f"Sample {first}"
    assert first != name


def test_misclassified_samples_can_be_listed(page):
    frame = predictions().drop_duplicates(["sample", "task"])
    wrong = frame[frame["label"] != frame["predicted"]]
    host = page.locator("#samples-table")
    assert host.locator(".count").inner_text() == "60 rows"
    host.get_by_label("Misclassified only").check()
    assert host.locator(".count").inner_text() == f"{wrong['sample'].nunique()} rows"
    assert host.locator("tbody .wrong").count() == len(wrong)
    found = host.locator("tbody th").all_inner_texts()
    assert set(found) == set(wrong["sample"])
    host.get_by_label("Misclassified only").uncheck()
    assert host.locator("tbody tr").count() == 25
    host.get_by_role("button", name="Next").click()
    assert host.locator(".pager").inner_text().replace("\n", " ") == "Previous Page 2 of 3 Next"


def test_bars_have_the_colours_of_the_page_in_the_dark(browser, report):
    colours = []
    for scheme in ("light", "dark"):
        with opened(browser, report, color_scheme=scheme) as page:
            bar = page.locator(".drivers .positive").first
            colours.append(bar.evaluate("one => getComputedStyle(one).backgroundColor"))
    assert colours[0] != colours[1]
