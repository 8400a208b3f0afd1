"""The code of the tutorials runs, prints the output shown and supports the claims of the text."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from rankfactor.cli import app
from rankfactor.interpret import factor_table

PAGES = (Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md")
TUTORIALS = sorted(page for page in PAGES if page.stem != "index")
NEEDED = {"blocks-and-tasks": ["mudata"], "gibbs": ["arviz_stats"], "large-tables": ["distributed"]}
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(text, capsys):
    """Names that the Python code of a page leaves, and what its code and commands print."""
    names, printed = {}, ""
    for language, code in BLOCK.findall(text):
        if language == "python":
            exec(compile(code, "tutorial", "exec"), names)
            continue
        for line in code.replace("\\\n", "").splitlines():
            program, *arguments = shlex.split(line)
            assert program == "rankfactor"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            printed += result.output
    return names, printed + capsys.readouterr().out


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.quick_cases("big_five")
def test_tutorial(page, tmp_path, monkeypatch, capsys):
    for package in NEEDED.get(page.stem, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    names, printed = run(text, capsys)
    for line in re.findall(r"^    (\S.*|  \S.*)$", BLOCK.sub("", text), re.MULTILINE):
        assert line in printed.splitlines()
    assert list(tmp_path.glob("*.png"))  # every tutorial ends in a picture
    CLAIMS[page.stem](names)


def big_five(names):
    """Five factors, each led by the five items of one trait."""
    posterior = names["model"].posterior_
    assert posterior.n_factors == 5
    items = posterior.feature_names
    led = [{items[i][0] for i in abs(posterior.structure[:, k]).argsort()[-5:]} for k in range(5)]
    assert sorted(trait for traits in led for trait in traits) == list("ACENO")


def first_analysis(names):
    """Tau towards impairment, amyloid against it; the AUC and the size of the leading factors."""
    effect = names["effects"].set_index("feature")["effect"]
    assert effect["tau"] > 0.5
    assert effect["Ab_42"] < -0.3
    assert names["model"].shares[:2].sum() > 1 / 3
    assert list(factor_table(names["model"])["task"][:2]) == ["", ""]
    summary = Path("cv/summary.csv").read_text("utf-8").splitlines()
    heading = summary[0].split(",")
    for line in summary[1:]:
        assert 0.90 < float(line.split(",")[heading.index("auc")]) < 0.93


def own_table(names):
    """One factor is the batch before it is taken out, none afterwards."""
    assert names["scores_like_batch"](names["before"])[1] > 0.7
    assert names["scores_like_batch"](names["after"])[1] < 0.1
    assert 0.85 < pd.read_csv("cv/summary.csv")["auc"][0] < 0.94


def factors_effects_stability(names):
    """Effects are clear where coefficients are not; the person of the picture."""
    assert 6 <= names["effects"]["clear"].sum() <= 8
    assert names["coefficients"]["clear"].sum() <= 3
    assert "MMP10" in set(names["often"]["feature"])
    assert "NT_proBNP" in set(names["small"]["feature"])
    probability = names["model"].predict_proba(names["data"].table)[names["person"], 1]
    assert round(probability, 2) == 0.92


def blocks_and_tasks(names):
    """A small factor matters in both tasks."""
    model = names["model"]
    assert 0.01 < model.r2_by_factor_.iloc[names["both_tasks"]] < 0.02


def deployment(names):
    """Few of the impaired have a low probability."""
    impaired = names["truth"] == "Impaired"
    assert impaired.sum() == 15
    assert (names["probability"][impaired] < 0.2).sum() == 4


def gibbs(names):
    """Limits of variational Bayes are narrower; nobody is called impaired."""
    width = names["width"]
    assert 0.6 < width["variational Bayes"] / width["Gibbs sampling"] < 0.85
    assert not (names["sampled"].predict(names["new"]) == "Impaired").any()


def large_tables(names):
    """Two programmes of ten genes each, found as two factors; the others are off."""
    assert names["model"].n_active_ == 2
    led = [set(abs(names["loadings"][:, k]).argsort()[-10:]) for k in (0, 1)]
    assert sorted(map(min, led)) == [0, 10]
    assert sorted(map(max, led)) == [9, 19]


def paper(names):
    """Ranks lose nothing on a raw scale, the others much."""
    lost = names["table"].loc["as given"] - names["table"].loc[["raw scale", "1 % outliers"]]
    assert lost["R-L-BSVM"].max() < 0.02
    assert lost[["G-L-BSVM", "L-SVM"]].min().min() > 0.12


CLAIMS = {
    "big_five": big_five,
    "blocks-and-tasks": blocks_and_tasks,
    "deployment": deployment,
    "factors-effects-stability": factors_effects_stability,
    "first-analysis": first_analysis,
    "gibbs": gibbs,
    "large-tables": large_tables,
    "own-table": own_table,
    "paper": paper,
}
