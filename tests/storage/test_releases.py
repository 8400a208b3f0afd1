"""Model files of every release are read, and those of newer versions are refused."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.fixtures.write_release import KINDS, told

from rankfactor import InputError, __version__, load_model

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASES = sorted(path.name for path in FIXTURES.iterdir() if re.match(r"\d", path.name))
FILES = [(one, file.stem) for one in RELEASES for file in (FIXTURES / one).glob("*.rankfactor")]


def test_this_version_has_its_files() -> None:
    assert __version__ in RELEASES, "run tests/fixtures/write_release.py"
    assert {name for release, name in FILES if release == __version__} == set(KINDS)


@pytest.mark.parametrize(("release", "name"), FILES)
def test_predictions_are_those_of_the_release(release: str, name: str) -> None:
    expected = json.loads((FIXTURES / release / "predictions.json").read_text("utf-8"))
    model = load_model(FIXTURES / release / f"{name}.rankfactor")
    table = pd.DataFrame(expected["table"], dtype=float)
    given = table if name == "covariates" else table.drop(columns="age")
    # The encoder works in single precision, and processors round differently.
    found, then = told(model, given), expected["predictions"][name]
    np.testing.assert_allclose(found, then, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("key", "value"), [("version", 2), ("needs", ["something"])])
@pytest.mark.parametrize("library", ["0.9.3", "1.0.0rc1", "0 || rm", None])
def test_a_newer_file_says_what_to_install(
    key: str, value: object, library: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "newer.rankfactor"
    source = FIXTURES / RELEASES[-1] / "default.rankfactor"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member == "header.json":
                header = {**json.loads(content), key: value, "library": library}
                content = json.dumps(header).encode()
            new.writestr(member, content)
    with pytest.raises(InputError) as told_:
        load_model(path)
    is_version = library is not None and " " not in library
    wanted = f"pip install 'rankfactor>={library}'" if is_version else "install the version"
    assert wanted in str(told_.value)
    assert str(told_.value).startswith(str(path))
