"""FeaturePlan: steps learned from one table apply to every table, bit for bit."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rankfactor import InputError
from rankfactor.data.numbers import LIMIT
from rankfactor.features.matching import NamedSparse
from rankfactor.features.plan import FeaturePlan

GENES = ["g0", "g1", "g2", "g3"]
BOTH = ["age", "batch"]


def people(n=40, seed=0):
    """Genes with zeros and missing values, two text columns, a numeric and a text covariate."""
    rng = np.random.default_rng(seed)
    genes = rng.poisson(1.0, (n, 4)) * rng.uniform(1, 2, (n, 4))
    table = pd.DataFrame(genes, [f"s{i}" for i in range(n)], GENES)
    table = table.assign(sex=rng.choice(["f", "m"], n), pain=rng.choice(["no", "some", "yes"], n))
    table = table.assign(age=rng.uniform(20, 80, n), batch=rng.choice(["one", "two"], n))
    table.loc["s1", "g0"] = np.nan
    table.loc["s2", "pain"] = None
    return table


def annotated(table, kind):
    """An AnnData object with the genes in X and everything else in obs."""
    genes = [name for name in table if name in GENES]
    return SimpleNamespace(
        X=kind(table[genes].to_numpy()),
        obs=table.drop(columns=genes),
        obs_names=table.index,
        var_names=pd.Index(genes),
    )


def plain(values):
    return values.toarray() if sparse.issparse(values) else values


KINDS = {
    "array": lambda table: table[GENES].to_numpy(),
    "float32": lambda table: table[GENES].to_numpy(np.float32),
    "frame": lambda table: table[GENES],
    "numbered frame": lambda table: table[GENES].set_axis(range(4), axis=1),
    "text of numbers": lambda table: table[GENES].astype({"g2": str}),
    "csr": lambda table: sparse.csr_array(table[GENES].to_numpy()),
    "AnnData": lambda table: annotated(table, np.asarray),
    "sparse AnnData": lambda table: annotated(table, sparse.csr_matrix),
    "words": lambda table: table[[*GENES[:2], "sex", "g2", "pain"]],
}
ADJUSTED = {
    "frame": lambda table: table[[*GENES, *BOTH]],
    "words": lambda table: table,
    "AnnData": KINDS["AnnData"],
    "sparse AnnData": KINDS["sparse AnnData"],
}
CASES = [pytest.param(kind, {}, id=name) for name, kind in KINDS.items()] + [
    pytest.param(kind, {"covariates": BOTH, "covariate_use": use}, id=f"{name} {use}")
    for name, kind in ADJUSTED.items()
    for use in ("regress", "block")
]


@pytest.mark.parametrize(("kind", "arguments"), CASES)
def test_learn_and_apply_agree_to_the_bit(kind, arguments):
    X = kind(people())
    plan, table = FeaturePlan.learn(X, **arguments)
    again = plan.apply(X)
    assert type(again) is type(table.values)
    assert again.dtype == table.values.dtype
    assert_array_equal(plain(again), plain(table.values))
    assert table.values.shape == (40, len(plan.names))
    assert_array_equal(plan.apply(X, sparse=False), plain(table.values))
    # A sample has the same values among others.
    few = kind(people().iloc[:7])
    assert_array_equal(plain(plan.apply(few)), plain(table.values)[:7])


@pytest.mark.parametrize(("kind", "arguments"), CASES)
def test_a_part_of_the_given_table_is_learned_alike(kind, arguments):
    _, whole = FeaturePlan.learn(kind(people()), **arguments)
    rows = np.arange(30)
    given = whole.given
    if isinstance(given, pd.DataFrame):
        part = given.iloc[rows]
    else:
        part = given.take(rows) if isinstance(given, NamedSparse) else given[rows]
    _, expected = FeaturePlan.learn(kind(people().iloc[:30]), **arguments)
    plan, found = FeaturePlan.learn(part, **arguments)
    assert_array_equal(plain(found.values), plain(expected.values))
    assert plan.n_given == FeaturePlan.learn(kind(people()), **arguments)[0].n_given


@pytest.mark.parametrize("use", ["regress", "block"])
def test_columns_in_any_order_and_more_of_them_change_nothing(use):
    X = people()
    plan, table = FeaturePlan.learn(X, covariates=BOTH, covariate_use=use)
    shuffled = X[X.columns[::-1]].assign(other="text")
    assert_array_equal(plan.apply(shuffled), table.values)
    obs = X.drop(columns=GENES[2:])  # every way to give them is the same
    assert_array_equal(plan.apply(obs.join(X[GENES[2:]])), table.values)


def test_sparse_tables_are_what_dense_ones_are():
    X = people()
    _, dense = FeaturePlan.learn(X[GENES])
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        plan, table = FeaturePlan.learn(kind(X[GENES].to_numpy()))
        assert isinstance(table.values, sparse.csc_array)
        assert_array_equal(table.values.toarray(), dense.values)
        assert_array_equal(plan.apply(X[GENES].to_numpy()), dense.values)
    plan, _ = FeaturePlan.learn(X[GENES])
    turned = annotated(X[GENES[::-1]], sparse.csr_array)
    assert_array_equal(plan.apply(turned).toarray(), dense.values)


def test_names_and_columns_as_given():
    X = people()
    plan, table = FeaturePlan.learn(X, covariates=BOTH, covariate_use="block")
    words = ["sex=m", "pain=no", "pain=some", "pain=yes"]
    assert plan.names.tolist() == [*GENES, *words, "age", "batch=two"]
    assert plan.table_features.tolist() == [*GENES, *words]
    assert plan.word_columns == ["sex", "pain"]
    assert plan.covariate_names == BOTH
    assert plan.named
    assert plan.n_given == 8
    assert_array_equal(plan.given_names, X.columns)
    assert_array_equal(table.sample_names, X.index)
    plan, table = FeaturePlan.learn(X[GENES].to_numpy())
    assert plan.names.tolist() == ["x0", "x1", "x2", "x3"]
    assert not plan.named
    assert plan.given_names is None
    assert table.sample_names[:2].tolist() == ["sample0", "sample1"]
    plan, _ = FeaturePlan.learn(annotated(X[[*GENES, *BOTH]], sparse.csr_array), covariates=BOTH)
    assert_array_equal(plan.given_names, [*GENES, *BOTH])


@pytest.mark.parametrize("use", ["regress", "block"])
def test_what_a_file_keeps_is_the_same_plan(use):
    X = people()[["sex", *GENES, "pain", *BOTH]]
    blocks = dict.fromkeys([*GENES, "sex"], "a") | {"pain": "b"}
    plan, table = FeaturePlan.learn(X, covariates=BOTH, covariate_use=use, blocks=blocks)
    stored = FeaturePlan.stored(plan.names, plan.named, plan.blocks, plan.words, plan.covariates)
    assert_array_equal(stored.apply(X), table.values)
    assert stored.n_given == plan.n_given
    assert stored.given_names.tolist() == [*GENES, "sex", "pain", *BOTH]
    added = ["covariates"] * 2 if use == "block" else []
    assert stored.blocks.tolist() == ["a"] * 5 + ["b"] * 3 + added
    plain, _ = FeaturePlan.learn(X[GENES].to_numpy())
    stored = FeaturePlan.stored(plain.names, plain.named, None, None, None)
    assert (stored.n_given, stored.given_names) == (4, None)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_that_are_absent_are_missing_or_refused(kind):
    X = people()
    plan, table = FeaturePlan.learn(X)
    assert plan.lacking(X) == []
    lacks = X.drop(columns=["g1", "pain"])
    absent = ["g1", "pain=no", "pain=some", "pain=yes"]
    assert plan.lacking(lacks) == absent
    with pytest.raises(InputError, match="lacks 4 of the model's 10 features: 'g1', 'pain=no'"):
        plan.apply(lacks)
    values = pd.DataFrame(plan.apply(lacks, "missing"), columns=plan.names)
    expected = pd.DataFrame(table.values, columns=plan.names)
    expected[absent] = np.nan
    pd.testing.assert_frame_equal(values, expected)
    with pytest.raises(InputError, match="lacks 6 of the model's 10 features: 'age', 'sex=m'"):
        plan.apply(annotated(X, kind))  # its obs are not features
    plan, table = FeaturePlan.learn(X[GENES])
    part = annotated(X[["g3", "g0"]], kind)
    found = plain(plan.apply(part, "missing"))
    assert_array_equal(found[:, [0, 3]], table.values[:, [0, 3]])
    assert np.isnan(found[:, 1:3]).all()


def test_covariates_that_are_absent_are_missing_or_refused():
    X = people()
    plan, table = FeaturePlan.learn(X[[*GENES, *BOTH]], covariates=BOTH, covariate_use="block")
    with pytest.raises(InputError, match="the table lacks 1 of 2 covariates: 'age'; add them"):
        plan.apply(X.drop(columns="age"))
    found = plan.apply(X.drop(columns="age"), "missing")
    assert np.isnan(found[:, 4]).all()
    assert_array_equal(found[:, [0, 1, 2, 3, 5]], table.values[:, [0, 1, 2, 3, 5]])
    with pytest.raises(InputError, match="covariates are columns by name, and X has no names"):
        plan.apply(X[GENES].to_numpy())


def test_an_empty_list_of_covariates_leaves_normal_scores():
    plan, table = FeaturePlan.learn(people()[GENES], covariates=[])
    assert abs(np.nanmean(table.values)) < 1e-9
    order = np.argsort(people()["g3"], kind="stable")
    assert (np.diff(table.values[order, 3]) >= 0).all()
    assert_array_equal(plan.apply(people()[GENES]), table.values)


class Model:
    """A name for messages."""


@pytest.mark.parametrize(
    ("learned", "new", "message"),
    [
        (GENES, ["age", "batch"], r"none of the 4 features of the model \(the first is 'g0'\)"),
        (GENES, ["g0", "g1", "g2"], "lacks 1 of the model's 4 features: 'g3'; add them, or set mi"),
        (GENES, [*GENES, "g1"], "duplicate feature names: 'g1'; make every name unique"),
        ([*GENES, "sex", "pain"], [*GENES, "sex", "sex", "pain"], "duplicate feature names: 'sex'"),
        ([*GENES, "sex"], GENES, "lacks 1 of the model's 5 features: 'sex=m'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(learned, new, message):
    plan, _ = FeaturePlan.learn(people()[learned])
    with pytest.raises(InputError, match=message):
        plan.apply(people()[new], estimator=Model())


def test_arrays_are_matched_by_place_and_counted():
    X = people()
    named, table = FeaturePlan.learn(X[GENES])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Model was fitt"):
        assert_array_equal(named.apply(X[GENES].to_numpy(), estimator=Model()), table.values)
    plan, _ = FeaturePlan.learn(X[GENES].to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but Model was fitted without featu"):
        assert_array_equal(plan.apply(X[GENES], estimator=Model()), table.values)
    with pytest.raises(InputError, match="X has 3 features, but Model is expecting 4 features as"):
        plan.apply(X[GENES[:3]].to_numpy(), estimator=Model())
    words, _ = FeaturePlan.learn(X[[*GENES, "sex"]])
    with pytest.raises(
        InputError, match=r"matched by name \('sex'\): give X as a DataFrame with na"
    ):
        words.apply(X[GENES].to_numpy())


@pytest.mark.parametrize("kind", ["frame", "array", "csr", "sparse AnnData"])
def test_cells_that_are_no_numbers_are_named(kind):
    X = people()
    plan, _ = FeaturePlan.learn(KINDS[kind](X))
    X.loc["s3", "g2"] = np.inf
    place = "row 3, column 2" if kind in ("array", "csr") else "row 's3', column 'g2'"
    for do in (FeaturePlan.learn, plan.apply):
        with pytest.raises(InputError, match=f"{place} holds an infinite value: replace it"):
            do(KINDS[kind](X))
    X.loc["s3", "g2"] = -LIMIT
    column = "2" if kind in ("array", "csr") else "'g2'"
    assert plain(plan.apply(KINDS[kind](X)))[3, 2] == -LIMIT
    for do in (FeaturePlan.learn, plan.apply):
        with pytest.raises(InputError, match=f"column {column} has cells .* but Model needs numbe"):
            do(KINDS[kind](X), exact="Model")


def test_text_that_is_no_number_is_named():
    X = people()[GENES].astype({"g1": object})
    X.loc["s4", "g1"] = "high"
    with pytest.raises(
        InputError, match="row 's4', column 'g1' holds 'high', which is not a number"
    ):
        FeaturePlan.learn(X)
    with pytest.raises(InputError, match="the table is empty: it has 40 samples and 0 features"):
        FeaturePlan.learn(X[[]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"covariates": "age"}, "covariates must be a list of column names, not 'age'"),
        ({"covariates": ["age", "age"]}, "the covariate 'age' is named more than once"),
        ({"covariates": ["weight"]}, "the table lacks 1 of 1 covariates: 'weight'"),
        ({"covariate_use": "drop"}, "covariate_use must be one of regress, block, not 'drop'"),
        ({"covariates": [*GENES, *BOTH, "sex", "pain"]}, "every column of the table is a covari"),
        ({"blocks": ["a"] * 3}, "blocks has 3 entries, but the table has 8 features"),
        ({"blocks": {"g0": "a"}}, "blocks has no entry for 7 of 8 features: 'g1', 'g2'"),
        ({"blocks": "a"}, "blocks must be a list with the block of every feature"),
        (
            {"blocks": ["covariates"] * 6, "covariates": BOTH, "covariate_use": "block"},
            "a block is called 'covariates', like the block of the covariates",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        FeaturePlan.learn(people(), **arguments)


def test_nothing_is_learned_from_new_samples():
    plan, _ = FeaturePlan.learn(people(), covariates=BOTH)
    new = people(20, seed=1)
    first = plan.apply(new)[0]
    new.loc[new.index[1:], ["g0", "age"]] = 79.0
    assert_array_equal(plan.apply(new)[0], first)
