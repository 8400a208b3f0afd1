"""The tutorials run as they stand, print what they say they print, and find what they say."""

import re
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))


def run(text, capsys):
    """Names that the code of a page leaves, and what it prints."""
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(code, "tutorial", "exec"), names)
    return names, capsys.readouterr().out


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    names, printed = run(text, capsys)
    inside = re.sub(r"^```python\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for line in re.findall(r"^    (\S.*)$", inside, re.MULTILINE):
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


CLAIMS = {"big_five": big_five}
