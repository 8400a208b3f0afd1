"""Typical text files: compression, encodings, separators, headers, numbers."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankfactor.data import read_table
from rankfactor.data.numbers import Evidence, Style, parse_number
from rankfactor.errors import InputError


def zstd(data: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").compress(data))


PACKERS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstd}


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fails(path: Path, sentence: str, **arguments: object) -> None:
    with pytest.raises(InputError) as caught:
        read_table(path, **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == sentence.format(path=path)


class TestCompression:
    @pytest.mark.parametrize("suffix", PACKERS)
    def test_by_content_whatever_the_name(self, tmp_path: Path, suffix: str) -> None:
        packed = PACKERS[suffix](b"id,a\nx,1.5\n")
        for name in (f"t.csv{suffix}", "t.csv"):
            assert read_table(write(tmp_path, packed, name)).values.loc["x", "a"] == 1.5

    def test_browsers_unpack_and_keep_the_name(self, tmp_path: Path) -> None:
        assert read_table(write(tmp_path, "id,a\nx,1\n", "t.csv.gz")).values.shape == (1, 1)

    @pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
    def test_cut_short(self, tmp_path: Path, suffix: str) -> None:
        rows = "".join(f"s{n},{n * 0.377}\n" for n in range(5000))
        whole = PACKERS[suffix](("id,a\n" + rows).encode())
        path = write(tmp_path, whole[: len(whole) // 2], f"t.csv{suffix}")
        fails(path, f"{{path}} is not a whole {suffix} file; copy or compress it again.")

    def test_zstandard_cut_short(self, tmp_path: Path) -> None:
        rows = "".join(f"s{n},{n * 0.377}\n" for n in range(5000))
        whole = zstd(("id,a\n" + rows).encode())
        path = write(tmp_path, whole[: len(whole) // 2], "t.csv.zst")
        fails(path, "{path} is not a whole .zst file; copy or compress it again.")

    def test_package_missing(self, tmp_path: Path, without: Callable[[str], None]) -> None:
        path = write(tmp_path, zstd(b"id,a\nx,1\n"), "t.csv.zst")
        without("zstandard")
        fails(
            path,
            "{path} needs the package zstandard; install it with: pip install 'rankfactor[zstd]'",
        )


class TestEncoding:
    @pytest.mark.parametrize(
        ("encoding", "note"),
        [
            ("utf-8", ()),
            ("utf-8-sig", ()),
            ("utf-16", ("encoding UTF-16",)),
            ("utf-16-le", ("encoding UTF-16",)),
            ("utf-16-be", ("encoding UTF-16",)),
            ("cp1252", ("encoding Windows-1252",)),
        ],
    )
    def test_detected(self, tmp_path: Path, encoding: str, note: tuple[str, ...]) -> None:
        # UTF-16 without a mark is known by its zero bytes, so the head is plain.
        text = "id,a,b\n" + "".join(f"s{n},1,2\n" for n in range(900)) + "café,3,4\n"
        table = read_table(write(tmp_path, text.encode(encoding)))
        assert table.values.index[-1] == "café"
        assert table.notes == note

    def test_latin1_where_windows_has_no_character(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, b"id,a\nx\x81\xe9,1\n"))
        assert table.values.index[0] == "x\x81é"
        assert table.notes == ("encoding Latin-1",)

    def test_utf16_cut_short(self, tmp_path: Path) -> None:
        path = write(tmp_path, "id,a\nx,1\n".encode("utf-16")[:-1])
        fails(path, "{path} is not whole UTF-16 text; copy it, or save it as UTF-8.")

    @pytest.mark.parametrize(
        ("content", "advice"),
        [
            (
                b"PK\x03\x04\x14\x00\x00",
                "it may be an Excel workbook or a zip archive: name it .xlsx or .npz, or unpack it",
            ),
            (b"PAR1\x15\x04\x15", "it is a Parquet file: name it .parquet"),
            (b"\x89HDF\r\n\x1a\n\x00", "it is an HDF5 file: name it .h5ad or .h5mu"),
            (bytes(range(256)), "export the table as CSV"),
        ],
    )
    def test_no_text(self, tmp_path: Path, content: bytes, advice: str) -> None:
        fails(write(tmp_path, content), f"{{path}} is not a text file; {advice}.")


class TestSeparators:
    def test_line_of_excel(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, "sep=|\nid|a\nx|1\n"))
        assert table.values.loc["x", "a"] == 1
        fails(
            write(tmp_path, "sep=|\nid|a\nx|1\ny|inf\n"),
            "{path}, row 4, column 'a': the value is infinite; "
            "correct it, or leave the cell empty if the value is missing.",
        )

    def test_spaces_as_r_writes_them(self, tmp_path: Path) -> None:
        text = '"a" "b c"\n"x 1" 1.5 NA\n"x 2" 3 4\n'
        table = read_table(write(tmp_path, text, "t.txt"))
        assert list(table.values.index) == ["x 1", "x 2"]
        np.testing.assert_array_equal(table.values.to_numpy(), [[1.5, np.nan], [3, 4]])
        assert table.notes == ("separator space",)

    def test_commas_in_text_of_a_tab_file(self, tmp_path: Path) -> None:
        text = "id\ta\tnote\nx\t1\tp,q,r\ny\t2\tu,v\n"
        table = read_table(write(tmp_path, text, "t.txt"))
        assert table.annotations["note"].tolist() == ["p,q,r", "u,v"]

    def test_text_table_named_csv_may_have_tabs(self, tmp_path: Path) -> None:
        assert read_table(write(tmp_path, "id\ta\nx\t1\n")).notes == ("separator tab",)

    def test_lines_before_the_header(self, tmp_path: Path) -> None:
        text = "# made by a program\n#otu id,a,b\nx,1,2\ny,3,oops\nz,4,5\n"
        fails(
            write(tmp_path, text),
            "{path}, row 4, column 'b': 'oops' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
            orient="samples-in-rows",
        )

    def test_empty_columns_at_the_end(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, "id;a;b;;\nx;1;2;;\ny;3;;;\n;;;;\n"))
        assert table.values.shape == (2, 2)
        assert table.notes == ("separator ';'", "2 empty columns at the end are dropped")

    def test_cells_beyond_the_header_that_are_empty(self, tmp_path: Path) -> None:
        assert read_table(write(tmp_path, "id,a\nx,1\ny,2,,\n")).values.shape == (2, 1)

    def test_cells_over_several_lines(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, 'id,a,note\nx,1,"p\nq"\ny,2,"r ""s"""\n'))
        assert table.annotations["note"].tolist() == ["p\nq", 'r "s"']


class TestNumbers:
    @pytest.mark.parametrize(
        ("cells", "separator", "style"),
        [
            (["1.5", "2"], ",", Style()),
            (["1,5", "2"], ";", Style(",")),
            (["1,5", "1.234,5"], ";", Style(",", ".")),
            (["1.234.567"], ";", Style(",", ".")),
            (["1,234.5", "7"], "\t", Style(".", ",")),
            (["1,234,567"], "\t", Style(".", ",")),
            (["0,123"], "\t", Style(",")),
            # Three digits after a single comma: the other cells and the separator decide.
            (["1,234"], ";", Style(",")),
            (["1,234"], ",", Style(".", ",")),
            (["1,234", "1.5"], "\t", Style(".", ",")),
            (["1,234", "1,5"], "\t", Style(",")),
            (["1,234"], "\t", Style()),
            (["1.5", "2.5", "1,5"], ";", Style()),
        ],
    )
    def test_style(self, cells: list[str], separator: str, style: Style) -> None:
        evidence = Evidence()
        evidence.look(cells)
        assert evidence.style(separator) == style

    @pytest.mark.parametrize(
        ("text", "style", "number"),
        [
            ("1 234 567", Style(), 1234567),
            ("1'234.5", Style(), 1234.5),
            ("1\u202f234,5", Style(","), 1234.5),
            ("-1,234.5e2", Style(".", ","), -123450),
            ("TRUE", Style(), 1),
            ("12 34", Style(), None),
            ("1,23", Style(".", ","), None),
            ("1.5", Style(","), None),
            ("0.123", Style(",", "."), None),
            ("1_000", Style(), None),
        ],
    )
    def test_number(self, text: str, style: Style, number: float | None) -> None:
        assert parse_number(text, style) == number

    def test_thousands_in_quotes(self, tmp_path: Path) -> None:
        table = read_table(write(tmp_path, 'id,a,b\nx,"1,234",5\ny,999,"12,345,678"\n'))
        assert table.values.to_numpy().tolist() == [[1234, 5], [999, 12345678]]
        assert table.notes == ("thousands separated by commas",)

    def test_comma_that_allows_two_readings_is_refused(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id\ta\nx\t1,234\ny\t5\nz\t6\n", "t.tsv"),
            "{path}, row 2, column 'a': '1,234' is not a number; "
            "write all numbers with a decimal point and without thousands separators.",
        )

    def test_point_among_decimal_commas(self, tmp_path: Path) -> None:
        fails(
            write(tmp_path, "id;a\nx;1,5\ny;2,5\nz;1.25\n"),
            "{path}, row 4, column 'a': '1.25' is not a number; "
            "write all numbers with a decimal point and without thousands separators.",
        )

    def test_style_that_shows_late(self, tmp_path: Path) -> None:
        names = ";".join(f"g{i}" for i in range(1000))
        rows = "".join(f"s{n};" + ";".join(["7"] * 1000) + "\n" for n in range(250))
        late = "last;" + ";".join(["1,5"] * 1000) + "\n"
        table = read_table(write(tmp_path, f"id;{names}\n{rows}{late}"))
        assert (table.values.loc["last"] == 1.5).all()
        assert table.notes == ("separator ';', decimal comma",)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(
        values=st.lists(
            st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=2, max_size=2),
            min_size=1,
            max_size=6,
        ),
        separator=st.sampled_from([";", "\t"]),
        comma=st.booleans(),
        encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
        end=st.sampled_from(["\n", "\r\n"]),
        suffix=st.sampled_from(["", ".gz", ".xz", ".bz2"]),
    )
    def test_round_trip(
        self,
        tmp_path: Path,
        values: list[list[float]],
        separator: str,
        comma: bool,
        encoding: str,
        end: str,
        suffix: str,
    ) -> None:
        # The last row shows which mark is the decimal one, as any table of some size does.
        rows = [*values, [0.5, 0.25], [0.75, 0.5]] * 3

        def number(value: float) -> str:
            text = "" if np.isnan(value) else repr(value)
            return text.replace(".", ",") if comma else text

        lines = [separator.join(["sample", "é", "b"])]
        lines += [separator.join([f"ü{n}", *map(number, row)]) for n, row in enumerate(rows)]
        data = (end.join(lines) + end).encode(encoding)
        path = write(tmp_path, PACKERS[suffix](data) if suffix else data, f"t.csv{suffix}")
        table = read_table(path).values
        np.testing.assert_array_equal(table.to_numpy(), rows)
        assert list(table.columns) == ["é", "b"]
        assert list(table.index) == [f"ü{n}" for n in range(len(rows))]
