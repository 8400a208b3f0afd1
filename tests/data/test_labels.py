"""Alignment of labels, with all its messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor.data import align_labels, as_classes, read_annotations
from rankfactor.errors import InputError

INDEX = pd.Index(["s1", "s2", "s3", "s4"], name="sample")


def labels(**by_sample: str) -> pd.DataFrame:
    return pd.DataFrame({"task": by_sample})


def fails(sentence: str, frame: pd.DataFrame, **arguments: str) -> None:
    with pytest.raises(InputError) as caught:
        align_labels(INDEX, frame, source="y.csv", **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_order_of_the_table_and_missing_labels() -> None:
    aligned = align_labels(INDEX, labels(s4="B", s1="A", s3="A"), source="y.csv")
    assert aligned.index.equals(INDEX)
    assert aligned["task"].dtype == object
    assert aligned["task"].tolist()[::2] == ["A", "A"]
    assert aligned["task"].isna().tolist() == [False, True, False, False]


def test_names_match_as_text() -> None:
    frame = pd.DataFrame({"task": [1.0, 2.0, np.nan]}, index=[3, 1, 2])
    aligned = align_labels(pd.Index(["1", "2", "3"]), frame, source="y.csv")
    assert aligned["task"].tolist()[::2] == ["2", "1"]
    assert pd.isna(aligned["task"].iloc[1])


def test_unknown_samples() -> None:
    frame = labels(s1="A", s2="B", u1="A", u2="A", u3="A", u4="B")
    fails(
        "y.csv has labels of samples that are not in the table: 'u1', 'u2', 'u3' and 1 more; "
        'remove them or pass unknown="ignore".',
        frame,
    )
    aligned = align_labels(INDEX, frame, source="y.csv", unknown="ignore")
    assert aligned["task"].notna().sum() == 2


def test_nothing_in_common() -> None:
    sentence = (
        "y.csv has no sample in common with the table: its samples are 'a', 'b' and the table's "
        "are 's1', 's2', 's3' and 1 more; check the column of sample names in both."
    )
    fails(sentence, labels(a="A", b="B"))
    fails(sentence, labels(a="A", b="B"), unknown="ignore")


def test_too_few_classes() -> None:
    advice = "a task needs two classes or more, so leave the column out or add labels."
    fails(
        f"y.csv, column 'task' has only the class 'A' among the table's samples; {advice}",
        labels(s1="A", s2="A"),
    )
    fails(
        f"y.csv, column 'task' has no label at all among the table's samples; {advice}",
        labels(s1="NA", s2=""),
    )
    # The second class is that of a sample that is not in the table.
    fails(
        f"y.csv, column 'task' has only the class 'A' among the table's samples; {advice}",
        labels(s1="A", u1="B"),
        unknown="ignore",
    )


def test_sample_labelled_twice() -> None:
    frame = pd.DataFrame({"task": ["A", "B", "A"]}, index=["s1", "s2", "s1"])
    fails("y.csv labels a sample more than once: 's1'; keep one row for each.", frame)


def test_wrong_choice() -> None:
    fails(
        "unknown='drop' is not valid; pass 'error' or 'ignore'.",
        labels(s1="A", s2="B"),
        unknown="drop",
    )


def test_classes_as_text() -> None:
    given = [
        "A",
        " b ",
        1,
        2.0,
        2.5,
        True,
        np.int64(3),
        np.float32(4),
        None,
        np.nan,
        pd.NA,
        ".",
        "",
    ]
    classes = as_classes(given)
    assert classes[:8] == ["A", "b", "1", "2", "2.5", "True", "3", "4"]
    assert all(isinstance(value, float) and np.isnan(value) for value in classes[8:])


class TestFile:
    def write(self, folder: Path, text: str) -> Path:
        path = folder / "y.csv"
        path.write_text(text, encoding="utf-8")
        return path

    def test_every_cell_is_text(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "sample,status,grade\ns2,01,1.50\ns1,NA,2\n")
        frame = read_annotations(path)
        assert frame.index.tolist() == ["s2", "s1"]
        assert frame["status"].iloc[0] == "01"
        assert frame["status"].isna().tolist() == [False, True]
        assert frame["grade"].tolist() == ["1.50", "2"]

    def test_names_of_people_that_are_numbers(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "PatientID;status\n017;sick\n18;well\n")
        assert read_annotations(path)["status"].to_dict() == {"017": "sick", "18": "well"}

    def test_people_with_several_samples_are_no_names(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "patient,sample\n01,a\n01,b\n2,c\n")
        frame = read_annotations(path)
        assert frame["patient"].tolist() == ["01", "01", "2"]
        by_sample = read_annotations(path, id_column="sample")
        assert by_sample["patient"].to_dict() == {"a": "01", "b": "01", "c": "2"}
        assert read_annotations(path, id_column=1).equals(by_sample)

    def test_sentences(self, tmp_path: Path) -> None:
        for text, sentence in (
            ("id,a,a\nx,1,2\n", " has a repeated column name: 'a'; make every name unique."),
            ("id,a\nx,1\nx,2\n", " has a repeated sample name: 'x'; make every name unique."),
            ("id,a\nx,1\n,2\n", ", row 3 has no sample name; add one or remove the row."),
        ):
            path = self.write(tmp_path, text)
            with pytest.raises(InputError) as caught:
                read_annotations(path)
            assert str(caught.value) == f"{path}{sentence}"
