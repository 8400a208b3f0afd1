"""Predictions for tables that are large or not in memory: the same bits, chunk by chunk."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.data.streams import open_stream
from rankfactor.errors import InputError
from rankfactor.posterior import tables

N, D, CHUNK = 700, 12, 256


def simulated(seed, n):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    X = rng.poisson(np.exp(1 + z @ np.random.default_rng(0).standard_normal((2, D)))).astype(float)
    index = [f"s{i:04}" for i in range(n)]  # in the order in which Dask would sort them
    return (
        pd.DataFrame(X, pd.Index(index, name="sample"), [f"gene{i}" for i in range(D)]),
        np.where(z[:, 0] > 0, "case", "control"),
    )


NEW, ANSWERS = simulated(2, N)


@pytest.fixture(scope="module")
def model():
    return RankFactorClassifier(n_factors=2, random_state=0).fit(*simulated(1, 120))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", CHUNK)


def annotated():
    anndata = pytest.importorskip("anndata")
    return anndata.AnnData(NEW.astype(np.float32))


def sparse():
    anndata = pytest.importorskip("anndata")
    found = annotated()
    return anndata.AnnData(csr_array(found.X), obs=found.obs, var=found.var)


def backed(table, folder):
    table.write_h5ad(folder / "new.h5ad")
    return pytest.importorskip("anndata").read_h5ad(folder / "new.h5ad", backed="r")


def saved(folder, suffix):
    path = folder / f"new{suffix}"
    if suffix == ".csv":
        NEW.assign(status=ANSWERS).to_csv(path)
    elif suffix == ".parquet":
        NEW.iloc[:, ::-1].to_parquet(path)
    else:
        sparse().write_h5ad(path)
    return path


def dask_frame(parts=3):
    return pytest.importorskip("dask.dataframe").from_pandas(NEW, npartitions=parts)


NAMED = {
    "text": lambda folder: str(saved(folder, ".csv")),
    "Parquet": lambda folder: saved(folder, ".parquet"),
    "h5ad": lambda folder: saved(folder, ".h5ad"),
    "stream": lambda folder: open_stream(saved(folder, ".csv")),
    "backed": lambda folder: backed(annotated(), folder),
    "Dask": lambda folder: dask_frame(),
}


@pytest.mark.parametrize("kind", NAMED)
def test_named_tables_that_are_not_in_memory(kind, model, tmp_path):
    table = NAMED[kind](tmp_path)
    assert_array_equal(model.predict_proba(table), model.predict_proba(NEW))
    assert_array_equal(model.transform(table), model.transform(NEW))
    scores = model.posterior_.transform(table)
    assert scores.index.tolist() == NEW.index.tolist()
    assert_array_equal(scores, model.transform(NEW))
    assert model.score(table, ANSWERS) == model.score(NEW, ANSWERS)


@pytest.fixture(scope="module")
def unnamed():
    X, y = simulated(1, 120)
    return RankFactorClassifier(n_factors=2, random_state=0).fit(X.to_numpy(), y)


@pytest.mark.parametrize("kind", [".npy", "mapped", ".zarr", "Dask"])
def test_arrays_that_are_not_in_memory(kind, unnamed, tmp_path):
    values, path = NEW.to_numpy(), tmp_path / "new.npy"
    np.save(path, values)
    if kind == "mapped":
        table = np.load(path, mmap_mode="r")
    elif kind == ".zarr":
        path = path.with_suffix(".zarr")
        zarr = pytest.importorskip("zarr")
        zarr.create_array(path, data=values, chunks=(100, D))
        table = zarr.open_array(path, mode="r")
    elif kind == "Dask":
        table = pytest.importorskip("dask.array").from_array(values, chunks=(333, 5))
    else:
        table = path
    assert_array_equal(unnamed.predict_proba(table), unnamed.predict_proba(values))
    scores = unnamed.posterior_.transform(table)
    pd.testing.assert_frame_equal(scores, unnamed.posterior_.transform(values))


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "AnnData"])
def test_large_tables_in_memory(kind, model, unnamed, monkeypatch):
    table, fitted = {
        "array": (NEW.to_numpy(), unnamed),
        "frame": (NEW, model),
        "sparse": (csr_array(NEW.to_numpy()), unnamed),
        "AnnData": (sparse(), model),
    }[kind]
    wanted = fitted.predict_proba(table)
    monkeypatch.setattr(tables, "MANY", 500)
    assert len(list(tables.chunks_of(table))) == 3
    assert_array_equal(fitted.predict_proba(table), wanted)


@pytest.mark.filterwarnings("ignore:not converged")
def test_other_models_predict_chunk_by_chunk(monkeypatch):
    X, y = simulated(1, 120)
    quick = {"n_factors": 2, "random_state": 0}
    cases = [
        RankFactorClassifier(engine=Gibbs(20, 20, n_chains=1), training="bayes", **quick),
        RankFactorClassifier(model="R-NL-BSVM", **quick),
        RankFactorClassifier(covariates=["age"], **quick),
    ]

    def with_more(table):
        numbers = np.arange(float(len(table)))
        return table.assign(site=np.where(numbers % 3, "north", "south"), age=numbers)

    new = with_more(NEW)
    for fitted in cases:
        fitted.fit(with_more(X), y)
        monkeypatch.setattr(tables, "MANY", N)
        wanted = fitted.decision_function(new)
        monkeypatch.setattr(tables, "MANY", 0)
        assert_array_equal(fitted.decision_function(new), wanted)


def test_covariates_from_the_annotations_of_samples(tmp_path):
    X, y = simulated(1, 120)
    fitted = RankFactorClassifier(n_factors=2, covariates=["age"], random_state=0)
    fitted.fit(X.assign(age=np.arange(120.0)), y)
    table, ages = annotated(), np.arange(float(N))
    table.obs["age"] = ages
    wanted = fitted.predict_proba(NEW.assign(age=ages))
    assert_array_equal(fitted.predict_proba(backed(table, tmp_path)), wanted)


def test_a_loaded_model_reads_files(model, tmp_path):
    save_model(model, tmp_path / "model.rankfactor")
    loaded, path = load_model(tmp_path / "model.rankfactor"), saved(tmp_path, ".csv")
    assert_array_equal(loaded.predict(path), model.predict(NEW))
    assert_array_equal(loaded.predict_interval(path), model.predict_interval(NEW))


def test_a_file_is_opened_once(model, tmp_path, monkeypatch):
    path, seen = saved(tmp_path, ".h5ad"), []

    def noted(source):
        seen.append(source)
        return open_stream(source)

    monkeypatch.setattr(tables, "open_stream", noted)
    model.predict(path)
    assert seen == [path]


def test_rows_are_numbered_as_given(unnamed, monkeypatch):
    monkeypatch.setattr(tables, "MANY", 500)
    values = NEW.to_numpy()
    assert unnamed.posterior_.transform(values).index.equals(pd.RangeIndex(N))
    frame = pd.DataFrame(values, pd.RangeIndex(5, N + 5))
    assert unnamed.posterior_.transform(frame).index.tolist() == frame.index.tolist()
    few = unnamed.posterior_.transform(values[:3].tolist())
    assert few.index.equals(pd.RangeIndex(3))


def test_dask_labels_and_explanations(model):
    answers = pytest.importorskip("dask.dataframe").from_pandas(
        pd.Series(ANSWERS, NEW.index), npartitions=2
    )
    assert model.score(dask_frame(), answers) == model.score(NEW, ANSWERS)
    (found,), (wanted,) = (
        model.explain(table).values() for table in (dask_frame().partitions[0], NEW.iloc[:234])
    )
    assert_array_equal(found.values, wanted.values)


def test_analyses_transform_files(tmp_path):
    fitted = RankFactorAnalysis(n_factors=2, random_state=0).fit(simulated(1, 120)[0])
    assert_array_equal(fitted.transform(saved(tmp_path, ".csv")), fitted.transform(NEW))


def test_what_is_refused(model, tmp_path):
    path = saved(tmp_path, ".csv")
    with pytest.raises(InputError, match="needs its samples in memory"):
        model.explain(path)
    with pytest.raises(InputError, match=r"nothing\.csv does not exist"):
        model.predict(tmp_path / "nothing.csv")
    text = path.read_text().splitlines()
    text[600] = text[600].replace(text[600].split(",")[3], "many", 1)
    path.write_text("\n".join(text))
    with pytest.raises(InputError, match=r"new\.csv, row 601, column 'gene"):
        model.predict(path)
