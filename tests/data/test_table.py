"""Every format and every sentence of the table reader."""

from __future__ import annotations

import gzip
import lzma
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankfactor.data import numeric_table, read_frame, read_table
from rankfactor.errors import InputError

VALUES = [[1.5, 2.0], [3.0, np.nan], [-4.25, 6e-3]]


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def fails(path: Path, sentence: str, **arguments: object) -> None:
    """Expect the whole sentence, so that a change of wording is a choice."""
    with pytest.raises(InputError) as caught:
        read_table(path, **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == sentence.format(path=path)


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "separator"),
        [
            ("t.csv", ","),
            ("t.csv", ";"),
            ("t.csv", "\t"),
            ("t.tsv", "\t"),
            ("t.txt", "\t"),
            ("T.CSV", ","),
            ("my.long.name.tsv", "\t"),
        ],
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_separators(self, tmp_path: Path, name: str, separator: str, end: str) -> None:
        rows = ["sample,a,b", "s1,1.5,2", "s2,3,", "s3,-4.25,6e-3", ""]
        path = write(tmp_path, end.join(rows).replace(",", separator), name)
        table = read_table(path)
        np.testing.assert_array_equal(table.to_numpy(), VALUES)
        assert list(table.index) == ["s1", "s2", "s3"]
        assert list(table.columns) == ["a", "b"]
        assert (table.dtypes == np.float64).all()

    @pytest.mark.parametrize(("name", "pack"), [("t.csv.gz", gzip), ("t.tsv.xz", lzma)])
    def test_compressed(self, tmp_path: Path, name: str, pack: object) -> None:
        separator = "," if "csv" in name else "\t"
        text = "id,a,b\n1,1.5,2\n2,3,\n3,-4.25,6e-3\n".replace(",", separator)
        (tmp_path / name).write_bytes(pack.compress(text.encode()))  # type: ignore[attr-defined]
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.to_numpy(), VALUES)

    def test_path_as_text(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a\nx,1\n")
        assert read_table(str(path)).loc["x", "a"] == 1

    def test_separator_inside_quotes_is_part_of_a_name(self, tmp_path: Path) -> None:
        path = write(tmp_path, 'id;"a,b,c,d";e\nx;1;2\n')
        assert list(read_table(path).columns) == ["a,b,c,d", "e"]

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        path = write(tmp_path, "\ufeffid,a\nx,1\n")
        assert list(read_table(path).columns) == ["a"]

    @pytest.mark.parametrize("marker", ["", "NA", "NaN", "nan", "null", "NULL", ".", " NA "])
    def test_missing_markers(self, tmp_path: Path, marker: str) -> None:
        path = write(tmp_path, f"id,a,b\nx,{marker},1\ny,2,{marker}\n")
        np.testing.assert_array_equal(read_table(path).to_numpy(), [[np.nan, 1], [2, np.nan]])

    def test_missing_first_cells_of_a_tab_row(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id\ta\tb\nx\t\t\ny\t\t2\n", "t.tsv")
        np.testing.assert_array_equal(read_table(path).to_numpy(), [[np.nan, np.nan], [np.nan, 2]])

    def test_spaces_around_cells(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id, a , b\n x , 1.5 , 2\ny,3 ,4\n")
        table = read_table(path)
        assert list(table.columns) == ["a", "b"]
        assert list(table.index) == ["x", "y"]
        np.testing.assert_array_equal(table.to_numpy(), [[1.5, 2], [3, 4]])

    def test_booleans_are_zero_and_one(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,b\nx,True,True\ny,False,\n")
        np.testing.assert_array_equal(read_table(path).to_numpy(), [[1, 1], [0, np.nan]])

    def test_header_as_r_writes_it(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a\tb\nx\t1\t2\ny\t3\t4\n", "t.txt")
        table = read_table(path)
        assert list(table.index) == ["x", "y"]
        np.testing.assert_array_equal(table.to_numpy(), [[1, 2], [3, 4]])

    def test_blank_lines_at_the_end(self, tmp_path: Path) -> None:
        assert read_table(write(tmp_path, "id,a,b\nx,1,2\n\n\n")).shape == (1, 2)
        assert read_table(write(tmp_path, "a,b\n1,2\n,\n,\n")).shape == (1, 2)

    def test_integer_beyond_64_bits(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a\nx,99999999999999999999999\ny,1\n")
        assert read_table(path).loc["x", "a"] == 1e23

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
    def test_numbers_are_read_exactly(self, tmp_path: Path, values: list[float]) -> None:
        rows = "".join(f"s{n},{value!r}\n" for n, value in enumerate(values))
        path = write(tmp_path, "id,a\n" + rows)
        np.testing.assert_array_equal(read_table(path)["a"].to_numpy(), values)


class TestSampleNames:
    @pytest.mark.parametrize("header", ["", "id", "ID", "sample", "Sample", "sample_id"])
    def test_by_the_name_of_the_column(self, tmp_path: Path, header: str) -> None:
        table = read_table(write(tmp_path, f"{header},a\n007,1\n8,2\n"))
        assert list(table.index) == ["007", "8"]
        assert list(table.columns) == ["a"]

    def test_by_its_cells(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, "patient,a\np1,1\n7,2\np2,3\n"))
        assert list(table.index) == ["p1", "7", "p2"]

    def test_numbers_are_a_feature(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, "age,a\n0.1,1\n,2\n0.30000000000000004,3\n"))
        assert list(table.index) == ["1", "2", "3"]
        np.testing.assert_array_equal(table["age"].to_numpy(), [0.1, np.nan, 0.1 + 0.2])

    @pytest.mark.parametrize("id_column", ["who", 1])
    def test_chosen(self, tmp_path: Path, id_column: str | int) -> None:
        table = read_table(write(tmp_path, "a,who,b\n1,01,2\n3,02,4\n"), id_column=id_column)
        assert list(table.index) == ["01", "02"]
        assert list(table.columns) == ["a", "b"]

    def test_the_only_column_is_data(self, tmp_path: Path) -> None:
        assert list(read_frame(write(tmp_path, "class\nA\nB\n"))["class"]) == ["A", "B"]


class TestText:
    def test_text_columns_stay_as_written(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,class,b\nx,1,01,2\ny,2,,3\n")
        frame = read_frame(path, text_columns=["class"])
        assert frame["class"].iloc[0] == "01"
        assert pd.isna(frame["class"].iloc[1])
        table = numeric_table(frame.drop(columns="class"), source=path)
        np.testing.assert_array_equal(table.to_numpy(), [[1, 2], [2, 3]])

    def test_all_columns_as_text(self, tmp_path: Path) -> None:
        frame = read_frame(write(tmp_path, "id,a,b\nx,1.50,01\n"), text_columns="all")
        assert frame.iloc[0].tolist() == ["1.50", "01"]

    def test_first_column_as_text_stays_text(self, tmp_path: Path) -> None:
        frame = read_frame(write(tmp_path, "class,a\n01,1\n02,2\n"), text_columns=["class"])
        assert frame["class"].tolist() == ["01", "02"]


class TestErrors:
    def test_no_such_file(self, tmp_path: Path) -> None:
        fails(tmp_path / "none.csv", "{path} does not exist; check the path.")

    def test_folder(self, tmp_path: Path) -> None:
        (tmp_path / "f.csv").mkdir()
        fails(tmp_path / "f.csv", "{path} is a folder; give the path of a file.")

    def test_unknown_extension(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a\nx,1\n", "t.xlsx"),
            "{path} has an unknown extension; "
            "name it .csv, .tsv or .txt, with .gz or .xz after it if it is compressed.",
        )

    def test_empty_file(self, tmp_path: Path) -> None:
        fails(write(tmp_path, ""), "{path} is empty; it needs a header and one row per sample.")

    def test_blank_header(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "\nid,a\nx,1\n"),
            "{path}, row 1 is empty; the column names have to stand there.",
        )

    @pytest.mark.parametrize("text", ["id,a\n", "id,a", "a,b\n\n\n"])
    def test_no_rows(self, tmp_path: Path, text: str) -> None:
        fails(write(tmp_path, text), "{path} has a header but no rows; add one row per sample.")

    def test_no_columns(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "sample\nx\ny\n"),
            "{path} has sample names but no other column; add one per feature.",
        )

    @pytest.mark.parametrize("cell", ["abc", "1.2.3", "1_000", "<0.5", "1 2"])
    def test_not_a_number(self, tmp_path: Path, cell: str) -> None:
        fails(
            write(tmp_path, f"id,a,b\nx,1,2\ny,3,4\nz,5,{cell}\n"),
            f"{{path}}, row 4, column 'b': '{cell}' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_long_text_is_cut(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, f"id,a\nx,{'y' * 60}\n"),
            f"{{path}}, row 2, column 'a': '{'y' * 37}...' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_decimal_comma(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id;a\nx;1\ny;-1,5\n"),
            "{path}, row 3, column 'a': '-1,5' is not a number; write it with a decimal point.",
        )

    def test_wrong_cell_in_the_first_feature(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "a,b\n1,2\nx,3\n4,5\n"),
            "{path}, row 3, column 'a': 'x' is not a number; correct it, or leave the cell empty "
            "if the value is missing, or name the column as id_column if it holds the sample "
            "names.",
        )

    @pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999"])
    def test_infinite(self, tmp_path: Path, cell: str) -> None:
        fails(
            write(tmp_path, f"id,a,b\nx,1,2\ny,{cell},4\n"),
            "{path}, row 3, column 'a': the value is infinite; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_repeated_feature_names(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a,b,a\nx,1,2,3\n"),
            "{path} has a repeated feature name: 'a'; make every name unique.",
        )
        fails(
            write(tmp_path, "id,a,b,c,d,e,d,c,b,a,a\nx,1,2,3,4,5,6,7,8,9,10\n"),
            "{path} has a repeated feature name: 'd', 'c', 'b' and 1 more; make every name unique.",
        )

    def test_repeated_sample_names(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a\nx,1\ny,2\nx,3\n"),
            "{path} has a repeated sample name: 'x'; make every name unique.",
        )

    def test_column_without_a_name(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a,,c\nx,1,2,3\n"),
            "{path}, row 1: column 3 has no name; give it one.",
        )

    def test_sample_without_a_name(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a\nx,1\n,2\ny,3\n"),
            "{path}, row 3 has no sample name; add one or remove the row.",
        )

    def test_blank_row(self, tmp_path: Path) -> None:
        fails(write(tmp_path, "a,b\n1,2\n\n3,4\n"), "{path}, row 3 is empty; remove it.")

    @pytest.mark.parametrize(("row", "found"), [("y,1", 2), ("y,1,2,3", 4), ("y", 1)])
    @pytest.mark.parametrize("before", ["", "v,1,2\n", "v,1,\n"])
    def test_ragged(self, tmp_path: Path, row: str, found: int, before: str) -> None:
        number = 3 + before.count("\n")
        fails(
            write(tmp_path, f"id,a,b\nx,1,2\n{before}{row}\nz,1,2\n"),
            f"{{path}}, row {number} has {found} cells where 3 are expected; "
            "add or remove cells so that every row is as long as the header.",
        )

    def test_first_row_much_longer_than_the_header(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a\nx,1,2,3\n"),
            "{path}, row 2 has 4 cells where 2 are expected; "
            "add or remove cells so that every row is as long as the header.",
        )

    def test_not_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        for content in (b"id,a\xff\nx,1\n", b"id,a\nx,1\ny\xe9,2\n"):
            path.write_bytes(content)
            fails(path, "{path} is not UTF-8 text; save it again as UTF-8.")

    @pytest.mark.parametrize(("name", "pack"), [("t.csv.gz", gzip), ("t.csv.xz", lzma)])
    def test_broken_compression(self, tmp_path: Path, name: str, pack: object) -> None:
        path = tmp_path / name
        rows = "".join(f"s{n},{n * 0.377}\n" for n in range(5000))
        whole = pack.compress(("id,a\n" + rows).encode())  # type: ignore[attr-defined]
        for content in (b"id,a\nx,1\n", whole[: len(whole) // 2]):
            path.write_bytes(content)
            fails(path, f"{{path}} is not a whole {path.suffix} file; copy or compress it again.")

    def test_open_quote(self, tmp_path: Path) -> None:
        path = write(tmp_path, 'id,a\nx,1\n"y,2\nz,3\n')
        with pytest.raises(InputError, match=re.escape(str(path)) + ".*row 3.*"):
            read_table(path)

    def test_unknown_id_column(self, tmp_path: Path) -> None:
        path = write(tmp_path, "u,v\n1,2\n")
        fails(
            path,
            "{path} has no column 'w' to take as id_column; its columns begin with 'u', 'v'.",
            id_column="w",
        )
        fails(
            path,
            "{path} has 2 columns, so id_column=2 is none of them; give a position from 0 to 1.",
            id_column=2,
        )


class TestNumericTable:
    def test_plain_frame(self) -> None:
        frame = pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")}, index=[5, 6])
        table = numeric_table(frame, source="mine")
        np.testing.assert_array_equal(table.to_numpy(), [[1, 1], [2, np.nan]])
        assert table.index.tolist() == [5, 6]

    def test_sentences(self) -> None:
        for frame, sentence in (
            (pd.DataFrame({"a": []}), "mine has no rows; a table needs one row per sample."),
            (
                pd.DataFrame(index=["x"]),
                "mine has no feature columns; a table needs at least one.",
            ),
            (
                pd.DataFrame([[1, 2]], columns=["a", "a"]),
                "mine has a repeated feature name: 'a'; make every name unique.",
            ),
            (
                pd.DataFrame({"a": [1, 2]}, index=["x", "x"]),
                "mine has a repeated sample name: 'x'; make every name unique.",
            ),
        ):
            with pytest.raises(InputError) as caught:
                numeric_table(frame, source="mine")
            assert str(caught.value) == sentence
