import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, InputError, RankFactorAnalysis, RankFactorClassifier
from rankfactor.estimators import PRESETS
from rankfactor.likelihoods import Gaussian, MarginRank, Probit
from rankfactor.shrinkage import TPBN

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small(model="R-L-BSVM", **settings):
    settings = {"n_factors": 3, "max_iter": 15, "random_state": 0} | settings
    return RankFactorClassifier(model, **settings)


@pytest.fixture(scope="module")
def data():
    simulated = simulate(n=120, d=20, k=3, noise=0.3)
    names = [f"gene{i}" for i in range(20)]
    index = [f"s{i}" for i in range(120)]
    table = pd.DataFrame(with_holes(simulated.X, 0.03), index=index, columns=names)
    three = np.array(["low", "mid", "high"])[np.digitize(simulated.scores[:, 1], [-0.6, 0.6])]
    labels = pd.DataFrame(
        {"sick": np.where(simulated.y == 1, "yes", "no"), "dose": three}, index=index
    )
    labels.loc["s3", "dose"] = np.nan
    return table, labels


@pytest.mark.parametrize("model", PRESETS)
def test_presets_learn(model, data):
    table, labels = data
    train, test = slice(0, 80), slice(80, 120)
    fitted = small(model, max_iter=100).fit(table.iloc[train], labels["sick"].iloc[train])
    assert fitted.score(table.iloc[test], labels["sick"].iloc[test]) > 0.8
    assert_array_equal(fitted.classes_, ["no", "yes"])
    assert fitted.loadings_.shape == (20, 3)
    assert fitted.coef_.shape == fitted.joint_coef_.shape == (1, 3)
    assert fitted.intercept_.shape == (1,)
    assert fitted.scores_.shape == (80, 3)
    assert 0 < fitted.n_active_ <= 3
    assert fitted.n_iter_ == len(fitted.posterior_.elbo) - 1
    assert_array_equal(fitted.feature_names_in_, table.columns)


AUTO = {
    "rank": ({}, "label-free"),
    "gaussian": ({"model": "G-L-Probit"}, "label-free"),
    "ordinal": ({"likelihood": "ordinal_probit"}, "label-free"),
    "local": ({"model": "R-NL-BSVM", "experts": "mixed", "n_components": 3}, "predictive"),
    "kernel": ({"model": "R-NL-BSVM", "experts": "kernel"}, "label-free"),
    "ordinary rank": ({"model": "OR-L-BSVM"}, "label-free"),
    "mixture": ({"model": "G-NL-BSVM", "experts": "per_component", "n_components": 3}, "bayes"),
    "sampler": ({"model": "G-L-BSVM", "engine": Gibbs(n_draws=4, burn_in=2, n_chains=2)}, "bayes"),
}


@pytest.mark.parametrize("case", AUTO)
def test_default_training_is_label_free_where_there_is_such(case, data, monkeypatch):
    monkeypatch.setattr("rankfactor.engine.fit_settings.FEW_FEATURES", 19)  # the table has 20
    table, labels = data
    arguments, training = AUTO[case]
    settings = {"max_iter": 3, "calibration": "none", **arguments}
    one = small(**settings).fit(table, labels["sick"])
    assert one.training == "auto"
    assert one.posterior_.training == training
    other = small(training=training, **settings).fit(table, labels["sick"])
    assert_array_equal(one.decision_function(table), other.decision_function(table))


@pytest.mark.parametrize(
    ("n_samples", "model", "training"),
    [
        (499, "R-L-BSVM", "label-free"),
        (500, "R-L-BSVM", "predictive"),
        (500, "OR-L-BSVM", "label-free"),
    ],
)
def test_default_training_is_predictive_where_samples_are_many(n_samples, model, training):
    """Where the likelihood has it."""
    estimator = RankFactorClassifier(model)
    settings = estimator._classifier_settings(estimator._build_model())
    assert settings.trains(estimator._build_model(), n_samples, 100) == training


@pytest.mark.parametrize("n_factors", [1, 25])
@pytest.mark.parametrize(("n_features", "training"), [(40, "bayes"), (41, "label-free")])
def test_default_training_is_joint_where_features_are_few(n_factors, n_features, training):
    """Whatever the number of factors."""
    simulated = simulate(60, n_features)
    constant = np.zeros((60, 3))  # counts for nothing
    table = np.column_stack([simulated.X, constant])
    model = RankFactorClassifier(
        n_factors=n_factors, max_iter=2, calibration="none", random_state=0
    )
    with pytest.warns(UserWarning, match=f"3 of {n_features + 3} features are constant"):
        model.fit(table, simulated.y)
    assert model.posterior_.training == training


MARGIN = {
    "few": ({}, 5, 0.2),
    "some": ({}, 16, 0.125),
    "many": ({}, 40, 0.05),
    "given": ({"margin": 0.05}, 5, 0.05),
    "part": ({"likelihood": MarginRank()}, 5, 0.05),
    "name": ({"likelihood": "margin_rank"}, 5, 0.2),
}


@pytest.mark.parametrize("case", MARGIN)
def test_default_margin_is_larger_where_features_are_few(case):
    arguments, n_features, margin = MARGIN[case]
    simulated = simulate(40, n_features)
    model = small(max_iter=1, calibration="none", **arguments).fit(simulated.X, simulated.y)
    assert model.posterior_.model.data.margin == margin
    fitted = model.posterior_.params
    assert_allclose(fitted.margin * fitted.n_cuts, 32 * margin)


def test_default_margin_leaves_other_likelihoods_alone(data):
    table, labels = data
    model = small(model="G-L-BSVM", max_iter=1, calibration="none").fit(table, labels["sick"])
    assert not hasattr(model.posterior_.model.data, "margin")


def test_default_training_checks_the_label_weight_where_it_counts(data):
    table, labels = data
    with pytest.raises(InputError, match="label_weight must be a number or 'auto'"):
        small(label_weight="much").fit(table, labels["sick"])
    small(label_weight="much", training="bayes", max_iter=2).fit(table, labels["sick"])


def test_explicit_parts_override_the_preset(data):
    table, labels = data
    fitted = small(
        likelihood=MarginRank(margin=0.1, max_cuts=5),
        classifier="probit",
        shrinkage=TPBN(1.0, 0.5),
    ).fit(table, labels["sick"])
    model = fitted.posterior_.model
    assert model.data == MarginRank(margin=0.1, max_cuts=5)
    assert model.label == Probit()
    assert model.loading_shrinkage == TPBN(1.0, 0.5)
    assert (
        small(likelihood="gaussian").fit(table, labels["sick"]).posterior_.model.data == Gaussian()
    )


def test_several_label_columns_share_the_factors(data):
    table, labels = data
    fitted = small(max_iter=60).fit(table, labels)
    assert [list(c) for c in fitted.classes_] == [["no", "yes"], ["high", "low", "mid"]]
    assert fitted.coef_.shape == (4, 3)
    sick, dose = fitted.decision_function(table)
    assert sick.shape == (120,)
    assert dose.shape == (120, 3)
    predicted = fitted.predict(table)
    assert predicted.shape == (120, 2)
    known = labels["dose"].notna().to_numpy()
    assert (predicted[known, 1] == labels["dose"][known]).mean() > 0.6
    both = np.mean(
        [
            (predicted[:, 0] == labels["sick"]).mean(),
            (predicted[known, 1] == labels["dose"][known]).mean(),
        ]
    )
    assert fitted.score(table, labels) == pytest.approx(both)


@pytest.mark.parametrize("model", PRESETS)
@pytest.mark.quick_cases("R-L-BSVM", "G-L-Probit", "R-NL-BSVM")
def test_probabilities_never_disagree_with_predictions(model, data):
    table, labels = data
    fitted = small(model).fit(table, labels)
    rng = np.random.default_rng(1)
    new = pd.DataFrame(rng.standard_normal((300, 20)) * 3, columns=table.columns)
    new = new.mask(rng.random(new.shape) < 0.3)
    predicted = fitted.predict(new)
    for column, (p, classes) in enumerate(
        zip(fitted.predict_proba(new), fitted.classes_, strict=True)
    ):
        assert_allclose(p.sum(axis=1), 1)
        assert_array_equal(classes[p.argmax(axis=1)], predicted[:, column])


def test_scores_are_what_transform_gives(data):
    table, labels = data
    fitted = small().fit(table, labels["sick"])
    assert_allclose(fitted.transform(table), fitted.scores_, atol=1e-10)
    assert_array_equal(fitted.get_feature_names_out(), ["factor1", "factor2", "factor3"])
    analysis = RankFactorAnalysis(n_factors=3, max_iter=15, random_state=0)
    assert_allclose(analysis.fit_transform(table), analysis.transform(table), atol=1e-10)


def test_factors_come_in_order_of_their_share(data):
    table, labels = data
    posterior = small(n_factors=6).fit(table, labels["sick"]).posterior_
    assert (np.diff(posterior.shares) <= 0).all()
    assert posterior.shares.sum() == pytest.approx(posterior.r2)
    assert 0.5 < posterior.r2 < 1


@pytest.mark.slow
def test_class_weight_moves_the_intercept(data):
    table, _ = data
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(120) < 0.15, "rare", "common")
    plain = small().fit(table, rare)
    balanced = small(class_weight="balanced").fit(table, rare)
    rare_column = list(plain.classes_).index("rare")
    assert (
        balanced.predict_proba(table)[:, rare_column].mean()
        > plain.predict_proba(table)[:, rare_column].mean() + 0.1
    )
    counts = {
        "rare": 120 / (2 * (rare == "rare").sum()),
        "common": 120 / (2 * (rare != "rare").sum()),
    }
    by_hand = small(class_weight=counts).fit(table, rare)
    assert_allclose(by_hand.coef_, balanced.coef_)


def test_class_weight_by_task(data):
    table, labels = data
    fitted = small(class_weight={"sick": "balanced"}).fit(table, labels)
    assert fitted.coef_.shape == (4, 3)
    with pytest.raises(InputError, match="class_weight names 'nobody', which is not a task"):
        small(class_weight={"nobody": "balanced"}).fit(table, labels)


def test_missing_columns_are_named_or_treated_as_missing(data):
    table, labels = data
    fitted = small().fit(table, labels["sick"])
    fewer = table.drop(columns=["gene3", "gene7"])
    with pytest.raises(InputError, match="lacks 2 of the model's 20 features: 'gene3', 'gene7'"):
        fitted.predict(fewer)
    fitted.set_params(missing_features="missing")
    holed = table.assign(gene3=np.nan, gene7=np.nan)
    assert_array_equal(fitted.decision_function(fewer), fitted.decision_function(holed))
    with pytest.raises(InputError, match="none of the 20 features"):
        fitted.predict(table.T)


def test_names_that_appear_or_vanish_are_warned_about(data):
    table, labels = data
    fitted = small().fit(table, labels["sick"])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(table.to_numpy())
    unnamed = small().fit(table.to_numpy(), labels["sick"].to_numpy())
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        unnamed.predict(table)


def test_same_seed_same_answer(data):
    table, labels = data
    one, two = (small(n_factors=5, n_restarts=2).fit(table, labels["sick"]) for _ in range(2))
    assert_array_equal(one.loadings_, two.loadings_)
    assert clone(one).get_params() == one.get_params()


BAD = {
    "n_factors=0": ({"n_factors": 0}, "n_factors must be a whole number of at least 1, not 0"),
    "n_factors text": ({"n_factors": "20"}, "n_factors must be a whole number"),
    "n_factors bool": ({"n_factors": True}, "n_factors must be a whole number"),
    "too many": ({"n_factors": 121}, "needs at least as many samples, but the table has 120"),
    "margin": ({"margin": -1.0}, "margin must be a positive number"),
    "margin text": ({"margin": "wide"}, "margin must be a positive number"),
    "max_cuts": ({"max_cuts": 255}, "max_cuts must be at most 254"),
    "model": ({"model": "R-X"}, r"model must be one of .*R-L-BSVM \(rank\), .*not \'R-X\'"),
    "likelihood": ({"likelihood": "poisson"}, "likelihood must be one of gaussian, margin_rank"),
    "engine": ({"engine": "hmc"}, "engine must be one of vb, gibbs, not 'hmc'"),
    "likelihood part": ({"likelihood": Probit()}, "is not a likelihood for data"),
    "classifier part": ({"classifier": Gaussian()}, "is not a likelihood for labels"),
    "shrinkage": ({"shrinkage": "lasso"}, "shrinkage must be one of tpbn"),
    "training": (
        {"training": "magic"},
        "training must be one of auto, bayes, label-free, predictive",
    ),
    "tol": ({"tol": -1}, "tol must be a number of at least 0"),
    "max_iter": ({"max_iter": 0}, "max_iter must be a whole number"),
    "threads": ({"n_threads": 0}, "n_threads must be a whole number"),
    "class_weight": ({"class_weight": "even"}, "class_weight must be None, 'balanced'"),
    "class_weight class": ({"class_weight": {"maybe": 2.0}}, "is not a class of 'sick'"),
    "class_weight sign": ({"class_weight": {"yes": -2.0}}, "positive, finite numbers"),
    "missing_features": ({"missing_features": "guess"}, "must be 'error' or 'missing'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_get_one_sentence(case, data):
    arguments, message = BAD[case]
    table, labels = data
    with pytest.raises(InputError, match=message) as caught:
        small(**arguments).fit(table, labels["sick"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-Probit"])
def test_gibbs(model, data):
    table, labels = data
    train, test = slice(0, 80), slice(80, 120)
    engine = Gibbs(n_draws=30, burn_in=30, n_predict=6, n_chains=2)
    fitted = small(model, engine=engine, max_iter=100)
    fitted.fit(table.iloc[train], labels.iloc[train])
    draws = fitted.posterior_.draws
    assert draws.loadings.shape[0] == 60
    assert len(draws.classifiers) == len(draws.chosen) == 6
    new = table.iloc[test]
    assert fitted.score(new, labels.iloc[test]) > 0.7
    p = fitted.predict_proba(new)
    assert_array_equal(fitted.classes_[1][p[1].argmax(axis=1)], fitted.predict(new)[:, 1])
    one = fitted.predict_interval(new)[0]
    f = fitted.decision_function(new)[0]
    assert (one[:, 0] < f).all()
    assert (f < one[:, 1]).all()
    again = small(model, engine=engine, max_iter=100, n_threads=1)
    assert_array_equal(again.fit(table.iloc[train], labels.iloc[train]).predict_proba(new)[0], p[0])


def test_intervals_widen_with_their_level(data):
    table, labels = data
    fitted = small().fit(table, labels)
    narrow, wide = fitted.predict_interval(table, 0.5), fitted.predict_interval(table, 0.99)
    assert narrow[0].shape == (120, 2)
    assert narrow[1].shape == (120, 3, 2)
    for one, other in zip(narrow, wide, strict=True):
        assert (np.diff(one, axis=-1) < np.diff(other, axis=-1)).all()
    with pytest.raises(InputError, match="level must be a number between 0 and 1"):
        fitted.predict_interval(table, 90)


def test_bad_settings_of_the_sampler():
    for arguments, message in [
        ({"n_draws": 1}, "n_draws must be at least 2"),
        ({"burn_in": -1}, "burn_in must be a whole number"),
        ({"thin": 0}, "thin must be a whole number"),
        ({"memory": 0}, "memory must be a positive number of megabytes"),
    ]:
        with pytest.raises(InputError, match=message):
            Gibbs(**arguments)


def test_memory_thins_what_is_kept(data):
    table, labels = data
    tight, roomy = (
        small(engine=Gibbs(n_draws=40, burn_in=5, n_chains=1, memory=memory))
        .fit(table, labels["sick"])
        .posterior_
        for memory in (0.2, 500.0)
    )
    thinned = np.isin(roomy.draws.sweep, tight.draws.sweep)
    assert_array_equal(thinned, np.arange(40) % 2 == 1)
    # Parameters are means over the kept draws and set the unit of the scores, which are encoded
    # with them (sd of the unit over 30 seeds: 0.006). In its unit, the chain is the same.
    unit = (tight.rows.mean / roomy.rows.mean).mean(axis=0)
    assert_allclose(unit, 1.0, atol=0.05)
    # Means use all draws all the same.
    assert_allclose(tight.rows.mean, roomy.rows.mean * unit, rtol=1e-7)
    units = np.outer(unit, unit)[np.triu_indices(3)]
    assert_allclose(tight.rows.cov, roomy.rows.cov * units, rtol=1e-6, atol=1e-9)
    # Draws are kept in single precision.
    assert_allclose(tight.draws.loadings, roomy.draws.loadings[thinned] * unit, rtol=1e-6)


def test_bad_tables_get_one_sentence(data):
    table, labels = data
    y = labels["sick"]
    text = table.astype(object)
    text.loc["s5", "gene2"] = "high"
    with pytest.raises(
        InputError, match="row 's5', column 'gene2' holds 'high', which is not a number"
    ):
        small().fit(text, y)
    infinite = table.copy()
    infinite.loc["s7", "gene4"] = np.inf
    with pytest.raises(InputError, match="row 's7', column 'gene4' holds an infinite value"):
        small().fit(infinite, y)
    with pytest.raises(InputError, match="row 7, column 4 holds an infinite value"):
        small().fit(infinite.to_numpy(), y)
    twice = table.rename(columns={"gene1": "gene0"})
    with pytest.raises(InputError, match="duplicate feature names: 'gene0'"):
        small().fit(twice, y)
    with pytest.raises(InputError, match="the table is empty: it has 0 samples and 20 features"):
        small().fit(table.iloc[:0], y.iloc[:0])
    with pytest.raises(InputError, match="the table is empty: it has 120 samples and 0 features"):
        small().fit(table.iloc[:, :0], y)
    with pytest.raises(InputError, match="no feature varies"):
        small().fit(table * 0 + 1, y)


def test_bad_labels_get_one_sentence(data):
    table, labels = data
    with pytest.raises(InputError, match=r"'sick' has only one class \(no\)"):
        small().fit(table, labels["sick"].where(labels["sick"] == "no"))
    with pytest.raises(InputError, match="every label of 'sick' is missing"):
        small().fit(table, labels["sick"].where(labels["sick"] == "nothing"))
    with pytest.raises(InputError, match="has 120 samples but 'sick' has 119 labels"):
        small().fit(table, labels["sick"].iloc[:119])
    with pytest.raises(InputError, match="same samples in different orders"):
        small().fit(table, labels["sick"].iloc[::-1])
    with pytest.raises(ValueError, match="Unknown label type"):
        small().fit(table, np.linspace(0, 1, 120))
