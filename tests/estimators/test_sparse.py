"""Sparse matrices and AnnData objects: the same answers as those of the dense table."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse

from rankfactor import InputError, RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.estimators import PRESETS
from rankfactor.likelihoods.coding import Cuts
from rankfactor.steps.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FORMATS = {
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
}


def counts(n=60, d=14, seed=0, holes=0.0):
    """Counts of which most are zero, some negative values, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    table = rng.poisson(np.exp(z @ rng.standard_normal((2, d)) - 1.0)).astype(float)
    table[:, 0] -= 1.0  # zero is neither the smallest nor the commonest value
    table[rng.random((n, d)) < holes] = np.nan
    return table, (z[:, 0] > 0).astype(int)


def small(model="R-L-BSVM", **settings):
    settings = {"n_factors": 3, "max_iter": 10, "random_state": 0} | settings
    return RankFactorClassifier(model, **settings)


def adata(matrix, index=None, columns=None, **obs):
    """What an AnnData object has, as far as it is used."""
    n, d = matrix.shape
    names = pd.Index([f"s{i}" for i in range(n)] if index is None else index)
    return SimpleNamespace(
        X=matrix,
        obs=pd.DataFrame(obs, index=names),
        obs_names=names,
        var_names=pd.Index([f"g{i}" for i in range(d)] if columns is None else columns),
    )


@settings(max_examples=40, deadline=None)
@given(
    arrays(
        np.float64,
        (12, 4),
        elements=st.sampled_from([0.0, 0.0, 0.0, -0.0, -1.5, 1.0, 2.0, 3.0, 4.0, np.nan]),
    ),
    st.integers(1, 5),
)
def test_cuts_are_those_of_the_dense_table(table, max_cuts):
    dense, thin = Cuts.learn(table, max_cuts), Cuts.learn(sparse.csc_array(table), max_cuts)
    assert_array_equal(thin.columns, dense.columns)
    assert_array_equal(thin.values, dense.values)
    assert_array_equal(thin.n_cuts, dense.n_cuts)
    assert_array_equal(thin.observe(sparse.csc_array(table)).array, dense.observe(table).array)


@pytest.mark.parametrize("model", sorted(PRESETS))
@pytest.mark.quick_cases("R-L-BSVM", "G-L-BSVM", "OR-L-Probit")
def test_every_model_gives_the_same_bits(model):
    X, y = counts(holes=0.05)
    new = counts(seed=1, holes=0.05)[0]
    dense = small(model).fit(X, y)
    thin = small(model).fit(sparse.csr_matrix(X), y)
    assert_array_equal(thin.loadings_, dense.loadings_)
    assert thin.elbo_ == dense.elbo_
    assert_array_equal(thin.predict_proba(sparse.csc_array(new)), dense.predict_proba(new))
    assert_array_equal(thin.transform(new), dense.transform(sparse.csr_array(new)))


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_bits(kind):
    X, _ = counts()
    model = RankFactorAnalysis(n_factors=2, max_iter=5, random_state=0)
    expected = model.fit(X).transform(X)
    assert_array_equal(model.fit(FORMATS[kind](X)).transform(FORMATS[kind](X)), expected)


def test_stored_zeros_and_doubles_are_the_values_that_they_mean():
    X, y = counts()
    n, d = X.shape
    raw = sparse.csc_array(  # every entry is stored as two halves, zeros too
        (
            np.vstack([0.5 * X, 0.5 * X]).T.ravel(),
            np.tile(np.arange(n), 2 * d),
            np.arange(0, 2 * n * d + 1, 2 * n),
        ),
        shape=(n, d),
    )
    before = raw.data.copy()
    expected = small().fit(X, y).loadings_
    assert_array_equal(small().fit(raw, y).loadings_, expected)
    assert_array_equal(raw.data, before)  # what was given is left alone


def test_an_infinite_entry_is_named():
    X, y = counts()
    matrix = sparse.csc_array(X)
    X[7, 3] = np.inf
    with pytest.raises(InputError, match="row 7, column 3 holds an infinite value"):
        small().fit(sparse.csr_array(X), y)
    with pytest.raises(InputError, match="row 's7', column 'g3' holds an infinite value"):
        small().fit(adata(sparse.csr_array(X)), y)
    with pytest.raises(ValueError, match="expecting 14 features"):
        small().fit(matrix, y).predict(matrix[:, :5])


@pytest.mark.slow
def test_no_array_of_floats_of_the_size_of_the_table():
    n, d = 3000, 2000
    X = sparse.random_array((n, d), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = np.arange(n) % 2
    model = RankFactorClassifier(
        n_factors=3, max_iter=2, training="bayes", random_state=0, n_threads=1
    )
    model.fit(X, y).transform(X)  # compiles
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    model.fit(X, y).transform(X)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    # One byte an entry for the codes; a table of floats would have four or eight.
    assert peak < 3 * n * d


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.quick_cases("csr_matrix")
def test_annotated_data(kind, tmp_path):
    X, y = counts()
    labels = np.where(y, "case", "control")
    frame = pd.DataFrame(X, [f"s{i}" for i in range(60)], [f"g{i}" for i in range(14)])
    expected = small().fit(frame, labels)
    data = adata(kind(X), status=pd.Categorical(labels))
    model = small().fit(data, "status")
    assert_array_equal(model.loadings_, expected.loadings_)
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert_array_equal(model.posterior_.sample_names, frame.index)
    assert list(model.classes_) == ["case", "control"]
    assert model.score(data, "status") == expected.score(frame, labels)
    assert_array_equal(small().fit(data, labels).loadings_, expected.loadings_)
    # Matched by name in any order; features that are absent count as missing.
    order = np.random.default_rng(0).permutation(14)[:11]
    new = adata(kind(X[:, order]), columns=[f"g{i}" for i in order])
    with pytest.raises(InputError, match="lacks 3 of the model's 14 features"):
        model.predict_proba(new)
    model.set_params(missing_features="missing")
    holes = frame.copy()
    holes.iloc[:, [i for i in range(14) if i not in order]] = np.nan
    assert_array_equal(model.predict_proba(new), expected.predict_proba(holes))
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    values = loaded.match(new, "missing")
    assert_array_equal(
        loaded.probabilities(loaded.decide(values, Workers()))[0], model.predict_proba(new)
    )


def test_several_columns_of_obs_are_several_tasks():
    X, y = counts()
    data = adata(sparse.csr_array(X), status=y, site=["a", "b", "c"] * 20)
    model = small().fit(data, ["status", "site"])
    assert [task.name for task in model.posterior_.classifiers.tasks] == ["status", "site"]


def test_what_annotated_data_lack_is_said():
    X, y = counts()
    with pytest.raises(InputError, match=r"obs has no column 'stats'; it has 'status'"):
        small().fit(adata(X, status=y), "stats")
    with pytest.raises(InputError, match="names a column, which only an AnnData object has"):
        small().fit(X, "status")
    with pytest.raises(InputError, match="duplicate feature names: 'g1'"):
        small().fit(adata(sparse.csr_array(X), columns=["g1"] * 14), y)
    empty = adata(X)
    empty.X = None
    with pytest.raises(InputError, match="has no X"):
        small().fit(empty, y)
    many = SimpleNamespace(mod={}, obs_names=[])
    with pytest.raises(InputError, match="MuData"):
        small().fit(many, y)


@pytest.mark.slow
def test_a_real_annotated_object():
    anndata = pytest.importorskip("anndata")
    X, y = counts()
    data = anndata.AnnData(
        sparse.csr_matrix(X), obs=pd.DataFrame({"status": y}, index=[f"s{i}" for i in range(60)])
    )
    model = small().fit(data, "status")
    assert_array_equal(model.loadings_, small().fit(X, y).loadings_)
    part = data[:, ::-1]  # a view, whose features are the other way round
    assert_array_equal(model.decision_function(part), model.decision_function(data))


@pytest.mark.slow
def test_the_weight_of_the_labels_is_chosen_on_a_sparse_table():
    X, y = counts()
    settings = {"training": "predictive", "label_weight": "auto", "max_iter": 3}
    one = small(**settings).fit(sparse.csr_array(X), y)
    other = small(**settings).fit(adata(sparse.csr_array(X)), y)
    dense = small(**settings).fit(X, y)
    assert one.label_weight_ == other.label_weight_ == dense.label_weight_
    assert_array_equal(one.coef_, dense.coef_)
