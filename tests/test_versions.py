"""`show_versions` lists every package that rankfactor requires."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import rankfactor
from rankfactor.versions import OPTIONAL, REQUIRED, versions

FILE = Path(__file__).parents[1] / "pyproject.toml"
PROJECT = tomllib.loads(FILE.read_text("utf-8"))["project"]


def names(requirements):
    return {re.match(r"[\w-]+", one)[0] for one in requirements}


def test_packages_are_those_of_the_project():
    extras = PROJECT["optional-dependencies"]
    optional = set().union(
        *(names(extras[extra]) for extra in extras if extra not in {"all", "dev", "docs"})
    )
    assert set(REQUIRED) == names(PROJECT["dependencies"])
    assert set(OPTIONAL) == optional


def test_one_line_per_package(capsys):
    rankfactor.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(versions())
    assert lines[0].split() == ["rankfactor", rankfactor.__version__]
    assert f"numpy{' ' * 10}" in "\n".join(lines)
    assert versions()["numpy"] == version("numpy")


def test_absent_packages_are_named(monkeypatch):
    monkeypatch.setattr("rankfactor.versions.OPTIONAL", ("no-such-package",))
    assert versions()["no-such-package"] == "not installed"


def test_the_version_is_the_same_everywhere():
    root = Path(__file__).parents[1]
    cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == rankfactor.__version__
    released = re.findall(
        r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$",
        (root / "CHANGELOG.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert released[0] == rankfactor.__version__
