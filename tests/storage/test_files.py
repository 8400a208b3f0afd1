"""Writing: all or nothing."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from rankfactor.errors import InputError
from rankfactor.storage import files
from rankfactor.storage.files import (
    check_destinations,
    folder,
    same_file,
    written_folder,
    written_together,
)


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


def test_a_writer_within_another_names_the_path_asked_for(tmp_path: Path) -> None:
    asked, other = tmp_path / "asked.zip", tmp_path / "other.csv"
    with (
        pytest.raises(InputError) as raised,
        written_together(asked, other) as (part, _),
        written_together(part) as (inner,),
    ):
        raise OSError(28, "No space left on device", str(inner))
    assert str(raised.value).startswith(f"{asked} cannot be written (No space left on device)")
    assert list(tmp_path.iterdir()) == []


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


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is flushed, by name, and renamed, in order."""
    said: list[str] = []
    flush, rename = os.fsync, os.replace

    def record_flush(number: int) -> None:
        said.append(Path(os.path.realpath(f"/dev/fd/{number}")).name)
        flush(number)

    def record_rename(part: Path, path: Path) -> None:
        said.append("rename")
        rename(part, path)

    monkeypatch.setattr(os, "fsync", record_flush)
    monkeypatch.setattr(os, "replace", record_rename)
    return said


def test_the_content_is_on_disk_before_the_name(tmp_path: Path, done: list[str]) -> None:
    with written_together(tmp_path / "one") as (part,):
        part.write_text("new")
    assert done == [part.name, "rename", tmp_path.name]


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


def failing(number: int) -> None:
    raise OSError(5, "Input/output error")


def test_a_file_that_cannot_be_flushed_is_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    flush, flushed = os.fsync, 0

    def fail_at_the_second(number: int) -> None:
        nonlocal flushed
        flushed += 1
        if flushed == 2:
            failing(number)
        flush(number)

    monkeypatch.setattr(os, "fsync", fail_at_the_second)
    with pytest.raises(InputError, match=rf"^{two} cannot be written \(Input/output error\)"):
        write_both(one, two)
    assert list(tmp_path.iterdir()) == []


def write_both(*paths: Path) -> None:
    with written_together(*paths) as parts:
        for part in parts:
            part.write_text("new")


def test_a_part_that_cannot_be_removed_does_not_hide_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, missing_ok: bool = False) -> None:
        failing(0)

    monkeypatch.setattr(Path, "unlink", fail)
    write_both(tmp_path / "one")
    assert (tmp_path / "one").read_text() == "new"
    with pytest.raises(InputError, match="No space left on device"):
        write_then_fail(tmp_path / "one")


def test_a_folder_that_a_thread_of_a_library_still_writes_is_removed(tmp_path: Path) -> None:
    threads = []

    def write() -> None:
        with written_folder(tmp_path / "group.zarr") as part:
            threads.append(threading.Timer(0.05, part.mkdir))
            threads[0].start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    threads[0].join()
    assert not list(tmp_path.iterdir())


def write_folder(path: Path, text: str) -> None:
    with written_folder(path) as part:
        (part / "within").mkdir(parents=True)
        (part / "within" / "file").write_text(text)
        if text == "bad":
            raise OSError(28, "No space left on device")


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_takes_the_place_of_the_older_one(
    exchanges: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(files, "_exchanged", lambda one, other: False)
    path = tmp_path / "some.zarr"
    for text in ("one", "two"):
        write_folder(path, text)
        assert (path / "within" / "file").read_text() == text
        assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match=rf"^{path} cannot be written \(No space left"):
        write_folder(path, "bad")
    assert (path / "within" / "file").read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems need two renames")
def test_on_linux_folders_are_exchanged_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.zarr"
    write_folder(path, "one")
    monkeypatch.setattr(os, "replace", None)  # none is needed
    write_folder(path, "two")
    assert (path / "within" / "file").read_text() == "two"


def test_the_content_of_a_folder_is_on_disk_before_its_name(
    tmp_path: Path, done: list[str]
) -> None:
    write_folder(tmp_path / "some", "one")
    assert done[1:] == ["file", "within", "rename", tmp_path.name]


def test_parts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    parts = [tmp_path / name for name in (".chain-0.0123abcd.zip", ".chain-0-draws-1.89abcdef.zip")]
    kept = [tmp_path / name for name in ("chain-0.zip", ".chain-0.zip", ".notes.0123abcd.txt")]
    for path in (*parts, *kept):
        path.touch()
    files.remove_parts(tmp_path, "chain-*")
    assert sorted(tmp_path.iterdir()) == sorted(kept)
