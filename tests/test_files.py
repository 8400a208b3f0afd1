"""Writing: all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankfactor.errors import InputError
from rankfactor.files import check_destinations, folder, written_together


def test_folder_removes_only_what_it_made(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()

    def fail_in(path: Path) -> None:
        with folder(path):
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_in(tmp_path / "kept" / "one" / "two")
    assert list(tmp_path.iterdir()) == [tmp_path / "kept"]
    assert list((tmp_path / "kept").iterdir()) == []
    with pytest.raises(RuntimeError, match="stop"):
        fail_in(tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()


def test_written_together(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.html"
    one.write_text("old")
    with written_together(one, two) as parts:
        assert [part.suffix for part in parts] == [".csv", ".html"]
        for part in parts:
            part.write_text("new")
        assert one.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [one, two]
    assert (one.read_text(), two.read_text()) == ("new", "new")


def write_then_fail(path: Path) -> None:
    with written_together(path) as (part,):
        part.write_text("half")
        raise OSError(28, "No space left on device", str(part))


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No space left on device"):
        write_then_fail(tmp_path / "one.csv")
    assert list(tmp_path.iterdir()) == []


def test_destinations(tmp_path: Path) -> None:
    check_destinations(tmp_path / "new.csv")
    with pytest.raises(InputError, match="is a folder"):
        check_destinations(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        check_destinations(tmp_path / "no" / "new.csv")
