"""GEO series matrices: small files of the real form."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from rankfactor.data import column_names, read_annotations, read_table
from rankfactor.errors import InputError

HEAD = """!Series_title\t"Blood of children"
!Series_geo_accession\t"GSE1"
!Series_summary\t"Whole ""blood"", and more."

!Sample_title\t"child 1"\t"child 2"\t"child 3"
!Sample_geo_accession\t"GSM1"\t"GSM2"\t"GSM3"
!Sample_source_name_ch1\t"Whole blood"\t"Whole blood"\t"Whole blood"
!Sample_characteristics_ch1\t"disease state: TB"\t"disease state: LTBI"\t"hiv status: positive"
!Sample_characteristics_ch1\t"hiv status: negative"\t"age: 3.5"\t"disease state: TB"
!Sample_characteristics_ch1\t""\t"note: a: b"\t""
!Sample_contact_name\t"N."\t"N."\t"N."
!series_matrix_table_begin
"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"
"""
ROWS = '"ILMN_1"\t1.5\t\t-3\n"ILMN_2"\t4\tnull\t6\n'
END = "!series_matrix_table_end\n"


def write(folder: Path, text: str, name: str = "GSE1_series_matrix.txt.gz") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["GSE1_series_matrix.txt.gz", "GSE1_series_matrix.txt"])
def test_whole(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, HEAD + ROWS + END, name)
    table = read_table(path)
    assert list(table.values.index) == ["GSM1", "GSM2", "GSM3"]
    assert list(table.values.columns) == ["ILMN_1", "ILMN_2"]
    np.testing.assert_array_equal(table.values.to_numpy(), [[1.5, 4], [np.nan, np.nan], [-3, 6]])
    assert table.annotations["disease state"].tolist() == ["TB", "LTBI", "TB"]
    assert table.annotations["hiv status"].tolist()[::2] == ["negative", "positive"]
    assert table.annotations["hiv status"].isna().tolist() == [False, True, False]
    assert table.annotations.loc["GSM2", "note"] == "a: b"
    assert table.annotations["title"].tolist() == ["child 1", "child 2", "child 3"]
    assert "source_name" in table.annotations.columns
    assert "contact_name" not in table.annotations.columns
    assert table.notes[0] == "GEO series matrix: features in rows, turned"
    assert column_names(path) == list(table.annotations.columns)


def test_choices(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + ROWS + END)
    table = read_table(path, id_column="title", exclude=["ILMN_2", "child 3", "age"])
    assert table.values.to_numpy().shape == (2, 1)
    assert list(table.values.index) == list(table.annotations.index) == ["child 1", "child 2"]
    assert "age" not in table.annotations.columns
    table = read_table(path, text_columns=["disease state"])
    assert table.annotations["disease state"].notna().all()


def test_annotations_alone_as_for_sequencing_data(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + END)
    assert read_annotations(path)["disease state"].tolist() == ["TB", "LTBI", "TB"]
    assert list(read_annotations(path, id_column="title").index) == [
        "child 1",
        "child 2",
        "child 3",
    ]
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == (
        f"{path} contains no expression values, as usual for sequencing data; read the counts from "
        "the series' supplementary file, and this one as labels."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            HEAD + ROWS,
            " is truncated: the line !series_matrix_table_end is missing; "
            "download the series matrix again.",
        ),
        (
            HEAD.partition("!Sample_contact")[0],
            " ends at row 10 before its table begins; download the series matrix again.",
        ),
        (
            HEAD.replace("!Sample_geo_accession", "!Sample_x") + ROWS + END,
            " has no line !Sample_geo_accession; download the series matrix again.",
        ),
        (
            HEAD.replace('\t"GSM3"\n!Sample_so', "\n!Sample_so") + ROWS + END,
            " describes more samples by 'title' than it has in !Sample_geo_accession; "
            "download the series matrix again.",
        ),
        (
            HEAD.replace('"GSM1"\t"GSM2"\t"GSM3"\n!Sample_so', '"G"\t"GSM2"\t"GSM3"\n!Sample_so')
            + ROWS
            + END,
            " does not describe the sample 'GSM1' of its table; download the series matrix again.",
        ),
        (
            HEAD + ROWS + '"ILMN_3"\t1\t2\n' + END,
            ", row 16 has 3 cells where 4 are expected; "
            "add or remove cells so that every row is as long as the header.",
        ),
        (
            HEAD + ROWS + '"ILMN_1"\t1\t2\t3\n' + END,
            " has a repeated feature name: 'ILMN_1'; make every name unique.",
        ),
    ],
)
def test_sentences(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_orientation_is_given(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which has features in rows: drop orient"):
        read_table(write(tmp_path, HEAD + ROWS + END), orient="samples-in-rows")


def test_a_summary_of_any_length_is_passed_over(tmp_path: Path) -> None:
    # Longer than a cell of Python's csv reader may be.
    path = write(tmp_path, HEAD.replace("Blood of children", "z" * 200_000) + ROWS + END)
    assert read_table(path).values.shape == (3, 2)
    assert list(read_annotations(path).index) == ["GSM1", "GSM2", "GSM3"]
    with pytest.raises(InputError, match="row 14, column 'GSM1': 'x' is not a number"):
        read_table(write(tmp_path, path_text(path).replace('"ILMN_1"\t1.5', '"ILMN_1"\tx')))


def path_text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()
