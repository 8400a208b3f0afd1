"""The table reader: every format and every message."""

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

from rankfactor.data import column_names, numeric_table, read_annotations, read_table
from rankfactor.errors import InputError

VALUES = [[1.5, 2.0], [3.0, np.nan], [-4.25, 6e-3]]


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def values_of(path: Path | str, **arguments: object) -> pd.DataFrame:
    return read_table(path, **arguments).values  # type: ignore[arg-type]


def fails(path: Path, sentence: str, **arguments: object) -> None:
    """Expect the whole sentence, so that wording changes only on purpose."""
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
        table = values_of(path)
        np.testing.assert_array_equal(table.to_numpy(), VALUES)
        assert list(table.index) == ["s1", "s2", "s3"]
        assert list(table.columns) == ["a", "b"]
        assert (table.dtypes == np.float64).all()

    @pytest.mark.parametrize(("name", "pack"), [("t.csv.gz", gzip), ("t.tsv.xz", lzma)])
    def test_compressed(self, tmp_path: Path, name: str, pack: object) -> None:
        separator = "," if "csv" in name else "\t"
        text = "id,a,b\n1,1.5,2\n2,3,\n3,-4.25,6e-3\n".replace(",", separator)
        (tmp_path / name).write_bytes(pack.compress(text.encode()))  # type: ignore[attr-defined]
        table = values_of(tmp_path / name)
        np.testing.assert_array_equal(table.to_numpy(), VALUES)

    def test_path_as_text(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a\nx,1\n")
        assert values_of(str(path)).loc["x", "a"] == 1

    def test_separator_inside_quotes_is_part_of_a_name(self, tmp_path: Path) -> None:
        path = write(tmp_path, 'id;"a,b,c,d";e\nx;1;2\n')
        assert list(values_of(path).columns) == ["a,b,c,d", "e"]

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        path = write(tmp_path, "\ufeffid,a\nx,1\n")
        assert list(values_of(path).columns) == ["a"]

    @pytest.mark.parametrize("marker", ["", "NA", "NaN", "nan", "null", "NULL", ".", " NA "])
    def test_missing_markers(self, tmp_path: Path, marker: str) -> None:
        path = write(tmp_path, f"id,a,b\nx,{marker},1\ny,2,{marker}\n")
        np.testing.assert_array_equal(values_of(path).to_numpy(), [[np.nan, 1], [2, np.nan]])

    def test_missing_first_cells_of_a_tab_row(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id\ta\tb\nx\t\t\ny\t\t2\n", "t.tsv")
        np.testing.assert_array_equal(values_of(path).to_numpy(), [[np.nan, np.nan], [np.nan, 2]])

    def test_spaces_around_cells(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id, a , b\n x , 1.5 , 2\ny,3 ,4\n")
        table = values_of(path)
        assert list(table.columns) == ["a", "b"]
        assert list(table.index) == ["x", "y"]
        np.testing.assert_array_equal(table.to_numpy(), [[1.5, 2], [3, 4]])

    def test_booleans_are_zero_and_one(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,b\nx,True,True\ny,False,\n")
        np.testing.assert_array_equal(values_of(path).to_numpy(), [[1, 1], [0, np.nan]])

    def test_header_as_r_writes_it(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a\tb\nx\t1\t2\ny\t3\t4\n", "t.txt")
        table = values_of(path)
        assert list(table.index) == ["x", "y"]
        np.testing.assert_array_equal(table.to_numpy(), [[1, 2], [3, 4]])

    def test_blank_lines_at_the_end(self, tmp_path: Path) -> None:
        assert values_of(write(tmp_path, "id,a,b\nx,1,2\n\n\n")).shape == (1, 2)
        assert values_of(write(tmp_path, "a,b\n1,2\n,\n,\n")).shape == (1, 2)

    def test_integer_beyond_64_bits(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a\nx,99999999999999999999999\ny,1\n")
        assert values_of(path).loc["x", "a"] == 1e23

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
    def test_numbers_are_read_exactly(self, tmp_path: Path, values: list[float]) -> None:
        rows = "".join(f"s{n},{value!r}\n" for n, value in enumerate(values))
        path = write(tmp_path, "id,a\n" + rows)
        np.testing.assert_array_equal(values_of(path)["a"].to_numpy(), values)


class TestSampleNames:
    @pytest.mark.parametrize("header", ["", "id", "ID", "sample", "Sample", "sample_id"])
    def test_by_the_name_of_the_column(self, tmp_path: Path, header: str) -> None:
        table = values_of(write(tmp_path, f"{header},a\n007,1\n8,2\n"))
        assert list(table.index) == ["007", "8"]
        assert list(table.columns) == ["a"]

    def test_by_its_cells(self, tmp_path: Path) -> None:
        table = values_of(write(tmp_path, "patient,a\np1,1\n7,2\np2,3\n"))
        assert list(table.index) == ["p1", "7", "p2"]

    def test_numbers_are_a_feature(self, tmp_path: Path) -> None:
        table = values_of(write(tmp_path, "age,a\n0.1,1\n,2\n0.30000000000000004,3\n"))
        assert list(table.index) == ["1", "2", "3"]
        np.testing.assert_array_equal(table["age"].to_numpy(), [0.1, np.nan, 0.1 + 0.2])

    @pytest.mark.parametrize("id_column", ["who", 1])
    def test_chosen(self, tmp_path: Path, id_column: str | int) -> None:
        table = values_of(write(tmp_path, "a,who,b\n1,01,2\n3,02,4\n"), id_column=id_column)
        assert list(table.index) == ["01", "02"]
        assert list(table.columns) == ["a", "b"]

    def test_the_only_column_is_data(self, tmp_path: Path) -> None:
        frame = read_annotations(write(tmp_path, "class\nA\nB\n"))
        assert frame["class"].to_dict() == {"1": "A", "2": "B"}


class TestText:
    def test_text_columns_stay_as_written(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,class,b\nx,1,01,2\ny,2,,3\n")
        table = read_table(path, text_columns=["class"])
        assert table.annotations["class"].iloc[0] == "01"
        assert pd.isna(table.annotations["class"].iloc[1])
        np.testing.assert_array_equal(table.values.to_numpy(), [[1, 2], [2, 3]])
        assert table.notes == ()

    def test_columns_of_text_are_no_features(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,grade,b\nx,1,2b,2\ny,2,01,3\nz,2,3c,3\n")
        table = read_table(path)
        assert list(table.values.columns) == ["a", "b"]
        # Its cell that is a number keeps its zero.
        assert table.annotations["grade"].tolist() == ["2b", "01", "3c"]
        assert table.annotations.index.equals(table.values.index)
        assert table.words == ("grade",)
        assert read_table(path, text_columns=["grade"]).words == ()

    def test_first_column_as_text_stays_text(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, "class,a\n01,1\n02,2\n"), text_columns=["class"])
        assert table.annotations["class"].tolist() == ["01", "02"]
        assert list(table.values.index) == ["1", "2"]

    def test_few_words_repeated_are_labels_and_no_names(self, tmp_path: Path) -> None:
        path = write(tmp_path, "class,a\n" + "".join(f"{'AB'[n % 2]},{n}\n" for n in range(8)))
        table = read_table(path)
        assert table.annotations["class"].tolist() == ["A", "B"] * 4
        assert list(table.values.index) == [str(n + 1) for n in range(8)]

    def test_unknown_label(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,status\nx,1,p\ny,2,q\n")
        fails(
            path,
            "{path} has no column 'state' to use as label; its columns begin with 'status', 'a'. "
            "Did you mean 'status'?",
            text_columns=["state"],
        )

    def test_exclude(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a,b,who\nx,1,?,p\ny,2,3,q\nz,4,5,r\n")
        table = read_table(path, exclude=["b", "z", "who"])
        assert table.values.to_dict() == {"a": {"x": 1, "y": 2}}
        assert table.annotations.shape == (2, 0)
        fails(
            path,
            "{path} has nothing called 'c' to exclude; its columns begin with 'a', 'b', 'who'.",
            exclude=["c"],
        )


class TestErrors:
    def test_no_such_file(self, tmp_path: Path) -> None:
        fails(tmp_path / "none.csv", "{path} does not exist; check the path.")

    def test_folder(self, tmp_path: Path) -> None:
        (tmp_path / "f.csv").mkdir()
        fails(tmp_path / "f.csv", "{path} is a folder; give the path of a file.")

    @pytest.mark.parametrize("name", ["t.dat", "t", "t.h5ad.gz"])
    def test_unknown_extension(self, tmp_path: Path, name: str) -> None:
        fails(
            write(tmp_path, "id,a\nx,1\n", name),
            "{path} has an unknown extension; name it .csv, .tsv or .txt (with .gz, .xz, .bz2 or "
            ".zst after it if it is compressed), .xlsx, .parquet, .npz, .npy, .zarr, .h5ad or "
            ".h5mu.",
        )

    def test_arguments_of_other_formats(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a\nx,1\n")
        for argument in ("layer", "sheet"):
            sentence = f"{argument} means nothing for {{path}}, by the format of the file: drop it."
            fails(path, sentence, **{argument: "s"})
        fails(
            path,
            "orient='wide' is not valid; pass 'samples-in-rows' or 'features-in-rows'.",
            orient="wide",
        )

    def test_empty_file(self, tmp_path: Path) -> None:
        fails(write(tmp_path, ""), "{path} is empty; it needs a header and one row per sample.")

    def test_blank_header(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "\nid,a\nx,1\n"),
            "{path}, row 1 is empty; it must contain the column names.",
        )

    @pytest.mark.parametrize("text", ["id,a\n", "id,a", "a,b\n\n\n"])
    def test_no_rows(self, tmp_path: Path, text: str) -> None:
        fails(write(tmp_path, text), "{path} has a header but no rows; add one row per sample.")

    def test_no_columns(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "sample\nx\ny\n"),
            "{path} has sample names but no other column; add one per feature.",
        )

    @pytest.mark.parametrize("cell", ["abc", "1.2.3", "1_000", "<x", "1 2", "#DIV/0!"])
    def test_not_a_number(self, tmp_path: Path, cell: str) -> None:
        fails(
            write(tmp_path, f"id,a,b\nx,1,2\ny,3,4\nz,5,{cell}\n"),
            f"{{path}}, row 4, column 'b': '{cell}' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_sentence_stays_on_one_line(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, 'id,a\nx,"1\n2"\nu,1\nv,2\n'),
            "{path}, row 2, column 'a': '1 2' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_long_text_is_cut(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, f"id,a\nx,{'y' * 60}\nu,1\nv,2\n"),
            f"{{path}}, row 2, column 'a': '{'y' * 37}...' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_wrong_cell_in_the_first_feature(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "a,b\n1,2\nx,3\n4,5\n"),
            "{path}, row 3, column 'a': 'x' is not a number; correct it, or leave the cell empty "
            "if the value is missing, or name the column as id_column if it contains the sample "
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

    def test_nothing_but_text(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id,a\nx,p\ny,q\n"),
            "{path} has no feature that is a number; "
            "check that it is the right file, and its separator.",
        )

    def test_open_quote(self, tmp_path: Path) -> None:
        path = write(tmp_path, 'id,a\nx,1\n"y,2\nz,3\n')
        with pytest.raises(InputError, match=re.escape(str(path)) + ".*row 3.*"):
            values_of(path)

    def test_unknown_id_column(self, tmp_path: Path) -> None:
        path = write(tmp_path, "u,v\n1,2\n")
        fails(
            path,
            "{path} has no column 'w' to use as id_column; its columns begin with 'u', 'v'.",
            id_column="w",
        )
        fails(
            path,
            "{path} has 2 columns, so id_column=2 does not exist; give a position from 0 to 1.",
            id_column=2,
        )


class TestColumnNames:
    def test_headings_as_the_file_has_them(self, tmp_path: Path) -> None:
        assert column_names(write(tmp_path, "id;a b;c:d\nx;1;2\n")) == ["id", "a b", "c:d"]
        assert column_names(write(tmp_path, "a,b\nx,1,2\n")) == ["", "a", "b"]

    def test_rows_need_not_be_whole(self, tmp_path: Path) -> None:
        rows = "x,1\n" * 1000
        assert column_names(write(tmp_path, f"id,a\n{rows}broken\n")) == ["id", "a"]


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
