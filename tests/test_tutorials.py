"""The tutorials run as they stand, print what they say they print, and find what they say."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankfactor.cli import app
from rankfactor.interpret import factor_table

PAGES = (Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md")
TUTORIALS = sorted(page for page in PAGES if page.stem != "index")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(text, capsys):
    """Names that the Python code of a page leaves, and what its code and commands print."""
    names, printed = {}, ""
    for language, code in BLOCK.findall(text):
        if language == "python":
            exec(compile(code, "tutorial", "exec"), names)
            continue
        for line in code.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "rankfactor"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            printed += result.output
    return names, printed + capsys.readouterr().out


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.quick_cases("big_five")
def test_tutorial(page, tmp_path, monkeypatch, capsys):
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


CLAIMS = {"big_five": big_five, "first-analysis": first_analysis}
