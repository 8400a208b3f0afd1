"""Shards on Dask workers: in this process, and in processes that are killed."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.clusters import two_workers
from tests.engine.large.simulated import (
    SHARD,
    chunks_of,
    count_up,
    counts,
    fitted,
    make_small,
    out_of_memory,
    place_of,
    placed,
    size_and_codes,
    slow_sizes,
)

from rankfactor.data.streams import open_stream
from rankfactor.data.streams.collections import DaskStream
from rankfactor.engine.large import cluster
from rankfactor.engine.large.dask_placement import DaskPlacement
from rankfactor.engine.large.on_worker import Store
from rankfactor.engine.large.placement import LocalPlacement
from rankfactor.engine.large.shard import find_scores
from rankfactor.engine.large.sources import ArrayRows, DaskRows, ReadRows, SentRows, source_of
from rankfactor.errors import InputError
from rankfactor.features.survey_parts import survey_parts

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    make_small(monkeypatch)


@pytest.fixture(scope="module")
def here():
    """Two workers of two threads each, in this process."""
    with two_workers(2) as client:
        yield client


@pytest.fixture(scope="module")
def table():
    return counts()


def processes(n_workers, **options):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **options
    )


def same(one, other, X):
    """Whether decisions and scores are the same; sums do not depend on their order."""
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    assert_allclose(one.scores.mean, other.scores.mean, atol=1e-9)
    assert_array_equal(one.sample_names, other.sample_names)
    assert one.convergence == other.convergence


@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_a_fit_is_that_of_shards_in_this_process(training, here, table):
    X, y = table
    local = fitted(X, y, LocalPlacement(chunks_of(X)), training)
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        same(fitted(X, y, place, training), local, X)


def test_sums_and_streams_go_over_all_shards_in_order(here, table):
    X, _ = table
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        shards = placed(place, X)
        found = shards.sum(size_and_codes)
        assert found["n"] == len(X)
        starts = list(range(0, len(X), SHARD))
        assert list(shards.stream(place_of)) == [
            (first, min(SHARD, len(X) - first)) for first in starts
        ]


@pytest.mark.slow
def test_what_travels_does_not_depend_on_the_number_of_samples(here):
    X, y = counts(500)
    moved = []
    for times in (1, 3):
        many = np.tile(X, (times, 1))
        with DaskPlacement(SentRows(chunks_of(many)), here) as place:
            fitted(many, np.tile(y, times), place, rows=np.arange(400))
            passes = place.shards[-1].moved
        moved.append(next(one for one in passes if one.step == "ascend_shard"))
    assert moved[0].received == moved[1].received > 0
    assert moved[0].sent == pytest.approx(moved[1].sent, rel=0.01)


def test_workers_let_go_of_shards_at_the_end(here, table):
    X, _ = table
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        shards = placed(place, X)
        assert shards.sum(size_and_codes)["n"] == len(X)
        held = [one for worker in _workers(here) for one in worker.data.values()]
        stores = [weakref.ref(one) for one in held if isinstance(one, Store)]
        assert len(stores) == 2
        del held
    for _ in range(100):
        if not any(store() for store in stores):
            break
        time.sleep(0.05)
        gc.collect()
    assert not any(store() for store in stores)


def _workers(client):
    return list(client.cluster.workers.values())


def test_shards_that_a_worker_lost_are_built_again(here, table):
    X, _ = table
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        shards = placed(place, X)
        shards.run(count_up, 1.0)
        here.cancel([next(iter(shards._stores.values()))], force=True)
        assert shards.sum(size_and_codes)["n"] == len(X)
        assert 0 < shards.rebuilt < len(X) / SHARD


def test_a_step_is_taken_once_in_a_pass(here, table):
    """Scores of an interrupted pass are restored, not updated twice."""
    X, _ = table
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        shards = placed(place, X)
        assert shards.sum(count_up, 1.0)["z"] == 4 * len(X)
        assert shards.sum(count_up, 1.0)["z"] == 8 * len(X)
        shards._done -= 1  # as if the client had not heard of the last pass
        # Without rows that they follow, scores begin at zero.
        assert shards.sum(count_up, 1.0)["z"] == 4 * len(X)


@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_ctrl_c_ends_a_fit_as_it_does_in_this_process(training, here, table):
    X, y = table

    def broken_off(place):
        begun = []

        def stop(iteration, *_):
            if iteration == 2 and begun:
                raise KeyboardInterrupt

        def watched(*given):  # the core of the samples is fitted before
            begun.append(True)
            return place(*given)

        with pytest.warns(match="interrupted"):
            return fitted(X, y, watched, training, stop)

    local = broken_off(LocalPlacement(chunks_of(X)))
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        same(broken_off(place), local, X)


def test_errors_of_a_worker_are_one_sentence(here, table):
    X, _ = table
    with DaskPlacement(SentRows(chunks_of(X)), here) as place:
        shards = placed(place, X)
        with pytest.raises(InputError, match=r"the worker at inproc://.* has no memory left"):
            shards.sum(out_of_memory)
        assert shards.sum(size_and_codes)["n"] == len(X)
    short = ReadRows(partial(_rows, X[:100]), np.asarray)
    with (
        DaskPlacement(short, here) as place,
        pytest.raises(
            InputError, match=r"rows 64 to 127 of the table were read as 36 rows.*inproc"
        ),
    ):
        placed(place, X)


def _rows(X, first, stop):
    return X[first:stop]


@pytest.mark.slow
def test_shards_of_a_worker_may_lie_in_scratch_files(here, table, tmp_path):
    X, y = table
    local = fitted(X, y, LocalPlacement(chunks_of(X)))
    with DaskPlacement(SentRows(chunks_of(X)), here, memory=1, scratch=str(tmp_path)) as place:
        same(fitted(X, y, place), local, X)
    missing = str(tmp_path / "none")
    with (
        DaskPlacement(SentRows(chunks_of(X)), here, memory=1, scratch=missing) as place,
        pytest.raises(InputError, match="does not exist"),
    ):
        placed(place, X)


@pytest.mark.slow
def test_workers_read_arrays_in_files(here, table, tmp_path):
    X, y = table
    np.save(tmp_path / "table.npy", X)
    local = fitted(X, y, LocalPlacement(chunks_of(X)))
    source = ReadRows(ArrayRows(str(tmp_path / "table.npy")), np.asarray)
    with DaskPlacement(source, here) as place:
        same(fitted(X, y, place), local, X)


def test_sources_of_tables(here, table, tmp_path):
    X, _ = table
    np.save(tmp_path / "table.npy", X)
    chunks = chunks_of(X)
    array = pytest.importorskip("dask.array").from_array(X)
    for given, source in (
        (tmp_path / "table.npy", ReadRows(ArrayRows(str(tmp_path / "table.npy")), np.asarray)),
        (X, SentRows(chunks)),
    ):
        assert source_of(open_stream(given), np.asarray, chunks, here) == source
    assert isinstance(source_of(DaskStream(array), np.asarray, chunks, here), DaskRows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "dataframe"])
def test_parts_of_a_dask_collection_become_shards(kind, here, table):
    X, y = table
    if kind == "array":
        collection = pytest.importorskip("dask.array").from_array(X, chunks=(150, 5))
    else:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
        collection = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=5)
    stream = DaskStream(collection)
    survey_parts(stream, here)
    local = fitted(X, y, LocalPlacement(chunks_of(X)))
    with DaskPlacement(DaskRows(stream, np.asarray), here) as place:
        same(fitted(X, y, place), local, X)


def test_many_threads_add_up_over_a_tree(table):
    X, _ = table
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=5, processes=False, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
        DaskPlacement(SentRows(chunks_of(X)), client) as place,
    ):
        shards = placed(place, X)
        found = shards.sum(size_and_codes)
        whole = shards._recipe.coding.observe(X).array.astype(float)
        assert_allclose(found["codes"], whole.sum(axis=1) / 7, rtol=1e-12)
        # Ten sums, added up by three tasks, and these by one.
        assert shards.moved[-1].received == 14 * 2 * 8 * (1 + len(whole))


@pytest.mark.slow
@pytest.mark.parametrize("training", ["bayes", "predictive"])
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_processes_do_not_change_a_fit(n_workers, training, table):
    X, y = table
    local = fitted(X, y, LocalPlacement(chunks_of(X)), training)
    with (
        processes(n_workers) as workers,
        distributed.Client(workers, set_as_default=False) as client,
        DaskPlacement(SentRows(chunks_of(X)), client) as place,
    ):
        same(fitted(X, y, place, training), local, X)


@pytest.mark.slow
def test_a_worker_killed_in_a_pass_costs_its_shards_only(table):
    X, _ = table
    with (
        processes(2) as workers,
        distributed.Client(workers, set_as_default=False) as client,
        DaskPlacement(SentRows(chunks_of(X)), client) as place,
    ):
        shards = placed(place, X)
        first = shards.sum(size_and_codes)
        number = next(iter(client.run(os.getpid).values()))
        threading.Timer(0.5, os.kill, (number, signal.SIGKILL)).start()
        second = shards.sum(slow_sizes)
        assert shards.rebuilt in (5, 6)  # of 11
        for name in first:
            assert_array_equal(first[name], second[name])
        number = next(iter(client.run(os.getpid).values()))
        threading.Timer(0.3, os.kill, (number, signal.SIGKILL)).start()
        starts = [first for first, _ in shards.stream(slow_place)]
        assert starts == list(range(0, len(X), SHARD))


def slow_place(shard):
    slow_sizes(shard)
    return place_of(shard)


@pytest.mark.slow
@pytest.mark.parametrize("training", ["bayes", "predictive"])
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_fit_outlives_its_workers(n_workers, training, table):
    """One of two workers, or the only one, which its nanny replaces."""
    X, y = table
    local = fitted(X, y, LocalPlacement(chunks_of(X)), training)
    with (
        processes(n_workers) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        number = next(iter(client.run(os.getpid).values()))
        due = iter([False, True] if training == "predictive" else [True])

        def kill(iteration, *_):
            # Not in the fit to the core, nor in the label-free passes before training.
            if iteration == 2 and place.shards and next(due):
                os.kill(number, signal.SIGKILL)

        with DaskPlacement(SentRows(chunks_of(X)), client) as place:
            outlived = fitted(X, y, place, training, kill)
            assert place.shards[-1].rebuilt > 0
    assert outlived.convergence.converged
    assert_allclose(outlived.predict_proba(X), local.predict_proba(X), atol=0.01)


@pytest.mark.slow
def test_no_worker_left_is_one_sentence(table, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    X, _ = table
    with (
        processes(1) as workers,
        distributed.Client(workers, set_as_default=False) as client,
        DaskPlacement(SentRows(chunks_of(X)), client) as place,
    ):
        shards = placed(place, X)
        workers.scale(0)
        with pytest.raises(InputError, match="has had no worker for 1 s: start workers"):
            shards.sum(slow_sizes)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_sentence(table):
    X, _ = table
    with processes(1) as workers:
        client = distributed.Client(workers, set_as_default=False)
        place = DaskPlacement(SentRows(chunks_of(X)), client)
        shards = placed(place, X)
    with pytest.raises(InputError, match=r"the scheduler at tcp://.* does not answer any more"):
        shards.run(find_scores, None)
    client.close(timeout=1)


DYING = """
import os, signal, sys
from distributed import Client
from tests.engine.large.simulated import chunks_of, counts, placed
from rankfactor.engine.large.dask_placement import DaskPlacement
from rankfactor.engine.large.sources import SentRows

X, _ = counts()
place = DaskPlacement(SentRows(chunks_of(X)), Client(sys.argv[1]))
placed(place, X)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_shards_go_with_a_client_that_is_killed():
    with (
        processes(1) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        paths = os.pathsep.join(path for path in ("", "src", *sys.path))
        died = subprocess.run(
            [sys.executable, "-c", DYING, client.scheduler.address],
            env=os.environ | {"PYTHONPATH": paths},
            check=False,
        )
        assert died.returncode == -signal.SIGKILL
        for _ in range(100):
            if not any(client.has_what().values()):
                break
            time.sleep(0.1)
        assert not any(client.has_what().values())
