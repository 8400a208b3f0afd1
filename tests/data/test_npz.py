"""NumPy archives: as data sets, as split data sets and as tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from rankfactor.data import (
    column_names,
    read_annotations,
    read_npz_dataset,
    read_npz_split,
    read_table,
)
from rankfactor.errors import InputError

ADVICE = "save it with numpy.savez_compressed from arrays of numbers and text."


class TestTable:
    def test_labels_are_annotations(self, tmp_path: Path) -> None:
        path = tmp_path / "set.npz"
        np.savez(
            path,
            X=np.array([[1, 2, 3], [4, 5, 6]]),
            y=np.array(["A", "B"]),
            lab_sex=np.array(["f", "nan"]),
            feature_names=np.array(["a", "b", "c"]),
            sample_ids=np.array(["s1", "s2"]),
        )
        table = read_table(path, text_columns=["y", "b"], exclude=["c"])
        assert table.values.to_dict() == {"a": {"s1": 1, "s2": 4}}
        assert list(table.annotations.columns) == ["y", "sex", "b"]
        assert table.annotations["b"].tolist() == ["2", "5"]
        assert column_names(path) == ["y", "sex", "a", "b", "c"]
        assert read_annotations(path)["y"].tolist() == ["A", "B"]
        with pytest.raises(InputError, match="has nothing called 'd' to exclude"):
            read_table(path, exclude=["d"])
        with pytest.raises(InputError, match="has no column 'd' to use as label"):
            read_table(path, text_columns=["d"])
        with pytest.raises(InputError, match="has samples in rows, by its format: drop orient"):
            read_table(path, orient="features-in-rows")
        by_label = read_table(path, id_column="y")
        assert list(by_label.values.index) == ["A", "B"]
        with pytest.raises(InputError, match="column 'sex' has a gap; choose another id_column"):
            read_table(path, id_column="sex")

    def test_split(self, tmp_path: Path) -> None:
        path = tmp_path / "digits.npz"
        np.savez(
            path,
            X_train=np.zeros((2, 2)),
            y_train=np.array([3, 5]),
            X_test=np.ones((1, 2)),
            y_test=np.array([5]),
        )
        table = read_table(path)
        assert table.annotations["part"].to_dict() == {
            "train_1": "train",
            "train_2": "train",
            "test_1": "test",
        }
        assert table.annotations["y"].tolist() == ["3", "5", "5"]
        assert table.values.loc["test_1"].tolist() == [1, 1]

    def test_zeros_of_a_sparse_matrix_are_values(self, tmp_path: Path) -> None:
        path = tmp_path / "counts.npz"
        sparse.save_npz(path, sparse.csr_matrix([[0, 2], [3, 0]]))
        table = read_table(path)
        assert table.values.to_numpy().tolist() == [[0, 2], [3, 0]]
        assert table.notes == ("a sparse matrix: its zeros are values",)


class TestArchive:
    def test_all_arrays(self, tmp_path: Path) -> None:
        path = tmp_path / "set.npz"
        np.savez(
            path,
            X=np.array([[1, 2, 3], [4, 5, 6]], dtype=np.int32),
            y=np.array(["A", "B"]),
            lab_sex=np.array(["f", "nan"]),
            feature_names=np.array(["a", "b", "c"]),
            sample_ids=np.array(["s1", "s2"]),
        )
        data = read_npz_dataset(path)
        assert data.name == "set"
        assert data.source == "set.npz"
        assert data.table.loc["s2"].tolist() == [4, 5, 6]
        assert data.task_names == ["y", "sex"]
        assert data.labels["y"].tolist() == ["A", "B"]
        assert data.labels["sex"].isna().tolist() == [False, True]

    def test_only_the_table(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "set.npz", X=np.ones((2, 2), dtype=np.float32))
        data = read_npz_dataset(tmp_path / "set.npz")
        assert data.feature_names == ["feature_1", "feature_2"]
        assert data.table.index.tolist() == ["1", "2"]
        assert data.task_names == []

    @pytest.mark.parametrize(
        ("arrays", "sentence"),
        [
            ({"Z": np.ones(2)}, "has no array 'X' (its arrays: 'Z'); add it."),
            (
                {"X": np.ones(2)},
                ", array 'X' has 1 dimensions and type float64; "
                "it must contain numbers, samples x features.",
            ),
            (
                {"X": np.ones((2, 2)), "y": np.array(["A"])},
                "has 1 labels 'y' where 'X' has 2; make them agree.",
            ),
            (
                {"X": np.ones((2, 2)), "feature_names": np.array(["a"])},
                "has 1 feature_names where 'X' has 2; make them agree.",
            ),
            (
                {"X": np.ones((2, 2)), "sample_ids": np.array(["a"])},
                "has 1 sample names where 'X' has 2; make them agree.",
            ),
            (
                {"X": np.array([[1.0], [np.inf]])},
                ", row 3, column 'feature_1': the value is infinite; "
                "correct it, or leave the cell empty if the value is missing.",
            ),
            ({"X": np.array([[None]])}, f"is not an archive without pickles; {ADVICE}"),
        ],
    )
    def test_sentences(self, tmp_path: Path, arrays: dict[str, np.ndarray], sentence: str) -> None:
        path = tmp_path / "set.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        with pytest.raises(InputError) as caught:
            read_npz_dataset(path)
        assert str(caught.value) == f"{path}{'' if sentence[0] == ',' else ' '}{sentence}"

    def test_no_archive(self, tmp_path: Path) -> None:
        path = tmp_path / "set.npz"
        for content in (b"text", b"PK\x03\x04 cut short", b""):
            path.write_bytes(content)
            with pytest.raises(InputError, match=r"set\.npz is not "):
                read_npz_dataset(path)
        with path.open("wb") as file:
            np.save(file, np.ones(3))
        with pytest.raises(InputError, match="contains one array, not an archive"):
            read_npz_dataset(path)
        with pytest.raises(InputError, match=r"none\.npz does not exist; check the path"):
            read_npz_dataset(tmp_path / "none.npz")


class TestSplit:
    def test_parts(self, tmp_path: Path) -> None:
        path = tmp_path / "digits.npz"
        np.savez(
            path,
            X_train=np.zeros((2, 2), dtype=np.uint8),
            y_train=np.array([3, 5], dtype=np.uint8),
            idx_train=np.array([7, 9]),
            X_test=np.ones((1, 2), dtype=np.uint8),
            y_test=np.array([5], dtype=np.uint8),
            feature_names=np.array(["a", "b"]),
        )
        train, test = read_npz_split(path)
        assert train.labels["y"].tolist() == ["3", "5"]
        assert train.table.index.tolist() == ["train_7", "train_9"]
        assert test.table.index.tolist() == ["test_1"]
        assert test.table.to_numpy().tolist() == [[1.0, 1.0]]
        assert train.feature_names == test.feature_names == ["a", "b"]

    def test_sentences(self, tmp_path: Path) -> None:
        path = tmp_path / "digits.npz"
        np.savez(path, X_train=np.ones((2, 2)))
        with pytest.raises(InputError, match=r"has no array 'y_train'; add it\."):
            read_npz_split(path)
        np.savez(path, X_train=np.ones((2, 2)), y_train=np.ones(2))
        with pytest.raises(InputError, match=r"has no array 'X_test' \(its arrays: .*\); add it\."):
            read_npz_split(path)

    @pytest.mark.parametrize(
        ("name", "shapes", "classes"),
        [
            (
                "usps_3v5.npz",
                [(767, 256), (773, 256)],
                [{"3": 406, "5": 361}, {"3": 418, "5": 355}],
            ),
            (
                "mnist_3v5.npz",
                [(11552, 784), (1902, 784)],
                [{"3": 6131, "5": 5421}, {"3": 1010, "5": 892}],
            ),
        ],
    )
    def test_digits(
        self,
        shared_data: Callable[[str], Path],
        name: str,
        shapes: list[tuple[int, int]],
        classes: list[dict[str, int]],
    ) -> None:
        parts = read_npz_split(shared_data(name))
        assert [part.table.shape for part in parts] == shapes
        assert [part.labels["y"].value_counts().to_dict() for part in parts] == classes
