"""Covariates as numbers, and regressed out on the rank scale."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfactor import InputError, RankFactorClassifier
from rankfactor.estimators.rank_residuals import RankResiduals
from rankfactor.features.covariates import Design, RankRegression


def people(n=80, seed=0):
    """Features that depend on age and batch, and features that do not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": rng.uniform(20, 80, n), "batch": rng.choice(["one", "two", "three"], n)},
        index=[f"s{i}" for i in range(n)],
    )
    shift = 0.05 * frame["age"] + frame["batch"].map({"one": 0.0, "two": 1.5, "three": -1.0})
    for i in range(6):
        w = rng.standard_normal(n) + (shift if i < 3 else 0.0)
        frame[f"g{i}"] = np.exp(w)
    return frame


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


@parametrize_with_checks([RankResiduals()])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_residuals_are_those_of_least_squares():
    table = people()
    residuals = RankResiduals(["age", "batch"], max_knots=1000).fit_transform(table)
    scores = ndtri((rankdata(table["g1"]) - 0.5) / len(table))
    design = np.column_stack(
        [np.ones(len(table)), table["age"], table["batch"] == "two", table["batch"] == "three"]
    ).astype(float)
    expected = scores - design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    assert_allclose(residuals[:, 1], expected, atol=1e-8)


def test_covariates_are_gone_and_the_rest_is_left():
    table = people(300)
    transformer = RankResiduals(["age", "batch"]).fit(table)
    residuals, new = transformer.transform(table), people(300, seed=1)
    for i in range(6):
        assert correlation(residuals[:, i], table["age"]) < 0.01
        assert correlation(transformer.transform(new)[:, i], new["age"]) < 0.15
    assert correlation(np.log(new["g0"]), new["age"]) > 0.4  # it was there
    assert correlation(residuals[:, 4], np.log(table["g4"])) > 0.98
    assert list(transformer.get_feature_names_out()) == [f"g{i}" for i in range(6)]


@pytest.mark.parametrize("max_knots", [5, 64])
def test_increasing_transforms_leave_every_bit_alone(max_knots):
    table, new = people(100), people(30, seed=1)
    genes = [f"g{i}" for i in range(6)]
    bent, bent_new = table.copy(), new.copy()
    bent[genes], bent_new[genes] = np.log(table[genes]), np.log(new[genes])
    one = RankResiduals(["age", "batch"], max_knots=max_knots).fit(table)
    other = RankResiduals(["age", "batch"], max_knots=max_knots).fit(bent)
    assert_array_equal(one.transform(new), other.transform(bent_new))
    assert one.regression_.knots.shape == (6, max_knots)


def test_values_between_knots_lie_between_their_scores():
    regression = RankRegression.learn(np.array([[1.0], [2.0], [2.0], [9.0]]), np.zeros((4, 0)))
    quarter = ndtri([1 / 8, 1 / 2, 7 / 8])
    new = np.array([[0.0], [1.0], [1.1], [1.9], [2.0], [5.0], [9.0], [10.0], [np.nan]])
    scores = regression.normal_scores(new, slice(0, 1))[:, 0]
    between = [(quarter[0] + quarter[1]) / 2, (quarter[1] + quarter[2]) / 2]
    ends = [quarter[0], quarter[0], between[0], between[0], quarter[1], between[1]]
    assert_allclose(scores, [*ends, quarter[2], quarter[2], np.nan], atol=1e-15)


def test_nothing_is_learned_from_new_samples():
    table, new = people(), people(40, seed=1)
    transformer = RankResiduals(["age", "batch"]).fit(table)
    whole = transformer.transform(new)
    new.loc[new.index[1:], "g0"] = 1e6
    new.loc[new.index[1:], "age"] = 79.0
    assert_array_equal(transformer.transform(new)[0], whole[0])
    assert_array_equal(transformer.transform(new.iloc[:1])[0], whole[0])


def test_what_covariates_explain_altogether_leaves_nothing():
    table = people().assign(copy=lambda one: one["batch"] == "two")
    table["copy"] = table["copy"].astype(float)
    residuals = RankResiduals(["batch"]).fit_transform(table[["copy", "batch"]])
    assert_array_equal(residuals, np.zeros((80, 1)))


def test_ties_among_people_alike_stay_ties():
    rng = np.random.default_rng(0)
    zeros = np.where(rng.random(90) < 0.6, 0.0, rng.random(90))
    table = pd.DataFrame({"count": zeros, "sex": ["f", "m", "m"] * 30})
    residuals = RankResiduals(["sex"]).fit_transform(table)[:, 0]
    for sex in ("f", "m"):
        tied = residuals[(table["sex"] == sex) & (table["count"] == 0)]
        assert len(np.unique(tied)) == 1


def test_missing_values_are_left_out_feature_by_feature():
    table = people(60)
    holes = table.copy()
    holes.loc[holes.index[:20], "g0"] = np.nan
    residuals = RankResiduals(["age"], max_knots=100).fit_transform(holes.drop(columns="batch"))
    part = holes.iloc[20:].drop(columns="batch")
    alone = RankResiduals(["age"], max_knots=100).fit_transform(part)
    assert np.isnan(residuals[:20, 0]).all()
    assert_allclose(residuals[20:, 0], alone[:, 0], atol=1e-8)


def test_missing_covariates_are_the_mean_and_said():
    table = people()
    transformer = RankResiduals(["age", "batch"]).fit(table)
    new = people(10, seed=1)
    new.loc["s3", "age"] = np.nan
    with pytest.warns(UserWarning, match="1 of 10 samples have no value of the covariate 'age'"):
        blank = transformer.transform(new)
    new.loc["s3", "age"] = table["age"].mean()
    assert_allclose(blank, transformer.transform(new), atol=1e-8)
    new.loc["s4", "batch"] = "four"
    with (
        pytest.warns(UserWarning, match="'batch' has values that it did not have .* 'four'"),
        pytest.warns(UserWarning, match="no value of the covariate 'batch'"),
    ):
        transformer.transform(new)


def test_a_covariate_that_does_not_vary_is_said_and_does_nothing():
    table = people()
    plain = RankResiduals(["age"]).fit_transform(table.drop(columns="batch"))
    for constant in (1.0, "x", np.nan):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            flat = RankResiduals(["age", "batch"]).fit_transform(table.assign(batch=constant))
        assert "the column 'batch' does not vary" in str(heard[0].message)
        assert_allclose(flat, plain, atol=1e-8)


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (["ages"], "lacks 1 of 1 covariates: 'ages'"),
        ("age", "must be a list of columns"),
        (["age", "batch", *(f"g{i}" for i in range(6))], "every column of the table is a cov"),
    ],
)
def test_covariates_that_do_not_fit_are_refused(covariates, message):
    with pytest.raises(InputError, match=message):
        RankResiduals(covariates).fit(people())


def test_bad_covariates_are_named():
    table = people().assign(id=[f"p{i}" for i in range(80)])
    with pytest.raises(InputError, match="make 79 columns, too many for 80 samples"):
        RankResiduals(["id"]).fit(table.drop(columns="batch"))
    transformer = RankResiduals(["age"]).fit(people().drop(columns="batch"))
    new = people(5).drop(columns="batch").astype(object)
    new.loc["s2", "age"] = "old"
    with pytest.raises(InputError, match="row 's2', covariate 'age' holds 'old'"):
        transformer.transform(new)
    with pytest.raises(
        InputError, match="row 's2', column 'g0' holds 'high', which is not a number"
    ):
        RankResiduals(["age"]).fit(
            people().drop(columns="batch").replace({"g0": {people()["g0"].iloc[2]: "high"}})
        )


def test_arrays_and_sparse_matrices_have_columns_by_number():
    table = people().drop(columns="batch")
    expected = RankResiduals(["age"]).fit_transform(table)
    assert_array_equal(RankResiduals([0]).fit_transform(table.to_numpy()), expected)
    matrix = sparse.csr_array(table.to_numpy())
    transformer = RankResiduals([0])
    assert_array_equal(transformer.fit_transform(matrix), expected)
    assert list(transformer.get_feature_names_out())[:2] == ["x1", "x2"]


def test_columns_are_matched_by_name():
    table = people()
    transformer = RankResiduals(["age", "batch"]).fit(table)
    shuffled = table[table.columns[::-1]].assign(other="text")
    assert_array_equal(transformer.transform(shuffled), transformer.transform(table))
    with pytest.raises(InputError, match="'g5'"):
        transformer.transform(table.drop(columns="g5"))


def test_a_design_goes_through_json():
    frame = people()[["age", "batch"]].assign(flag=True, level=pd.Categorical([1, 2] * 40))
    frame.loc["s0", "flag"] = False
    design = Design.learn(frame)
    again = Design.from_list(json.loads(json.dumps(design.to_list())))
    assert again == design
    assert_array_equal(again.matrix(frame), design.matrix(frame))
    assert design.feature_names == [
        *("age", "batch=one", "batch=three", "batch=two", "flag", "level=2"),
    ]
    assert_allclose(design.matrix(frame).mean(axis=0), 0, atol=1e-12)
    assert_array_equal(design.features(frame)[:, 1:4].sum(axis=1), np.ones(80))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow
def test_within_a_pipeline_and_cross_validation():
    table = people(90)
    y = (table["g4"] > table["g4"].median()).astype(int)
    model = RankFactorClassifier(n_factors=2, max_iter=20, random_state=0)
    pipeline = make_pipeline(RankResiduals(["age", "batch"]), model)
    assert cross_val_score(pipeline, table, y, cv=3, error_score="raise").min() > 0.5
