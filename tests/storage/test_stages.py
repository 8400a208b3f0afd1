"""Files of the stages of a fit: when they are written, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankfactor import InputError
from rankfactor.storage import stages
from rankfactor.storage.stages import StageFolder

PROBLEM = {"library": "1", "table": "abc", "seed": "0"}


class Clock:
    """In place of `time`."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(stages, "time", found)
    return found


def test_round_trip(tmp_path):
    file = StageFolder(tmp_path / "new", PROBLEM).stage("ascent", {})
    assert file.load() is None
    file.write()  # nothing to write
    assert file.load() is None
    values = np.arange(6.0).reshape(2, 3)
    file.keep({"values": values, "big": 2**100, "bad": float("nan"), "none": None})
    file.write()
    found = StageFolder(tmp_path / "new", PROBLEM).stage("ascent", {}).load()
    assert_array_equal(found["values"], values)
    assert found["big"] == 2**100
    assert np.isnan(found["bad"])
    assert found["none"] is None


def test_written_after_some_iterations_or_some_time(clock, tmp_path):
    file = StageFolder(tmp_path, PROBLEM).stage("ascent", {})
    for number in range(stages.ITERATIONS - 1):
        file.keep({"number": number})
    assert file.load() is None
    file.keep({"number": 100})
    assert file.load() == {"number": 100}
    file.keep({"number": 101})
    assert file.load() == {"number": 100}
    clock.now += stages.SECONDS
    file.keep({"number": 102})
    assert file.load() == {"number": 102}


def test_slow_disks_are_written_to_less_often(clock, tmp_path, monkeypatch):
    write = stages.write_tree

    def slow(*given, **more):
        clock.now += 10.0
        write(*given, **more)

    monkeypatch.setattr(stages, "write_tree", slow)
    file = StageFolder(tmp_path, PROBLEM).stage("ascent", {})
    file.keep({"number": 0})
    file.write()
    clock.now += 10.0 * stages.SHARE - 1.0
    file.keep({"number": 1})
    assert file.load() == {"number": 0}
    clock.now += 1.0
    file.keep({"number": 2})
    assert file.load() == {"number": 2}


def test_stages_of_a_further_fit_have_names_of_their_own(tmp_path):
    folder = StageFolder(tmp_path, PROBLEM)
    for one, number in ((folder, 1), (folder.part("linear"), 2)):
        file = one.stage("ascent", {})
        file.keep({"number": number})
        file.write()
    assert folder.stage("ascent", {}).load() == {"number": 1}
    assert folder.part("linear").stage("ascent", {}).load() == {"number": 2}


def test_another_problem_and_other_files_are_refused(tmp_path):
    file = StageFolder(tmp_path, PROBLEM).stage("ascent", {})
    file.keep({"number": 1})
    file.write()
    with pytest.raises(InputError, match=r"of another problem \(the table differs\): choose"):
        StageFolder(tmp_path, {**PROBLEM, "table": "abd"})
    (tmp_path / "stage-other.zip").write_text("something")
    with pytest.raises(InputError, match=r"stage-other\.zip is not a rankfactor stage"):
        StageFolder(tmp_path, PROBLEM)
