"""Tables of leading features, coefficients and factors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.plots.models import (
    CHINESE,
    LONG,
    QUOTES,
    SCRIPT,
    table,
    unsupervised,
    with_coefficients,
    with_stability,
)
from tests.plots.models import two_tasks as fitted

from rankfactor.errors import InputError
from rankfactor.interpret import coefficient_table, factor_table, top_features
from rankfactor.posterior import Posterior
from rankfactor.storage.model_file import load_model, save_model

FIXTURES = Path(__file__).parents[1] / "fixtures"
FIRST = [
    SCRIPT,
    QUOTES,
    LONG,
    CHINESE,
]  # follow the factor that makes the group; the last inversely


def negated(posterior: Posterior, factor: int) -> Posterior:
    """The same model with the sign of one factor flipped."""
    k = posterior.n_factors
    sign = np.ones(k)
    sign[factor] = -1.0
    variance = posterior.variance.reordered(np.arange(k), sign)
    return replace(posterior.transformed(np.diag(sign)), variance=variance)


def test_the_leading_features_say_in_which_class_they_are_high() -> None:
    found = top_features(fitted(), 13)
    X, labels = table()
    own = found[found["feature"].isin(FIRST)]
    first = own.loc[own["loading"].abs().groupby(own["feature"]).idxmax()].set_index("feature")
    high = labels["group"] == "case <b>"
    for name in FIRST:
        up = X.loc[high, name].mean() > X.loc[~high, name].mean()
        said = "case <b>" if up else "control & co"
        assert f"group: {said}" in first.loc[name, "higher_in"]
    assert (first.loc[CHINESE, "higher_in"]) != first.loc[SCRIPT, "higher_in"]


def test_ranks_sizes_and_rates() -> None:
    posterior = fitted()
    found = top_features(posterior, 100, factor=1)
    assert found["factor"].unique().tolist() == ["Factor 2"]
    assert found["rank"].tolist() == list(
        range(1, 13)
    )  # 12 features vary: the constant is not there
    assert "constant" not in set(found["feature"])
    assert found["loading"].abs().is_monotonic_decreasing
    place = [posterior.feature_names.tolist().index(name) for name in found["feature"]]
    np.testing.assert_allclose(found["loading"], posterior.structure[place, 1])
    pattern = np.linalg.solve(posterior.factor_correlations, posterior.structure[place].T)[1]
    np.testing.assert_allclose(found["pattern"], pattern)
    assert found[["sd", "low", "high", "lfsr", "clear"]].isna().all(axis=None)
    assessed = with_stability(posterior)
    known = top_features(assessed, 100, factor=1)
    rows = np.searchsorted(posterior.coding.columns, place)
    np.testing.assert_allclose(known["sd"], assessed.stability.loading_sd[rows, 1])
    assert known["clear"].any()
    assert not known["clear"].all()
    assert ((known["low"] > 0) | (known["high"] < 0))[known["clear"].to_numpy(bool)].all()
    assert (np.sign(found["loading"]) == found["sign"]).all()
    pd.testing.assert_frame_equal(found, top_features(posterior, 100, factor="Factor 2"))
    assert top_features(posterior, 3).groupby("factor").size().max() == 3


@pytest.mark.parametrize("factor", [0, 1, 2])
def test_a_factor_has_no_sign_of_its_own(factor: int) -> None:
    posterior = with_coefficients(
        fitted(), [[0.8, 0.3, -0.5], [0.9, -0.2, 0.1], [0.4, 0.6, 0.2], [-1.1, 0.2, 0.7]]
    )
    turned = negated(posterior, factor)
    one, other = (top_features(p, 12, factor) for p in (posterior, turned))
    assert one["higher_in"].str.len().min() > 0
    for name in ("feature", "higher_in"):
        assert one[name].tolist() == other[name].tolist()
    np.testing.assert_allclose(one["loading"], -other["loading"])
    np.testing.assert_allclose(one["low"], -other["high"])
    # The words about the factor itself turn around.
    before, after = (factor_table(p)["direction"][factor] for p in (posterior, turned))
    assert before != after


def test_several_tasks_and_classes() -> None:
    posterior = with_coefficients(
        fitted(), [[0.01, 2.0, 0.0], [0.0, 0.5, 0.0], [0.0, -3.0, 0.0], [0.0, 1.0, 0.0]]
    )
    # Make the class means of the scores agree with the coefficients.
    class_index, scores = posterior.classifiers.class_index, posterior.scores.mean.copy()
    scores[:, 1] = np.where(class_index[:, 0] == 1, 1.0, -1.0) - 2.0 * (class_index[:, 1] == 1)
    posterior = replace(posterior, scores=replace(posterior.scores, mean=scores))
    found = top_features(posterior, 12, factor=1).set_index("sign")["higher_in"]
    assert set(found.loc[[1]]) == {"group: control & co; stage: not II"}
    assert set(found.loc[[-1]]) == {"group: case <b>; stage: II"}
    assert set(top_features(posterior, 12, factor=0)["higher_in"]) == {""}  # none is clear
    row = factor_table(posterior).loc[1]
    assert (row["task"], row["direction"]) == ("stage", "lower in II than in the other classes")

    opposite = replace(posterior, scores=replace(posterior.scores, mean=-scores))
    held = top_features(opposite, 12, factor=1).set_index("sign")["higher_in"]
    said = (
        "group: control & co (other factors held fixed); stage: not II (other factors held fixed)"
    )
    assert set(held.loc[[1]]) == {said}
    words = factor_table(opposite)["direction"][1]
    assert words == "with the other factors held fixed, lower values favour II"


def test_without_labels() -> None:
    posterior = unsupervised()
    assert set(top_features(posterior)["higher_in"]) == {""}
    found = factor_table(posterior)
    assert set(found["task"]) == set(found["direction"]) == {""}
    with pytest.raises(InputError, match="fitted without labels"):
        coefficient_table(posterior)


def test_coefficients_are_per_standard_deviation_of_the_scores() -> None:
    posterior = fitted()
    found = coefficient_table(posterior)
    assert found.groupby(["task", "class"], sort=False).size().to_dict() == {
        ("group", "control & co"): 3,
        ("stage", "I"): 3,
        ("stage", "II"): 3,
        ("stage", "III"): 3,
    }
    rows, sd = posterior.classifiers.rows, posterior.scores.mean.std(axis=0)
    np.testing.assert_allclose(found["coefficient"], (rows.mean[:, :3] * sd).ravel())
    assert found[["sd", "low", "high", "lfsr", "clear"]].isna().all(axis=None)
    assessed = with_stability(posterior)
    known = coefficient_table(assessed)
    np.testing.assert_allclose(known["coefficient"], found["coefficient"])
    np.testing.assert_allclose(known["sd"], assessed.stability.coefficient_sd.ravel())


@pytest.mark.parametrize("name", ["nonlinear", "mixture"])
def test_components_average_to_the_coefficients(name: str) -> None:
    posterior = load_model(FIXTURES / f"{name}_v1.rankfactor")
    experts, k = posterior.classifiers.experts, posterior.n_factors
    found = coefficient_table(posterior, by_component=True)
    share = experts.gates.responsibilities(posterior.scores.mean).mean(axis=0)
    assert found["component"].max() == len(share)
    whole = coefficient_table(posterior)
    shape = (-1, len(share), k)
    mean = np.einsum("rtk,t->rk", found["coefficient"].to_numpy().reshape(shape), share)
    np.testing.assert_allclose(mean.ravel(), whole["coefficient"], rtol=1e-8, atol=1e-12)
    assert found["clear"].isna().all()  # of one local classifier, this is never assessed
    with pytest.raises(InputError, match="model has no local classifiers"):
        coefficient_table(fitted(), by_component=True)


def test_factors() -> None:
    posterior = fitted()
    found = factor_table(posterior)
    assert found["factor"].tolist() == posterior.factor_names
    assert found["share"].sum() == pytest.approx(posterior.r2)
    assert found["in_use"].tolist() == posterior.active.tolist()
    every = [top_features(posterior, 12, factor=k) for k in range(3)]
    assert found["n_features"].isna().all()
    assessed = with_stability(posterior)
    clear = [int(top_features(assessed, 12, factor=k)["clear"].sum()) for k in range(3)]
    assert factor_table(assessed)["n_features"].tolist() == clear
    for text, one in zip(found["top_features"], every, strict=True):
        marks = np.where(one["sign"] < 0, " (inverse)", "")
        assert text == ", ".join((one["feature"] + marks).tolist()[:5])


def test_a_saved_model_says_the_same(tmp_path: Path) -> None:
    save_model(fitted(), tmp_path / "m.rankfactor")
    saved = load_model(tmp_path / "m.rankfactor")
    for make in (top_features, coefficient_table, factor_table):
        pd.testing.assert_frame_equal(make(saved), make(fitted()))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 0}, "n must be a whole number of at least 1, not 0"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"factor": 3}, "there is no factor number 3: the model has 3, from 0"),
        ({"factor": True}, "there is no factor number True"),
        ({"factor": "Factor 9"}, "no factor 'Factor 9': choose one of Factor 1 to Factor 3"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        top_features(fitted(), **arguments)
