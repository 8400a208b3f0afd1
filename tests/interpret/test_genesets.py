"""Gene sets: GMT files, and names that match or do not."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from rankfactor.errors import InputError
from rankfactor.interpret import read_gmt
from rankfactor.interpret.genesets import matched

TEXT = "one\thttp://x\tA\tB\tC\r\n\r\ntwo\t\tB\tB\t D \t\nempty\tnone\n"
SETS = {"one": frozenset("ABC"), "two": frozenset("BD"), "empty": frozenset()}


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sets.gmt"
    path.write_bytes(TEXT.encode())
    assert read_gmt(path) == SETS
    assert list(read_gmt(str(path))) == ["one", "two", "empty"]
    packed = tmp_path / "sets.gmt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert read_gmt(packed) == SETS
    other = tmp_path / "other.gmt"
    other.write_bytes("sét\t\tA".encode("latin-1"))
    assert read_gmt(other) == {"sét": frozenset("A")}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("one\tx\tA\nGENE1, GENE2\n", "sets.gmt, line 2 is not a gene set: a GMT line has a name"),
        ("\tx\tA\n", "line 1 is not a gene set"),
        ("one\tx\tA\n\none\ty\tB\n", "line 3 has a second set 'one'"),
        ("one\tx\n", "has no gene set with members"),
        ("", "sets.gmt is empty"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "sets.gmt"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_gmt(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_gmt(tmp_path / "nothing.gmt")


def match(sets, background, *, ignore_case=False, min_size=1, max_size=10):
    return matched(sets, background, ignore_case=ignore_case, min_size=min_size, max_size=max_size)


def test_sets_are_cut_to_the_background_before_their_size_counts() -> None:
    sets = {"a": frozenset("ABXYZ"), "b": frozenset("ABCD"), "c": frozenset("A")}
    assert match(sets, "ABCD", min_size=2, max_size=3) == {"a": frozenset("AB")}
    assert match(sets, "ABCD", min_size=2) == {"a": frozenset("AB"), "b": frozenset("ABCD")}
    with pytest.raises(InputError, match="no gene set has 5 to 10 of the 4 names"):
        match(sets, "ABCD", min_size=5)
    with pytest.raises(InputError, match="min_size"):
        match(sets, "ABCD", min_size=3, max_size=2)


def test_case() -> None:
    sets = {"a": frozenset(["GAPDH", "ACTB", "TP53", "B2M"])}
    mouse = ["Gapdh", "Actb", "Trp53"]
    with pytest.raises(InputError, match=r"^0 of the 3 names .* but 2 when case is ignored"):
        match(sets, mouse)
    assert match(sets, mouse, ignore_case=True) == {"a": frozenset(["Gapdh", "Actb"])}
    with pytest.warns(UserWarning, match="1 of the 4 names .* but 3 when"):
        assert match(sets, [*mouse, "B2M"]) == {"a": frozenset(["B2M"])}
    assert match(sets, ["GAPDH", "gapdh"]) == {"a": frozenset(["GAPDH"])}
    with pytest.raises(InputError, match="both 'GAPDH' and 'gapdh', which are the same when case"):
        match(sets, ["GAPDH", "gapdh"], ignore_case=True)


def test_names_of_another_kind() -> None:
    sentence = (
        r"none of the 4 names of the background \(ENSG1, ENSG2, ENSG3, ...\) is in a gene set"
    )
    with pytest.raises(InputError, match=sentence):
        match({"a": frozenset("AB")}, ["ENSG1", "ENSG2", "ENSG3", "ENSG4"])
