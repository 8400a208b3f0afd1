"""Damaged or edited records of a run are reported in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankfactor import InputError
from rankfactor.cli.belonging import check_files, data_difference, record_of, well_formed

OURS = {"labels": {"y": {"sha256": "1", "classes": {}}}, "samples_sha256": "2", "n_features": 3}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": NaN', "\x00"])
def test_a_record_that_is_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(InputError, match=r"result\.json cannot be read .*: run the cv again"):
        record_of(tmp_path / "result.json", "cv")


@pytest.mark.parametrize(
    "theirs",
    [{"labels": 1}, {"x": 1}, {**OURS, "labels": {"y": 3}}, {"labels": OURS["labels"]}],
)
def test_a_record_with_something_else_in_it(tmp_path: Path, theirs: dict[str, object]) -> None:
    file = tmp_path / "result.json"
    with (
        pytest.raises(InputError, match=r"result\.json cannot be read"),
        well_formed(file, "cv"),
    ):
        data_difference(OURS, theirs)


@pytest.mark.parametrize("damaged", [{"files": None}, {"files": ["a.csv"]}, {"warnings": "none"}])
def test_a_record_of_another_form_is_refused(damaged: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(InputError, match=r"result.json is damaged .* run `rankfactor cv` again"):
        check_files(tmp_path, damaged, "cv", "a.csv")
    check_files(tmp_path, {"warnings": []}, "cv", "a.csv")
