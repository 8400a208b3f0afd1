"""The code of the how-to pages runs on tables with the names they use."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from rankfactor import load_alzheimer
from rankfactor.cli import app

HOWTO = Path(__file__).parents[1] / "docs" / "howto"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The last 16 features are those that the pages and the classes need; few make quick fits.
FEATURES = slice(-16, None)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """proteins.csv with its labels, clinic.csv beside it, and new.csv."""
    monkeypatch.chdir(tmp_path)
    data = load_alzheimer()
    table = data.table.iloc[:, FEATURES].copy()
    table.iloc[3, 0] = np.nan
    status = data.labels["Impairment"]
    order = np.arange(len(table))
    table = table.assign(visit=order % 3, QC_1=order % 7, QC_2=order % 11)
    table.iloc[:250].assign(status=status[:250]).to_csv("proteins.csv")
    table.iloc[250:].to_csv("new.csv")
    clinic = pd.DataFrame(
        {
            "status": status,
            "stage": data.labels["APOE4"],
            "batch": np.where(order % 2, "a", "b"),
            "family": [f"family {n // 2}" for n in order],
        },
        index=table.index,
    )
    clinic.iloc[:250].to_csv("clinic.csv")
    return tmp_path


@pytest.mark.quick_cases("new-samples")
@pytest.mark.parametrize("page", ["your-own-table", "new-samples"])
def test_page(page, files):
    names = {}
    for language, code in BLOCK.findall((HOWTO / f"{page}.md").read_text("utf-8")):
        if language == "python":
            exec(compile(code, page, "exec"), names)
            continue
        for line in code.replace("\\\n", "").splitlines():
            program, *arguments = shlex.split(line)
            assert program == "rankfactor"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
    CLAIMS[page](names)


def your_own_table(names):
    assert names["model"].predict(names["table"]).shape == (250,)
    assert Path("two-tasks.rankfactor").exists()
    assert Path("cv/summary.csv").exists()


def new_samples(names):
    assert names["classes"].shape[0] == 83
    written = pd.read_csv("predictions.csv", index_col=0)
    assert list(written.iloc[:, 0]) == list(names["classes"].ravel())
    assert Path("scores.csv").exists()
    assert Path("shared.rankfactor").exists()


CLAIMS = {"your-own-table": your_own_table, "new-samples": new_samples}
