"""Classes one by one, and the quality of the table, as the page shows them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.plots import models
from tests.report.given import predictions
from tests.report.page import cells, read

from rankfactor import RankFactorClassifier
from rankfactor.interpret import quality
from rankfactor.report import write_report


def test_every_class_has_its_sensitivity(assessed):
    section = read(assessed).one("section", id="cross-validation")
    ids = [svg.attributes["id"] for svg in section.all("svg")]
    assert {"fig-confusion-0", "fig-confusion-1", "fig-classes-1"} <= set(ids)
    assert "fig-classes-0" not in ids  # two classes have an ROC of all models
    tables = [table for table in section.all("table") if "Sensitivity" in table.text]
    frame = predictions().drop_duplicates(["sample", "task"])
    for table, task in zip(tables, ("group", "stage"), strict=True):
        own = frame[frame["task"] == task]
        for row in map(cells, table.one("tbody").all("tr")):
            members = own[own["label"] == row[0]]
            said = own[own["predicted"] == row[0]]
            assert int(row[1]) == len(members)
            hit = (members["predicted"] == row[0]).mean()
            assert float(row[2]) == pytest.approx(hit, abs=5.01e-3)
            assert float(row[4]) == pytest.approx((said["label"] == row[0]).mean(), abs=5.01e-3)


def test_predictions_are_needed(full):
    assert "Sensitivity" not in read(full).text


@pytest.fixture(scope="module")
def holes():
    """A table with missing values, a constant, a feature of ties and one that is the label."""
    table, labels = models.table()
    names = [f"x{i}" for i in range(8)]
    given = pd.DataFrame(table.to_numpy()[:, :8].copy(), table.index, names)
    given.iloc[:30, 1] = np.nan
    given.loc["s7", ["x2", "x3"]] = np.nan
    given["x4"] = 1.0
    given["x5"] = (np.arange(60) % 4 == 0).astype(float)
    given["leak"] = (labels["group"] == "case <b>").astype(float) * 2 + np.linspace(0, 1, 60)
    model = RankFactorClassifier(n_factors=2, max_iter=3, tol=1.0, random_state=0)
    with pytest.warns(UserWarning, match="constant|separates") as heard:
        posterior = model.fit(given, labels["group"]).posterior_
    return given, posterior, [str(one.message) for one in heard]


def test_the_quality_of_the_table_is_said(holes, tmp_path):
    given, posterior, heard = holes
    path = write_report(tmp_path / "r.html", posterior, title="t", table=given, warnings=heard)
    section = read(path).one("section", id="quality")
    for text in quality.table_quality(given, posterior).sentences():
        assert text in section.text
    assert "in x1" in section.text.replace("most in x1", "in x1")
    assert "leak" in section.text
    assert section.one("svg", id="fig-missing")
    features, samples = section.all("table")
    rows = {row[0]: row[1:] for row in map(cells, features.one("tbody").all("tr"))}
    assert set(rows) == {"x1", "x2", "x3", "x4", "x5"}
    assert rows["x1"][0] == "50.0"
    assert rows["x4"][1] == "1"
    assert rows["x5"][2] == "75"
    counts = {row[0]: row[1] for row in map(cells, samples.one("tbody").all("tr"))}
    assert counts["s7"] == "3"
    assert len(counts) == 30
    # Every warning of the fit is there.
    for text in heard:
        assert text[1:] in section.text


def test_without_the_table_the_command_is_named(bare):
    section = read(bare).one("section", id="quality")
    assert "rankfactor report MODEL --table TABLE" in section.text
    assert not section.all("table")


def test_a_complete_table_has_no_figure_of_holes(assessed):
    section = read(assessed).one("section", id="quality")
    assert "No value is missing (60 samples, 13 features)." in section.text
    assert not section.all("svg")
