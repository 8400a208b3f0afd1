"""Model files whose arrays contradict one another: compiled code must never see them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rankfactor import InputError, load_model
from rankfactor.storage.bounds import read_array

FIXTURES = Path(__file__).parents[1] / "fixtures"


def changed(name: str, tmp_path: Path, **arrays: np.ndarray) -> Path:
    """A file without a checksum, with other arrays; a point in a name is two underlines here."""
    with zipfile.ZipFile(FIXTURES / f"{name}_v1_without_checksum.rankfactor") as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    for key, array in arrays.items():
        content = io.BytesIO()
        np.save(content, array)
        members[f"{key.replace('__', '.')}.npy"] = content.getvalue()
    path = tmp_path / "model.rankfactor"
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, content)
    return path


@pytest.mark.parametrize(
    ("name", "key", "array"),
    [
        ("linear", "coding__columns", np.array([0, 1, 2, 3, 4, 10**9])),
        ("linear", "coding__columns", np.array([0, 1, 2, 3, 4, -1])),
        ("linear", "coding__columns", np.arange(6.0)),
        ("linear", "coding__n_cuts", np.full(6, 17)),
        ("linear", "coding__n_cuts", np.full(6, -1)),
        ("linear", "coding__values", np.zeros((6, 2))),
        ("linear", "coding__values", np.zeros(6)),
        ("linear", "params__mean", np.zeros((6, 3))),
        ("linear", "params__n_cuts", np.full(6, 10**6)),
        ("linear", "params__noise", np.zeros(3)),
        ("linear", "rows__cov", np.zeros((6, 2))),
        ("linear", "rows__mean", np.zeros((6, 7))),
        ("linear", "rows__mean", np.zeros((6, 2), np.float16)),
        ("linear", "rows__log_det", np.zeros((6, 1))),
        ("linear", "scores__mean", np.zeros((24, 5))),
        ("linear", "coefficients__mean", np.zeros((4, 9))),
        ("linear", "label_codes", np.full((24, 2), 7)),
        ("linear", "classes_0", np.array("ill")),
        ("linear", "probability_scale", np.ones(5)),
        ("linear", "coding__n_cuts__inner", np.ones(5)),
        ("linear", "scores__mean__inner", np.ones(5)),
        ("gibbs", "draws__classifiers__cov__inner", np.ones(5)),
        ("gibbs", "draws__chosen", np.array([0, 2**40])),
        ("gibbs", "draws__params__mean", np.zeros((6, 6, 4))),
        ("gibbs", "draws__loadings", np.zeros((6, 6), np.float32)),
        ("nonlinear", "gates__centres", np.zeros((3, 5))),
        ("mixture", "prior__centres__cov", np.zeros((3, 1))),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, name, key, array) -> None:
    path = changed(name, tmp_path, **{key: array})
    with pytest.raises(InputError, match=r"model\.rankfactor is damaged"):
        load_model(path)


@pytest.mark.parametrize("name", ["linear", "gaussian", "nonlinear", "mixture", "gibbs"])
def test_arrays_in_another_order_of_bytes_are_read(tmp_path: Path, name: str) -> None:
    """A file of a machine with the other order of bytes; it is the same model."""
    plain = load_model(FIXTURES / f"{name}_v1.rankfactor")
    turned = plain.rows.mean.astype(">f8")
    found = load_model(changed(name, tmp_path, rows__mean=turned))
    assert found.rows.mean.dtype.isnative
    np.testing.assert_array_equal(found.rows.mean, plain.rows.mean)


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.array("x"), np.array(["ä", "日本"]), np.zeros((0, 3), bool)],
)
def test_an_array_is_read_back(array: np.ndarray) -> None:
    content = io.BytesIO()
    np.save(content, array)
    np.testing.assert_array_equal(read_array(content.getvalue()), array)
    with pytest.raises(ValueError, match="an array of shape"):
        read_array(content.getvalue() + b"\0")
