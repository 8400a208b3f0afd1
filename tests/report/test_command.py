"""`rankfactor report` with gene sets, and with the training table."""

from __future__ import annotations

import json

import pytest
from tests.plots import models
from tests.report.page import cells, read
from typer.testing import CliRunner

from rankfactor.cli import app
from rankfactor.storage.model_file import save_model


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(models.unsupervised(), "model.rankfactor")
    return tmp_path


def test_gene_sets_of_a_file_are_tested(folder):
    (folder / "sets.gmt").write_text("a set\tno address\tf4\tf5\tf6\tf7\tf8\n")
    run = CliRunner().invoke(app, ["report", "model.rankfactor", "--gmt", "sets.gmt"])
    assert run.exit_code == 0, run.output
    section = read(folder / "report.html").one("section", id="enrichment")
    assert cells(section.one("tbody").all("tr")[0])[2] == "a set"


@pytest.mark.parametrize(
    ("content", "words"), [("a set without tabs\n", "line 1"), ("set\t-\tx\ty\n", "set")]
)
def test_a_file_that_does_not_fit_is_refused(folder, content, words):
    (folder / "sets.gmt").write_text(content)
    run = CliRunner().invoke(app, ["report", "model.rankfactor", "--gmt", "sets.gmt"])
    assert run.exit_code == 2
    assert run.stderr.startswith("error: ")
    assert words in run.stderr
    assert not (folder / "report.html").exists()


def test_a_missing_file_is_named():
    run = CliRunner().invoke(app, ["report", "model.rankfactor", "--gmt", "nowhere.gmt"])
    assert run.exit_code == 2
    assert "nowhere.gmt" in run.stderr


@pytest.fixture
def labelled(folder):
    """A model of a table in a file, with one more sample that has no label."""
    table, labels = models.table()
    given = table.drop(columns="constant").rename(columns=str.strip)
    given.columns = [f"x{i}" for i in range(12)]
    given = given.assign(group=labels["group"])
    given.to_csv(folder / "table.csv", index_label="id")
    settings = ["--labels", "group", "--n-factors", "2", "--tol", "1", "--max-iter", "3"]
    run = CliRunner().invoke(app, ["fit", "table.csv", *settings, "--out", "fit.rankfactor"])
    assert run.exit_code == 0, run.output
    return given


def contributions(path):
    return json.loads(read(path).one("script", id="contributions-data").text)


def test_the_training_table_gives_contributions(labelled, folder):
    more = labelled.copy()
    more.loc["another"] = more.iloc[0]
    more.iloc[::-1].to_csv(folder / "more.csv", index_label="id")
    found = []
    # Samples are found by name: neither order nor other samples matter.
    for name in ("table.csv", "more.csv"):
        options = ["--table", name, "--out", f"{name}.html"]
        run = CliRunner().invoke(app, ["report", "fit.rankfactor", *options])
        assert run.exit_code == 0, run.output
        found.append(contributions(folder / f"{name}.html"))
    assert found[0] == found[1]
    assert len(found[0]["rows"][0]["decision"]) == 60


def test_another_table_is_refused(labelled, folder):
    labelled.assign(x0=labelled["x0"] ** 2).to_csv(folder / "other.csv", index_label="id")
    run = CliRunner().invoke(app, ["report", "fit.rankfactor", "--table", "other.csv"])
    assert run.exit_code == 2
    assert "other.csv is not the training table" in run.stderr
    assert not (folder / "report.html").exists()


@pytest.mark.slow
def test_fit_writes_contributions_unless_samples_are_left_out(labelled, folder):
    settings = ["--labels", "group", "--n-factors", "2", "--tol", "1", "--max-iter", "3"]
    for name, more in (("with", []), ("without", ["--no-training-samples"])):
        out = ["--out", f"{name}.rankfactor", "--report", f"{name}.html"]
        run = CliRunner().invoke(app, ["fit", "table.csv", *settings, *out, *more])
        assert run.exit_code == 0, run.output
        assert (contributions(folder / f"{name}.html") is None) == bool(more)
        assert ("s17" in (folder / f"{name}.html").read_text("utf-8")) == (not more)
