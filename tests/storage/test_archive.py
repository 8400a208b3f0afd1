"""Archives: values round-trip, damage is found, and only classes named by the reader are built."""

from __future__ import annotations

import json
import math
import zipfile
from dataclasses import dataclass, make_dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from tests.engine.test_checkpoint import leaves

from rankfactor import InputError
from rankfactor.engine.chain import Moments
from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point
from rankfactor.likelihoods import NoParameters
from rankfactor.shrinkage import SHRINKAGE, ShrinkageByBlock
from rankfactor.storage.archive import (
    Format,
    kinds_of,
    plain,
    read_archive,
    read_tree,
    stacked,
    unstacked,
    write_archive,
    write_tree,
)

FORM = Format("test", "file", "write it again")


class Watch:
    """Not a dataclass."""


@dataclass
class Outer:
    law: Gamma | Point
    several: tuple[Normal, ...]


def there_and_back(value, path, kinds=None):
    write_tree(path, FORM, value)
    return read_tree(path, FORM, kinds_of(value) if kinds is None else kinds)


def test_files_can_only_name_known_classes(tmp_path):
    path = tmp_path / "file.zip"
    tree = {"kind": "subprocess.Popen", "fields": {"args": "true"}}
    write_archive(path, {"format": "test", "tree": tree}, {})
    with pytest.raises(InputError, match=r"damaged \('subprocess.Popen'\): write it again\."):
        read_tree(path, FORM, kinds_of(Outer))
    with pytest.raises(InputError, match="Watch cannot be written to a file: it must be a datacl"):
        write_tree(path, FORM, {"one": Watch()})
    namesake = make_dataclass("Normal", ["mean"])
    normal = Normal.isotropic(np.zeros((1, 1)), 1.0)
    with pytest.raises(InputError, match=r"Normal cannot be written to a file: .* must be unique"):
        write_tree(path, FORM, (namesake(1.0), normal))
    with pytest.raises(ValueError, match="allow_pickle"):
        write_tree(tmp_path / "objects.zip", FORM, np.array([{}], object))
    assert [one.name for one in tmp_path.iterdir()] == ["file.zip"]


def test_older_files_name_classes_by_path_and_have_no_checksum(tmp_path):
    path = tmp_path / "file.zip"
    tree = {"kind": "rankfactor.inference.somewhere.Point", "fields": {"value": {"array": 0}}}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("tree.json", json.dumps({"format": "test", "tree": tree}))
        with file.open("0.npy", "w") as member:
            np.lib.format.write_array(member, np.arange(3.0))
    assert_array_equal(read_tree(path, FORM, kinds_of(Outer)).value, np.arange(3.0))


def test_classes_are_found_by_value_and_by_annotation():
    assert set(kinds_of(Outer)) == {"Outer", "Gamma", "Point", "Normal"}
    value = {"a": [Outer(Point(np.ones(1)), ()), (NoParameters(),)]}
    assert set(kinds_of(value)) == {"Outer", "Gamma", "Point", "Normal", "NoParameters"}
    assert kinds_of(value)["Gamma"] is Gamma


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("name", SHRINKAGE)
def test_scales_of_every_prior_come_back(name, drawn, views, tmp_path):
    """With the classes of the scales that a chain starts from, which are laws and not points."""
    prior = SHRINKAGE[name]()
    prior = prior if views == 1 else ShrinkageByBlock.of(prior, [0, 0, 1, 1])
    squares = np.random.default_rng(0).random((4, 3))
    stream = Stream.from_seed(0) if drawn else None
    start = prior.update(prior.start(4, 3), squares)
    scales = prior.update(start, squares, stream)
    back = there_and_back(scales, tmp_path / "scales.zip", kinds_of(start))
    assert type(back) is type(scales)
    assert dict(leaves(back)).keys() == dict(leaves(scales)).keys()
    assert_array_equal(prior.precision(back), prior.precision(scales))


def test_arrays_come_back_as_they_were_and_can_be_written_to(tmp_path):
    one = Normal(np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.ones((2, 6)), np.zeros(2))
    value = {"a": (one, None, 0.1, np.int64(3)), "b": Moments.empty(2, 3), "c": [math.inf, "x"]}
    back = there_and_back(value, tmp_path / "a.zip")
    assert back["a"][0].mean.flags.f_contiguous  # the layout decides how BLAS rounds
    assert_array_equal(back["a"][0].mean, one.mean)
    assert back["a"][1:] == (None, 0.1, 3)
    assert back["c"] == [math.inf, "x"]
    back["b"].add(one)
    assert back["b"].count == 1


@pytest.mark.parametrize("compressed", [True, False])
def test_a_changed_member_is_found(compressed, tmp_path):
    path = tmp_path / "a.zip"
    write_archive(path, {"format": "test"}, {"x": np.zeros(5)}, compressed=compressed)
    header, arrays = read_archive(path, FORM)
    assert header == {"format": "test", "checksum": "sha256"}
    assert_array_equal(arrays["x"], np.zeros(5))
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["x.npy"] = members["x.npy"][:-1] + b"1"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    with pytest.raises(InputError, match=r"its checksum differs\): write it again"):
        read_archive(path, FORM)


def test_stacks_come_apart_again():
    values = [
        {"x": np.full(2, i), "law": Gamma(np.array(2.0), np.full(3, float(i)))} for i in range(4)
    ]
    whole = stacked(values)
    assert whole["x"].shape == (4, 2)
    assert whole["law"].rate.shape == (4, 3)
    for one, other in zip(unstacked(whole, 4), values, strict=True):
        assert_array_equal(one["x"], other["x"])
        assert_array_equal(one["law"].rate, other["law"].rate)
    assert stacked([]) == {}
    assert unstacked(stacked([NoParameters()] * 3), 3) == [NoParameters()] * 3


def test_plain_values():
    array: NDArray[np.float64] = np.array([1.0, np.nan])
    value = {1: (np.float32(0.5), np.nan, -math.inf), "p": Path("a/b"), "x": array, "s": {True}}
    found = plain(value)
    assert found == {"1": [0.5, None, None], "p": str(Path("a/b")), "x": [1.0, None], "s": [True]}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
