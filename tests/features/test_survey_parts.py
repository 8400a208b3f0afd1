"""The survey by workers is the survey of the whole table."""

import numpy as np
import pandas as pd
import pytest
from tests.clusters import two_workers

from rankfactor.data.streams import open_stream
from rankfactor.data.streams.collections import DaskStream, is_collection
from rankfactor.errors import InputError
from rankfactor.features.survey import survey
from rankfactor.features.survey_parts import survey_parts

dask_array = pytest.importorskip("dask.array")
dask_frame = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.poisson(3.0, (5000, 4)).astype(float), columns=list("abcd"))
    table["b"] = rng.standard_normal(5000)
    # Few values in every part, and too many in all of them.
    table["c"] = np.arange(5000) // 10
    table.loc[7, "d"] = np.nan
    table["words"] = rng.choice(["u", "v"], 5000)
    return table


def _same(one, other):
    assert one.n_rows == other.n_rows
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.missing, other.missing)
    assert one.levels.keys() == other.levels.keys()
    for column, values in one.levels.items():
        np.testing.assert_array_equal(values, other.levels[column])


def test_a_dataframe(client, frame):
    stream = DaskStream(dask_frame.from_pandas(frame, npartitions=7))
    assert stream.words == ("words",)
    found = survey_parts(stream, client, seed=4, n_sampled=1500)
    whole = survey(open_stream(frame), seed=4, n_sampled=1500)
    _same(found, whole)
    assert sorted(found.levels) == [0, 3]
    pd.testing.assert_frame_equal(found.table, whole.table, check_dtype=False)
    rows = client.compute(stream.lazy_rows(700, 2000)).result()
    pd.testing.assert_frame_equal(rows, frame[700:2000], check_dtype=False)


def test_an_array(client, frame):
    values = frame.drop(columns="words").to_numpy()
    collection = dask_array.from_array(values, chunks=(900, 3))
    assert is_collection(collection)
    assert not is_collection(values)
    stream = DaskStream(collection)
    found = survey_parts(stream, client, seed=4)
    _same(found, survey(open_stream(values), seed=4))
    np.testing.assert_array_equal(found.table, values)
    rows = client.compute(stream.lazy_rows(4900, 6000)).result()
    np.testing.assert_array_equal(rows, values[4900:])


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError, match="has to be two-dimensional"):
        DaskStream(dask_array.zeros(5))
    with pytest.raises(InputError, match="must contain numbers"):
        DaskStream(dask_array.from_array(np.array([["a"]])))
    stream = DaskStream(dask_array.zeros((6, 2), chunks=(3, 2)))
    with pytest.raises(InputError, match="had 6 rows and has 5 now"):
        stream.found_lengths([3, 2])
