"""Writing: all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankfactor.errors import InputError
from rankfactor.storage.files import check_destinations, folder, same_file, written_together


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
    with pytest.raises(InputError, match="not a regular file"):
        check_destinations(Path(os.devnull))


def test_a_failure_is_told_of_the_path_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{tmp_path / 'one.csv'} cannot be written"):
        write_then_fail(tmp_path / "one.csv")


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to(target)  # broken at first
    for text in ("one", "two"):
        check_destinations(link)
        with written_together(link) as (part,):
            part.write_text(text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert list((tmp_path / "there").iterdir()) == [target]


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)
    with written_together(path) as (part,):
        part.write_text("new")
    assert path.read_text() == "new"


def test_the_content_is_on_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    flush, rename = os.fsync, os.replace

    def record_flush(number: int) -> None:
        done.append("folder" if os.path.isdir(f"/dev/fd/{number}") else "file")
        flush(number)

    def record_rename(part: Path, path: Path) -> None:
        done.append("rename")
        rename(part, path)

    monkeypatch.setattr(os, "fsync", record_flush)
    monkeypatch.setattr(os, "replace", record_rename)
    with written_together(tmp_path / "one") as (part,):
        part.write_text("new")
    assert done == ["file", "rename", "folder"]


def test_one_file_by_many_names(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.touch()
    (tmp_path / "soft").symlink_to(one)
    os.link(one, tmp_path / "hard")
    for name in ("one", "soft", "hard", "../" + tmp_path.name + "/one"):
        assert same_file(one, tmp_path / name)
    assert not same_file(one, tmp_path / "two")
    assert not same_file(one, tmp_path / "ONE") or os.path.exists(tmp_path / "ONE")
    # Of two that do not exist yet, the file system is not asked.
    assert same_file(tmp_path / "new", tmp_path / "NEW")
    assert not same_file(tmp_path / "new", tmp_path / "newer")
