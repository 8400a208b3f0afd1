"""The report as a reader gets it: parsed, and compared with the posterior."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.plots import models
from tests.report.given import TITLE, arguments
from tests.report.page import cells, read

from rankfactor.errors import InputError
from rankfactor.interpret.wording import plain
from rankfactor.report import write_report


@pytest.fixture(params=["full", "bare", "unlabelled", "assessed"])
def page(request):
    return read(request.getfixturevalue(request.param))


def test_nothing_is_fetched_and_only_our_script_runs(page):
    ids = {e.attributes["id"] for e in page.all() if "id" in e.attributes}
    *data, script = page.all("script")
    assert [block.attributes["type"] for block in data] == ["application/json"] * 4
    assert script.attributes == {}
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    digest = hashlib.sha256("".join(script.children).encode()).digest()
    assert f"script-src 'sha256-{base64.b64encode(digest).decode()}';" in policy
    assert policy.startswith("default-src 'none';")
    for element in page.all():
        assert element.tag not in {"link", "iframe", "object", "embed", "base", "form"}
        for key, value in element.attributes.items():
            assert not key.startswith("on")
            if key in {"src", "href", "xlink:href", "srcset", "action", "data"}:
                inside = value.startswith("#") and value[1:] in ids
                assert inside or value.startswith("data:image/png;base64,")
            for target in re.findall(r"url\(([^)]*)\)", value or ""):
                assert target in {f"#{name}" for name in ids}
    (style,) = page.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text
    assert "prefers-color-scheme: dark" in style.text
    assert "@media print" in style.text


def test_ids_are_unique(page):
    ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))


def test_headings_are_in_order(page):
    levels = [int(e.tag[1]) for e in page.all() if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert all(e.text for e in page.all() if re.fullmatch("h[1-6]", e.tag))


def test_every_figure_has_a_description_and_a_caption(page):
    drawings = page.all("svg")
    assert drawings
    for svg in drawings:
        assert svg.attributes["role"] == "img"
        assert len(svg.attributes["aria-label"]) > 20
    for figure in page.all("figure"):
        assert len(figure.all("svg")) == 1
        assert figure.one("figcaption").text
    assert len(page.all("figure")) == len(drawings)
    assert not [e for e in page.all("img") if not e.attributes.get("alt")]


def test_contents_lead_to_every_section(page):
    links = [a.attributes["href"][1:] for a in page.one("nav").all("a")]
    sections = [s.attributes["id"] for s in page.one("main").all("section")]
    assert links == sections
    for link, section in zip(page.one("nav").all("a"), page.all("section"), strict=True):
        assert section.all("h2")[0].text == link.text


def test_page_says_its_language_and_fits_a_phone(page):
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("meta", name="viewport").attributes["content"].startswith("width=device-width")
    for table in page.all("table"):
        assert "scroll" in table.parent.attributes["class"].split()
        assert table.all("caption")
        assert table.all("th", scope="col")


def test_names_are_text_never_markup(full):
    page = read(full)
    assert page.one("h1").text == TITLE
    assert page.one("title").text == TITLE
    for tag in ("em", "u", "b", "of", "elsewhere"):
        assert not page.all(tag)
    assert len(page.all("script")) == 5  # ours
    text = page.one("body").text
    for name in (models.SCRIPT, models.QUOTES, models.LONG, "<em>described</em>", "<u>beware</u>"):
        assert name in text
    assert "case <b>" in text
    assert "linear <SVM>" in text
    # In the figures too, where matplotlib would read dollar signs as a formula.
    words = {e.text for e in page.all("text")}
    assert models.SCRIPT in words
    assert models.QUOTES in words


def test_tables_hold_the_posteriors_numbers(full):
    posterior, page = models.two_tasks(), read(full)
    names = [plain(name) for name in posterior.feature_names]
    tables = page.one("section", id="features").all("details")
    assert len(tables) == posterior.active.sum()
    for k, table in zip(np.flatnonzero(posterior.active), tables, strict=True):
        assert table.attributes["id"] == f"factor-{k + 1}"
        rows = [cells(row) for row in table.one("tbody").all("tr")]
        assert len(rows) == 12  # the constant feature is no part of the model
        seen = []
        for line, row in zip(table.one("tbody").all("tr"), rows, strict=True):
            value = posterior.structure[names.index(row[0]), k]
            seen.append(abs(value))
            assert float(row[1].replace("−", "-")) == pytest.approx(value, abs=5.01e-4)
            # The bar is on the side of the sign, and as long as the loading is large.
            bar = line.one("i")
            assert bar.attributes["class"] == ("positive" if value > 0 else "negative")
            width = float(bar.attributes["style"].removeprefix("width: ").removesuffix("%"))
            assert width == pytest.approx(50 * abs(value) / seen[0], abs=0.051)
        assert seen == sorted(seen, reverse=True)
        assert seen[0] == np.abs(posterior.structure[:, k]).max()


def test_comparison_table_marks_the_best(full):
    table = read(full).one("table", class_="comparison")
    rows = [row for body in table.all("tbody") for row in body.all("tr")]
    assert [cells(row) for row in rows] == [
        ["group"],
        ["R-L-BSVM", "0.910 ± 0.040", "–", "0.850 ± 0.050", "3.2"],
        ["linear <SVM>", "0.930 ± 0.030", "–", "0.860 ± 0.040", "0.20"],
        ["stage"],
        ["R-L-BSVM", "0.880 ± 0.020", "–", "0.700 ± 0.060", "3.2"],
        ["linear <SVM>", "0.710 ± 0.050", "–", "0.600 ± 0.070", "123"],
    ]
    assert [e.text for e in table.all("strong")] == ["0.930", "0.880"]
    assert [row.attributes.get("class") for row in rows] == ["task", "own", None] * 2


def test_first_section_answers_and_warns(full):
    first = read(full).all("section")[0]
    cards = [card.text for card in first.all("article")]
    assert len(cards) == 2
    assert "group: AUC 0.91 on held-out samples." in cards[0]
    assert "Linear <SVM>: AUC 0.93; the difference was not tested." in cards[0]
    assert "stage: AUC 0.88 on held-out samples." in cards[1]
    assert re.search(r"Factor \d \(\d+ % of the variance\): higher in ", cards[0])
    assert "5 unknown" in cards[1]
    warnings = first.one("div", class_="cautions").text
    assert "not converged" in warnings
    assert "<u>beware</u>" in warnings


def test_no_factor_is_mentioned_when_none_is_clear(folder):
    posterior = models.with_coefficients(models.one_factor(), np.full((3, 1), 0.1), sd=1.0)
    first = read(write_report(folder / "unclear.html", posterior, title="t")).all("section")[0]
    assert "No factor has a coefficient that the posterior separates from zero." in first.text
    assert "higher in" not in first.text


def test_roc_only_for_two_classes(full):
    ids = [svg.attributes["id"] for svg in read(full).all("svg")]
    assert "fig-roc-0" in ids
    assert "fig-roc-1" not in ids
    assert {"fig-coefficients-0", "fig-coefficients-1", "fig-scores-0", "fig-scores-1"} <= set(ids)


def test_without_cross_validation_nothing_is_claimed(bare):
    page = read(bare)
    assert "cross-validation" not in [s.attributes["id"] for s in page.all("section")]
    cards = [card.text for card in page.all("article")]
    assert all("Accuracy on new samples was not estimated" in card for card in cards)
    assert "cross-validated AUC" not in page.text


def test_unsupervised_report_speaks_of_no_labels(unlabelled):
    page = read(unlabelled)
    first = page.all("section")[0].text
    assert "fitted without labels" in first
    assert "Factor 1 (" in first
    for word in ("AUC", "Coefficient", "hinge", "task", "decision"):
        assert word not in page.one("main").text
    ids = [svg.attributes["id"] for svg in page.all("svg")]
    assert ids == [
        *("fig-scores", "fig-shares", "fig-correlations"),
        *("fig-loadings", "fig-network", "fig-history"),
    ]


def test_methods_cite_and_list_the_settings(full):
    methods = read(full).one("section", id="methods")
    assert "Max-Margin Rank-Likelihood”, ICML 2015" in methods.text
    assert "seed 5" in methods.text
    rows = [cells(row) for row in methods.one("tbody").all("tr")]
    assert rows == [["<seed>", "a & b"], ["random_state", "5"], ["tol", "0.0001"]]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(full, folder):
    again = write_report(folder / "again.html", models.two_tasks(), **arguments())
    assert again.read_bytes() == full.read_bytes()


def test_one_factor_is_enough(folder):
    page = read(write_report(str(folder / "one.html"), models.one_factor(), title="One"))
    assert len(page.one("section", id="features").all("details")) == 1
    scores = json.loads(page.one("script", id="scores-data").text)
    assert scores["start"] == [[0, 0]]


def test_a_failed_write_leaves_the_old_report(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jinja2.Template.render", lambda *_, **__: "new")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match=r"report.html cannot be written \(No space left"):
        write_report(path, models.unsupervised(), title="t")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_the_page_is_complete_before_it_is_renamed(tmp_path, monkeypatch):
    page = "page é\n" * 10_000
    seen = []
    rename = os.replace

    def look(source, target):
        assert os.path.dirname(source) == os.path.dirname(target)
        with open(source, encoding="utf-8") as file:
            seen.append(file.read() == page)
        rename(source, target)

    monkeypatch.setattr("jinja2.Template.render", lambda *_, **__: page)
    monkeypatch.setattr(os, "replace", look)
    path = write_report(tmp_path / "report.html", models.unsupervised(), title="t")
    assert seen == [True]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"comparison": pd.DataFrame({"task": ["a"]})},
            "comparison frame lacks the column 'model'",
        ),
        ({"comparison": models.comparison().assign(auc="high")}, "not a number"),
        ({"decisions": models.decisions().drop(columns="sample")}, "lacks the column 'sample'"),
        ({"decisions": models.decisions().assign(decision="yes")}, "not a number"),
    ],
)
def test_bad_frames_are_named_and_nothing_is_written(tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        write_report(tmp_path / "report.html", models.two_tasks(), title="t", **change)
    assert not list(tmp_path.iterdir())


def test_the_folder_must_exist(tmp_path):
    with pytest.raises(InputError, match=r"folder .*nowhere does not exist"):
        write_report(tmp_path / "nowhere" / "report.html", models.unsupervised(), title="t")
    with pytest.raises(InputError, match="is a folder"):
        write_report(tmp_path, models.unsupervised(), title="t")
