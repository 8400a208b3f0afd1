"""The scripts and the notebook of examples/ run and find the planted structure."""

import json
import runpy
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def printed_by(script, capsys):
    runpy.run_path(str(EXAMPLES / f"{script}.py"), run_name="__main__")
    return capsys.readouterr().out


def test_classify_csv(capsys):
    accuracy = printed_by("classify_csv", capsys).split()[-1]
    assert 0.83 < float(accuracy) < 0.93
    assert len(pd.read_csv("predictions.csv")) == 83
    assert Path("model.rankfactor").exists()
    assert Path("report.html").exists()


def test_factors_of_counts(capsys):
    number, cosines = printed_by("factors_of_counts", capsys).splitlines()
    assert number == "3 factors (parallel analysis)"
    assert min(map(float, cosines.split("[")[1].rstrip("]").split())) > 0.97
    assert Path("loadings.png").exists()


def test_scikit_learn_pipeline(capsys):
    assert 0.85 < float(printed_by("scikit_learn_pipeline", capsys).split()[4]) < 0.95


def test_notebook():
    cells = json.loads((EXAMPLES / "tumours.ipynb").read_text("utf-8"))["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # they would go out of date
            exec(compile("".join(cell["source"]), "tumours.ipynb", "exec"), names)
    train, types = names["train"], names["types"]
    assert (names["predicted"] == types[~train]).mean() > 0.9
    assert len(names["effects"].groupby("class")) == 4
