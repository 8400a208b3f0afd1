"""Data sets by name: bundled, from a folder, over the network."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from rankfactor.data import collection as datasets
from rankfactor.errors import InputError


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RANKFACTOR_DATA", raising=False)
    monkeypatch.delenv("RANKFACTOR_DATA_URL", raising=False)
    monkeypatch.setenv("RANKFACTOR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def toy(nothing_set: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small set that is not bundled, and the folder with its file."""
    folder = tmp_path / "folder"
    folder.mkdir()
    np.savez(folder / "toy.npz", X=np.eye(2), y=np.array(["A", "B"]))
    checksum = hashlib.sha256((folder / "toy.npz").read_bytes()).hexdigest()
    info = datasets.DatasetInfo("toy", 2, 2, "a toy", ("y",), "here", files={"toy.npz": checksum})
    every = (*datasets.list_datasets(), info)
    monkeypatch.setattr(datasets, "list_datasets", lambda: every)
    return folder


@pytest.fixture
def server(toy: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(toy))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def fails(name: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        datasets.fetch(name)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "info", [i for i in datasets.list_datasets() if i.bundled], ids=lambda info: info.name
)
def test_bundled(info: datasets.DatasetInfo) -> None:
    data = datasets.load(info.name)
    assert data.table.shape == (info.n_samples, info.n_features)
    assert tuple(data.task_names[: len(info.labels)]) == info.labels
    assert datasets.fetch(info.name) == []


def test_known_facts_of_bundled_sets() -> None:
    khan = datasets.load("khan").labels
    assert khan["type"].value_counts().to_dict() == {"EWS": 29, "RMS": 25, "NB": 18, "BL": 11}
    assert khan["part"].value_counts().to_dict() == {"train": 63, "test": 20}
    bfi = datasets.load("bfi")
    assert bfi.labels["sex"].value_counts().to_dict() == {"female": 1881, "male": 919}
    assert set(np.unique(bfi.table.to_numpy()[~np.isnan(bfi.table)])) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("name", [i.name for i in datasets.list_datasets() if not i.bundled])
def test_the_data_folder(name: str, shared_data: Callable[[str], Path]) -> None:
    (info,) = (one for one in datasets.list_datasets() if one.name == name)
    assert [shared_data(file) for file in info.files] == datasets.fetch(name)
    data = datasets.load(name)
    assert data.table.shape == (info.n_samples, info.n_features)
    for label in info.labels:
        assert data.labels[label].nunique() > 1


def test_names_are_unique_and_checksums_whole() -> None:
    infos = datasets.list_datasets()
    assert len({info.name for info in infos}) == len(infos)
    assert all(len(bytes.fromhex(c)) == 32 for info in infos for c in info.files.values())


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="there is no data set 'x'; choose one of alzheimer, kha"):
        datasets.load("x")


def test_folder(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKFACTOR_DATA", str(toy))
    assert datasets.load("toy").labels["y"].tolist() == ["A", "B"]
    assert datasets.fetch("toy") == [toy / "toy.npz"]
    (toy / "toy.npz").write_bytes(b"other")
    with pytest.raises(
        InputError, match=r"toy\.npz is not the expected file: its SHA-256 begins wi"
    ):
        datasets.load("toy")


def test_what_to_put_where(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(
        "toy",
        "toy.npz is not bundled; put it into a folder and set RANKFACTOR_DATA to that folder, "
        "or RANKFACTOR_DATA_URL to an address with it.",
    )
    monkeypatch.setenv("RANKFACTOR_DATA", str(tmp_path))
    fails(
        "toy",
        f"toy.npz is not in {tmp_path}, the folder of RANKFACTOR_DATA; put it there, set "
        "RANKFACTOR_DATA to the folder that has it, or RANKFACTOR_DATA_URL to an address with it.",
    )


def test_network(server: str, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pooch")
    monkeypatch.setenv("RANKFACTOR_DATA_URL", server + "/")
    assert datasets.fetch("toy") == [tmp_path / "cache" / "toy.npz"]
    # What is in the cache is not fetched again.
    (toy / "toy.npz").unlink()
    assert datasets.load("toy").table.shape == (2, 2)


def test_network_fails(
    server: str, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pooch")
    monkeypatch.setenv("RANKFACTOR_DATA_URL", server)
    (toy / "toy.npz").write_bytes(b"tampered")
    advice = "; put it into a folder and set RANKFACTOR_DATA to that folder."
    with pytest.raises(InputError) as caught:
        datasets.fetch("toy")
    assert str(caught.value).startswith(f"{server}/toy.npz cannot be downloaded (SHA256 hash of")
    assert str(caught.value).endswith(advice)
    assert not list((tmp_path / "cache").glob("*"))
    (toy / "toy.npz").unlink()
    with pytest.raises(InputError, match=r"cannot be downloaded \(404"):
        datasets.fetch("toy")
    monkeypatch.setenv("RANKFACTOR_DATA_URL", "http://127.0.0.1:1")
    with pytest.raises(InputError, match=r"cannot be downloaded .*; put it into a folder"):
        datasets.fetch("toy")
