"""Transposed tables: how they are detected, when they are not, and the messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankfactor.data import read_table
from rankfactor.errors import InputError


def write(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return path


UNDECIDED = "x,p,q,r\nu,1,2,3\nv,4,5,6\n"


@pytest.mark.parametrize(
    ("text", "turned", "reason"),
    [
        ("gene_id,s1,s2\nu,1,2\nv,3,4\n", True, "the first column is headed 'gene_id'"),
        ("ID_REF,s1,s2\nu,1,2\nv,3,4\n", True, "the first column is headed 'ID_REF'"),
        (",s1,s2\nENSG00000000003,1,2\nENSG00000000005.7,3,4\n", True, "by the names"),
        (",s1,s2\n1007_s_at,1,2\n117_at,3,4\n", True, "by the names"),
        (",GSM1,GSM2\nu,1,2\nv,3,4\n", True, "by the names"),
        (",s1,s2\nActb,1,2\nGapdh,3,4\nu,5,6\nv,7,8\nw,9,1\n", True, "by the names"),
        (",a,b,c,d\nstatus,ill,ill,well,ill\nu,1,2,3,4\nv,3,4,5,6\n", True, "a row is text"),
        ("sample,GSM1,GSM2\nu,1,2\nv,3,4\n", False, ""),
        (",ACTB,GAPDH\nu,1,2\nv,3,4\n", False, ""),
        ("patient,a,b\npatient_1,1,2\npatient_2,3,4\n", False, ""),
        # Identifiers on both sides, or on none: samples are in rows.
        (",GSM1,GSM2\nGSM3,1,2\nGSM4,3,4\n", False, ""),
        (UNDECIDED, False, ""),
        # The shape is no evidence.
        (",a,b\n" + "".join(f"r{n},1,2\n" for n in range(50)), False, ""),
    ],
)
def test_detected(tmp_path: Path, text: str, turned: bool, reason: str) -> None:
    table = read_table(write(tmp_path, text))
    found = {"s1", "GSM1", "a"} & {*table.values.index}
    assert bool(found) == turned
    said = [note for note in table.notes if "rows" in note]
    assert said == ([f"features in rows ({reason}): turned"] if turned else [])


def test_a_row_of_mistakes_does_not_turn_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 3, column 'a': '\\?' is not a number"):
        read_table(write(tmp_path, "id,a,b,c,d\nx,1,2,3,4\ny,?,?,?,?\nz,5,6,7,8\nw,9,1,2,3\n"))


def test_values_are_turned(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "gene,s1,s2,s3\nu,1,NA,2\nv,3,4,5\n"))
    assert list(table.values.index) == ["s1", "s2", "s3"]
    assert list(table.values.columns) == ["u", "v"]
    np.testing.assert_array_equal(table.values.to_numpy(), [[1, 3], [np.nan, 4], [2, 5]])


def test_as_asked(tmp_path: Path) -> None:
    path = write(tmp_path, UNDECIDED)
    turned = read_table(path, orient="features-in-rows")
    assert list(turned.values.index) == ["p", "q", "r"]
    assert turned.notes == ("features in rows (as asked): turned",)
    genes = write(tmp_path, "gene,s1\nu,1\nv,2\n")
    assert list(read_table(genes, orient="samples-in-rows").values.index) == ["u", "v"]


def test_names_of_the_labels_decide(tmp_path: Path) -> None:
    path = write(tmp_path, UNDECIDED)
    table = read_table(path, sample_names=["q", "r", "absent"])
    assert list(table.values.index) == ["p", "q", "r"]
    assert table.notes == ("features in rows (the samples of the labels are its columns): turned",)
    # They overrule the heading.
    path = write(tmp_path, "gene,s1,s2\nu,1,2\nv,3,4\n")
    assert list(read_table(path, sample_names=["u"]).values.index) == ["u", "v"]


def test_rows_that_are_labels(tmp_path: Path) -> None:
    path = write(tmp_path, ",p,q,r\nstatus,sick,well,sick\ngrade,01,02,01\nu,1,2,3\nv,4,5,6\n")
    table = read_table(path, text_columns=["grade"])
    assert table.annotations.loc["q"].to_dict() == {"status": "well", "grade": "02"}
    assert list(table.values.columns) == ["u", "v"]
    assert "features in rows (the labels are a row): turned" in table.notes


def test_columns_that_describe_features_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "gene,symbol,s1,s2\nu,ABC,1,2\nv,DEF,3,4\n")
    table = read_table(path)
    assert list(table.values.index) == ["s1", "s2"]
    assert table.annotations.shape == (2, 0)
    assert "columns that describe features are left out: 'symbol'" in table.notes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "gene,s1,s2\nu,1,2\nu,3,4\n",
            " has a repeated feature name: 'u'; make every name unique.",
        ),
        ("gene,s1,s1\nu,1,2\n", " has a repeated sample name: 's1'; make every name unique."),
        ("gene,s1\nu,1\n,2\n", ", row 3 has no feature name; add one or remove the row."),
        (
            "gene,s1,s2\nu,1,2\nv,3,4\nw,x,5\n",
            ", row 4, column 's1': 'x' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        ),
        (
            "gene,s1,s2\nu,1,2\nv,3,inf\n",
            ", row 3, column 's2': the value is infinite; "
            "correct it, or leave the cell empty if the value is missing.",
        ),
    ],
)
def test_sentences_name_the_place_in_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_genes_that_became_dates(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "gene,s1\n1-Mar,1\n2-Sep,2\nMAY,3\n"))
    assert table.notes[-1] == (
        "2 features are called like dates, as spreadsheets rename genes: '1-Mar', '2-Sep'"
    )
