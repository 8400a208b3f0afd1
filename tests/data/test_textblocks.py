"""Text block by block: pandas and the row reader agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor.data import read_table, textblocks
from rankfactor.data.streams import open_stream
from rankfactor.data.streams.base import joined
from rankfactor.errors import InputError

ROWS = [f"s{n},{n / 7!r},{n % 5},w{n % 3}" for n in range(60)]


def check(path: Path, rows: list[str], *, by_pandas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with the reader in memory, and count the blocks that pandas has read."""
    path.write_text("\n".join(["id,a,b,c", *rows]), newline="")
    expected = read_table(path)
    read, found = textblocks.Blocks._by_pandas, []

    def counting(*arguments: object) -> object:
        grid = read(*arguments)  # type: ignore[arg-type]
        found.append(grid is not None)
        return grid

    monkeypatch.setattr(textblocks.Blocks, "_by_pandas", counting)
    chunks = [chunk.table for chunk in open_stream(path).chunks(10)]
    monkeypatch.setattr(textblocks.Blocks, "_by_pandas", read)
    whole = expected.values.join(expected.annotations)
    whole.columns = whole.columns.astype(object)  # pandas 3 makes another type of it
    pd.testing.assert_frame_equal(joined(chunks), whole, check_exact=True)
    assert sum(found) == by_pandas


@pytest.mark.parametrize(
    ("row", "by_pandas"),
    [
        ("s30,0.1,1,w1", 6),
        ('"s30","0.1",1,"w1"', 6),
        ('"s""30",.1,1e2,w1', 6),
        ("s30,NA,,.", 6),
        ("s30,-0.30000000000000004,123456789012345678,w1", 6),
        ("s30, 7,1,  w1 ", 6),
        ("s30,1 000,1,w1", 5),
        ("s30,<0.05,1,w1", 5),
        ("s30,true,1,w1", 5),
        ("s30,NAN,1,w1", 5),
        ('s30,1,1,"w1, or w2"', 2),
        ('s30,1,1,"w1\nw2"', 2),
        ("s30,1,1,w1,", 2),
    ],
)
def test_odd_rows(
    row: str, by_pandas: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*ROWS[:30], row, *ROWS[31:]]
    check(tmp_path / "t.csv", rows, by_pandas=by_pandas, monkeypatch=monkeypatch)


def test_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    check(path, [*ROWS, "", ""], by_pandas=5, monkeypatch=monkeypatch)
    check(path, ROWS[:1], by_pandas=0, monkeypatch=monkeypatch)
    check(path, [f"{row}\r" for row in ROWS], by_pandas=6, monkeypatch=monkeypatch)
    for wrong, said in {
        "s30,1,1": "row 32 has 3 cells where 4 are expected",
        "": "row 32 is empty",
        "s30,1,1_0,w1": "row 32, column 'b': '1_0' is not a number",
        "s30,1,1e999,w1": "row 32, column 'b': the value is infinite",
        's30,"1,1",w1': "row 32 has 3 cells where 4 are expected",
    }.items():
        path.write_text("\n".join(["id,a,b,c", *ROWS[:30], wrong, *ROWS[31:]]))
        with pytest.raises(InputError, match=said):
            list(open_stream(path).chunks(7))


def test_rounding(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 3)) * 10.0 ** rng.integers(-300, 300, (2000, 3))
    lines = [",".join([f"s{n}", *map(repr, row)]) for n, row in enumerate(values.tolist())]
    path.write_text("\n".join(["id,a,b,c", *lines]))
    found = pd.concat([chunk.table for chunk in open_stream(path).chunks(1000)])
    np.testing.assert_array_equal(found.to_numpy(), values)
