"""One pass over a table: the sample of rows, levels, missing values, and values by a plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankfactor.data.sparse import NamedSparse
from rankfactor.data.streams import open_stream
from rankfactor.errors import InputError
from rankfactor.features.plan import FeaturePlan
from rankfactor.features.survey import SAMPLED_ROWS, streamed_values, survey

N = 500


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "count": rng.poisson(3, N).astype(float),
            "flag": rng.random(N) < 0.5,
            "sex": rng.choice(["m", "f"], N),
            "age": rng.integers(20, 80, N),
        },
        index=[f"s{n}" for n in range(N)],
    )
    frame.loc["s7", ["count", "sex"]] = np.nan, None
    frame.loc["s3", "x"] = np.nan
    return frame


@pytest.mark.parametrize("rows", [1, 17, 250, 1000])
def test_does_not_depend_on_the_chunks(rows: int, frame: pd.DataFrame) -> None:
    options: dict[str, Any] = {"seed": 3, "n_sampled": 40}
    found = survey(open_stream(frame), chunk_rows=rows, **options)
    expected = survey(open_stream(frame), **options)
    np.testing.assert_array_equal(found.rows, expected.rows)
    pd.testing.assert_frame_equal(found.table, frame.iloc[found.rows])
    assert found.n_rows == N
    assert len(found.rows) == 40
    assert not found.is_whole
    assert (np.diff(found.rows) > 0).all()
    assert found.missing.tolist() == [1, 1, 0, 1, 0]
    assert found.sample_names is not None
    assert found.sample_names.tolist() == frame.index.tolist()
    assert sorted(found.levels) == [1, 2, 4]
    for place, name in ((1, "count"), (2, "flag"), (4, "age")):
        levels = np.unique(frame[name].dropna().astype(float))
        np.testing.assert_array_equal(found.levels[place], levels)


@pytest.mark.parametrize("columns", [["x", "count"], ["sex"]])
def test_numbers_or_text_alone(columns: list[str], frame: pd.DataFrame) -> None:
    found = survey(open_stream(frame[columns]), chunk_rows=100)
    assert found.missing.tolist() == [1] * len(columns)
    assert sorted(found.levels) == ([1] if len(columns) == 2 else [])
    assert found.is_whole


def test_sample_is_uniform_and_seeded() -> None:
    stream, counts = open_stream(np.zeros((100, 1))), np.zeros(100)
    for seed in range(400):
        counts[survey(stream, seed=seed, n_sampled=20, chunk_rows=33).rows] += 1
    # Binomial (400, 0.2): 80 +- 8; the largest of 100 deviations stays below 5 sd.
    assert abs(counts - 80).max() < 40
    assert counts.sum() == 8000
    # Larger samples contain smaller ones.
    small, large = (set(survey(stream, n_sampled=m).rows.tolist()) for m in (20, 30))
    assert small < large


def test_increasing_transforms_change_nothing() -> None:
    values = np.random.default_rng(0).normal(size=(3000, 3))
    one, other = (survey(open_stream(x), n_sampled=200) for x in (values, np.exp(values)))
    np.testing.assert_array_equal(one.rows, other.rows)
    for a, b in zip(one.table.T, other.table.T, strict=True):
        np.testing.assert_array_equal(np.argsort(a), np.argsort(b))


def test_error_in_rank() -> None:
    bound = math.sqrt(math.log(2 / 0.001) / (2 * SAMPLED_ROWS))
    assert bound < 0.011
    ranks = (np.arange(200_000) + 0.5)[:, None] / 200_000
    sampled = np.sort(survey(open_stream(ranks), seed=1).table[:, 0])
    assert len(sampled) == SAMPLED_ROWS
    error = abs(np.arange(1, SAMPLED_ROWS + 1) / SAMPLED_ROWS - sampled).max()
    assert 0.001 < error < 0.011


def test_levels_are_complete_or_given_up() -> None:
    values = np.zeros((5000, 3))
    values[4321, 0] = 7.0  # not among the sampled rows
    values[:, 1] = np.arange(5000) % 255
    values[:, 2] = np.arange(5000) % 256
    found = survey(open_stream(values), n_sampled=50)
    assert 4321 not in found.rows
    assert sorted(found.levels) == [0, 1]
    assert found.levels[0].tolist() == [0, 7]
    np.testing.assert_array_equal(found.levels[1], np.arange(255))


@pytest.mark.parametrize("rows", [30, 1000])
def test_sparse(rows: int) -> None:
    rng = np.random.default_rng(2)
    dense = rng.poisson(0.2, (N, 6)).astype(np.float32)
    dense[3, 2] = np.nan
    dense[:, 5] = 1 + np.arange(N) % 3  # no zero in it
    found = survey(open_stream(sparse.csr_array(dense)), n_sampled=60, chunk_rows=rows)
    expected = survey(open_stream(dense), n_sampled=60)
    assert sparse.issparse(found.table)
    np.testing.assert_array_equal(found.table.toarray(), expected.table)
    np.testing.assert_array_equal(found.missing, expected.missing)
    assert found.levels.keys() == expected.levels.keys()
    for place, levels in expected.levels.items():
        np.testing.assert_array_equal(found.levels[place], levels)
    assert found.sample_names is None


def test_wide_tables_have_fewer_rows_sampled() -> None:
    stream = open_stream(np.zeros((3000, 16)))
    assert len(survey(stream, sampled_bytes=2000 * 16 * 8).rows) == 2000
    assert len(survey(stream, sampled_bytes=1).rows) == 1024
    assert survey(stream).is_whole
    thin = open_stream(sparse.csr_array((3000, 16)))
    assert survey(thin, sampled_bytes=1).is_whole


def test_progress_and_repeated_names(frame: pd.DataFrame) -> None:
    done: list[tuple[int, int]] = []
    survey(open_stream(frame), chunk_rows=200, progress=lambda *told: done.append(told))
    assert done == [(200, N), (400, N), (N, N)]
    with pytest.raises(InputError, match="the DataFrame has a repeated sample name: 's1'"):
        survey(open_stream(frame.rename(index={"s400": "s1"})), chunk_rows=50)


@pytest.mark.quick_cases("None-7", "regress-499", "block-1", "block-7")
@pytest.mark.parametrize("rows", [1, 7, 499])
@pytest.mark.parametrize("use", [None, "regress", "block"])
def test_values_of_chunks_are_those_of_the_whole(
    use: str | None, rows: int, frame: pd.DataFrame
) -> None:
    stream = open_stream(frame)
    options: dict[str, Any] = {"covariates": ["age"], "covariate_use": use} if use else {}
    plan, _ = FeaturePlan.learn(survey(stream, n_sampled=100).table, **options)
    expected = plan.apply(frame)
    parts = list(streamed_values(plan, stream, rows))
    assert [first for first, _ in parts] == list(range(0, N, rows))
    np.testing.assert_array_equal(np.concatenate([values for _, values in parts]), expected)


def test_values_of_sparse_chunks() -> None:
    matrix = sparse.csr_matrix(np.random.default_rng(2).poisson(0.3, (40, 3)).astype(float))
    names = pd.Index([f"s{n}" for n in range(40)])
    table = NamedSparse(matrix, names, pd.Index(["a", "b", "c"]), pd.DataFrame(index=names))
    plan, learned = FeaturePlan.learn(table)
    anndata = pytest.importorskip("anndata")
    obs, var = pd.DataFrame(index=names), pd.DataFrame(index=["a", "b", "c"])
    stream = open_stream(anndata.AnnData(matrix, obs=obs, var=var))
    parts = [values.toarray() for _, values in streamed_values(plan, stream, 9)]
    np.testing.assert_array_equal(np.concatenate(parts), learned.values.toarray())


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_covariates_of_annotated(kind: Any) -> None:
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(2)
    names = [f"s{n}" for n in range(40)]
    obs = pd.DataFrame({"age": rng.integers(20, 80, 40), "sex": ["m", "f"] * 20}, names)
    matrix = kind(rng.poisson(0.5, (40, 3)).astype(float))
    adata = anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=["a", "b", "c"]))
    plan, learned = FeaturePlan.learn(adata, covariates=["age", "sex"], sparse=False)
    stream = open_stream(adata).with_covariates(["age", "sex"])
    parts = [values for _, values in streamed_values(plan, stream, 9, sparse=False)]
    np.testing.assert_array_equal(np.concatenate(parts), learned.values)
    with pytest.raises(InputError, match=r"has no column 'aeg' in obs.*Did you mean 'age'"):
        stream.with_covariates(["aeg"])


def test_words_that_the_sample_does_not_have(frame: pd.DataFrame) -> None:
    plan, _ = FeaturePlan.learn(frame)
    other = frame.copy()
    other.loc["s400", "sex"] = "x"
    with pytest.warns(UserWarning, match="'sex' has values that it did not have in training"):
        parts = list(streamed_values(plan, open_stream(other), 100))
    assert np.isnan(parts[4][1][0, plan.names.tolist().index("sex=m")])


def test_levels_of_features(frame: pd.DataFrame) -> None:
    found = survey(open_stream(frame), n_sampled=100)
    plan, _ = FeaturePlan.learn(found.table)
    levels = found.feature_levels(plan)
    assert [plan.names[k] for k in levels] == ["count", "flag", "age"]
    plan, _ = FeaturePlan.learn(found.table, covariates=["age"])
    assert found.feature_levels(plan) == {}
    unnamed = survey(open_stream(np.ones((3, 2))))
    plan, _ = FeaturePlan.learn(unnamed.table)
    assert {k: one.tolist() for k, one in unnamed.feature_levels(plan).items()} == {0: [1], 1: [1]}
