"""Estimators on a Dask cluster: the same answer as in this process, for every kind of table."""

import numpy as np
import pandas as pd
import pytest
from tests.clusters import two_workers
from tests.engine.large.simulated import D, counts, make_small

from rankfactor import RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine.large import connecting
from rankfactor.errors import InputError
from rankfactor.estimators import large

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    make_small(monkeypatch)
    monkeypatch.setattr(large, "LARGE", 300)
    monkeypatch.setattr(large, "SAMPLE", 400)
    monkeypatch.setattr(large, "CORE", 256)


@pytest.fixture(scope="module")
def client():
    """Two workers in this process."""
    with two_workers() as client:
        yield client


@pytest.fixture(scope="module")
def table():
    X, y = counts()
    return pd.DataFrame(X, columns=[f"gene{i}" for i in range(D)]), pd.Series(y, name="status")


def decided(X, y, new, **arguments):
    model = RankFactorClassifier(n_factors=4, random_state=0, max_iter=60, **arguments)
    return model.fit(X, y).decision_function(new)


@pytest.mark.slow
def test_frames_files_and_collections_agree(client, table, tmp_path):
    array, frame = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, y = table
    new = X.iloc[:60]
    wanted = decided(X, y, new)
    np.save(tmp_path / "x.npy", X.to_numpy())
    others = {
        "frame": (X, y, new),
        "file": (str(tmp_path / "x.npy"), y.to_numpy(), new.to_numpy()),
        "dask array": (array.from_array(X.to_numpy(), chunks=(150, 5)), y, new.to_numpy()),
        "dask frame": (
            frame.from_pandas(X, npartitions=3),
            frame.from_pandas(y, npartitions=2),
            new,
        ),
    }
    for name, (given, answers, asked) in others.items():
        found = decided(given, answers, asked, cluster=client)
        np.testing.assert_allclose(found, wanted, atol=1e-9, err_msg=name)


def test_collections_without_a_cluster_are_read_here(table):
    array = pytest.importorskip("dask.array")
    X, y = table
    found = decided(array.from_array(X.to_numpy(), chunks=(200, D)), y, X.iloc[:60].to_numpy())
    np.testing.assert_array_equal(found, decided(X, y, X.iloc[:60]))


@pytest.mark.slow
def test_factors_without_labels(client, table):
    X, _ = table
    wanted = RankFactorAnalysis(n_factors=4, random_state=0, max_iter=60).fit(X)
    found = RankFactorAnalysis(n_factors=4, random_state=0, max_iter=60, cluster=client).fit(X)
    np.testing.assert_allclose(found.loadings_, wanted.loadings_, atol=1e-9)
    np.testing.assert_allclose(found.scores_, wanted.scores_, atol=1e-9)


def test_small_tables_are_fitted_here(client, table):
    X, y = table
    few, labels = X.iloc[:200], y.iloc[:200]
    found = decided(few, labels, X, cluster=client)
    np.testing.assert_array_equal(found, decided(few, labels, X))


def test_predictions_are_spread_over_the_workers(client, table, tmp_path, monkeypatch):
    frame = pytest.importorskip("dask.dataframe")
    X, y = table
    here = RankFactorClassifier(n_factors=4, random_state=0).fit(X.iloc[:200], y.iloc[:200])
    there = RankFactorClassifier.from_posterior(here.posterior_, cluster=client)
    spread = []

    def noted(*given):
        for part in connecting.mapped(*given):
            spread.append(part)
            yield part

    monkeypatch.setattr(large, "mapped", noted)
    parts = frame.from_pandas(X, npartitions=4)
    empty = parts[parts["gene0"] < -1].partitions[:2]
    X.to_csv(tmp_path / "new.csv")
    cases = [("parts", parts, 4), ("empty parts", frame.concat([empty, parts]), 6)]
    for name, given, n_parts in [*cases, ("file", tmp_path / "new.csv", 1)]:
        spread.clear()
        found = there.predict_proba(given)
        np.testing.assert_allclose(found, here.predict_proba(X), atol=1e-9, err_msg=name)
        assert len(spread) == n_parts
        np.testing.assert_allclose(there.transform(given), here.transform(X), atol=1e-9)
    spread.clear()
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    assert not spread  # a table in memory stays here
    with pytest.raises(InputError, match="has no rows"):
        there.predict(empty)


@pytest.mark.parametrize("address", ["somewhere", "tcp://127.0.0.1:1", 7])
def test_what_is_no_cluster_is_refused(table, address):
    with pytest.raises(InputError, match=r"cluster must be|no scheduler answers"):
        decided(*table, table[0], cluster=address)
