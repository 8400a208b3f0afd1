"""`rankfactor report` with gene sets."""

from __future__ import annotations

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
