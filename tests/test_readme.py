"""The examples in the README run."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankfactor import load_alzheimer
from rankfactor.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks("python"))
def test_python(code, working_folder):
    assert code.count("\n") <= 13
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["model"].predict(names["new"]).shape == (83, 2)
    assert names["model"].transform(names["new"]).shape == (83, 20)
    assert {path.name for path in working_folder.iterdir()} == {"model.rankfactor", "report.html"}


@pytest.mark.parametrize("commands", blocks("console"))
@pytest.mark.slow
def test_commands(commands, working_folder):
    data = load_alzheimer()
    data.table.iloc[:250].to_csv("proteins.csv")
    data.table.iloc[250:].to_csv("new.csv")
    data.labels.rename(columns={"Impairment": "status"}).iloc[:250].to_csv("patients.csv")
    for line in commands.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "rankfactor"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert Path("report.html").stat().st_size > 10_000
    assert len(Path("predictions.csv").read_text().splitlines()) == 84


def test_there_is_something_to_run():
    assert len(blocks("python")) == 1
    assert len(blocks("console")) == 1


def test_models_are_the_ones_there_are():
    from rankfactor.presets import PRESETS

    rows = re.findall(r'^\| `"([\w-]+)"` \| `"([\w-]+)"` \|', README, re.MULTILINE)
    assert dict(rows) == {code: preset.plain for code, preset in PRESETS.items()}


def tables(text):
    """Rows of every table as dictionaries, by the first cell of the heading."""
    found = {}
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        heading, _, *rows = [
            [cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()
        ]
        found.setdefault(heading[0], []).append(
            [dict(zip(heading, row, strict=True)) for row in rows]
        )
    return found


@pytest.mark.parametrize(("first", "section"), [("method", "recovery"), ("model", "stress")])
def test_figures_are_those_of_the_results(first, section):
    results = (ROOT / "docs" / "results" / "results.md").read_text("utf-8")
    (part,) = re.findall(
        rf"<!-- {section}: begin -->(.*?)<!-- {section}: end -->", results, re.DOTALL
    )
    (shown,) = tables(README)[first]
    measured = {row[first]: row for row in tables(part)[first][0]}
    assert len(shown) >= 5
    for row in shown:
        assert row.items() <= measured[row[first]].items()


def test_it_is_short():
    assert README.count("\n") <= 150
