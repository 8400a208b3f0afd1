"""The sentences say what the numbers show, and no more."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.plots import models

from rankfactor import Gibbs, RankFactorAnalysis
from rankfactor.interpret import sentences
from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.overview import leaders
from rankfactor.interpret.wording import number, plain, rate, small
from rankfactor.posterior.convergence import Convergence


def group_factor():
    """The factor that follows the group, and in which class it is higher."""
    posterior = models.two_tasks()
    class_index = posterior.classifiers.class_index[:, 0]
    difference = posterior.scores.mean[class_index == 1].mean(axis=0) - posterior.scores.mean[
        class_index == 0
    ].mean(axis=0)
    k = int(np.abs(difference).argmax())
    return posterior, k, ["case <b>", "control & co"][int(difference[k] > 0)]


def test_fitted_direction_is_that_of_the_data():
    posterior, k, higher = group_factor()
    (first, said), *_ = sentences.strongest_factors(posterior, 0)
    assert first == k
    assert f": higher in {higher}; high " in said
    X, labels = models.table()
    # Independently of the model: where the first leading feature is higher.
    feature = said.split("; high ")[1].split(", ")[0]
    mean = X.groupby(labels["group"])[feature].mean()
    assert mean.idxmax() == higher
    assert said.startswith(f"Factor {k + 1} ({100 * posterior.shares[k]:.0f} % of the variance)")


def coefficients(k, value):
    mean = np.zeros((4, 3))
    mean[0, k] = value
    return mean


def test_direction_follows_the_sign_of_the_coefficient():
    posterior, k, higher = group_factor()
    sign = 1.0 if higher == "control & co" else -1.0
    agreeing = models.with_coefficients(posterior, coefficients(k, sign))
    assert f"higher in {higher};" in sentences.strongest_factors(agreeing, 0)[0][1]
    lower = {"case <b>": "control & co", "control & co": "case <b>"}[higher]
    # A coefficient against the class means must not be called "higher in".
    opposed = models.with_coefficients(posterior, coefficients(k, -sign))
    said = sentences.strongest_factors(opposed, 0)[0][1]
    assert f"with the other factors held fixed, higher values favour {lower};" in said
    assert "higher in" not in said
    # With the labels turned round as well, both agree again, on the other class.
    turned = replace(opposed.classifiers, class_index=opposed.classifiers.class_index.copy())
    turned.class_index[:, 0] = 1 - turned.class_index[:, 0]
    assert (
        f"higher in {lower};"
        in sentences.strongest_factors(replace(opposed, classifiers=turned), 0)[0][1]
    )


def test_direction_with_three_classes_names_the_class():
    posterior = models.two_tasks()
    class_index = posterior.classifiers.class_index[:, 1]
    scores = posterior.scores.mean
    gap = scores[class_index == 2].mean(axis=0) - scores[
        (class_index >= 0) & (class_index != 2)
    ].mean(axis=0)
    k = int(np.abs(gap).argmax())
    mean = np.zeros((4, 3))
    mean[3, k] = np.sign(gap[k])  # row 0 is the group, rows 1 to 3 are I, II and III
    said = sentences.strongest_factors(models.with_coefficients(posterior, mean), 1)[0][1]
    word = "higher" if gap[k] > 0 else "lower"
    assert f"{word} in III than in the other classes" in said


def test_only_clear_coefficients_are_mentioned_strongest_first():
    posterior = models.two_tasks()
    mean = np.zeros((4, 3))
    mean[0] = (0.3, -0.163, 0.9)
    said = sentences.strongest_factors(models.with_coefficients(posterior, mean, sd=0.1), 0)
    assert [k for k, _ in said] == [2, 0]
    assert sentences.strongest_factors(models.with_coefficients(posterior, mean, sd=1.0), 0) == []


def test_a_factor_that_only_a_classifier_uses_is_in_use():
    posterior = models.two_tasks()
    # Nearly switch the last factor off in the table, and let the labels follow it.
    rows = posterior.rows.copy()
    rows.mean[:, 2] *= 1e-4
    mean = np.zeros((4, 3))
    mean[0] = (0.5, 0.0, 5.0)
    # What the table shows of the factor is not known of these loadings: the model says it.
    faint = replace(posterior, rows=rows, variance=None)
    faint = models.with_coefficients(faint, mean, sd=0.1)
    assert faint.active.tolist() == [True, True, True]
    assert [k for k, _ in sentences.strongest_factors(faint, 0)] == [2, 0]
    unsure = models.with_coefficients(faint, mean, sd=10.0)
    assert unsure.active.tolist() == [True, True, False]


def test_strength_is_coefficient_times_spread_of_the_scores():
    posterior = models.two_tasks()
    found = directions_on(posterior, "group")
    spread = posterior.scores.mean.std(axis=0)
    rows = posterior.classifiers.rows
    for effect in found:
        mean = rows.mean[0, effect.factor]
        assert effect.coefficient == pytest.approx(mean * spread[effect.factor])
        assert effect.strength == abs(effect.coefficient)
    assert [e.strength for e in found] == sorted([e.strength for e in found], reverse=True)


def test_negative_loadings_are_called_inverse():
    posterior = models.unsupervised()
    for k in range(3):
        for text in leaders(posterior, k, 5).split(", "):
            name = text.removesuffix(" (inverse)")
            (i,) = [i for i, f in enumerate(posterior.feature_names) if str(f) == name]
            assert text.endswith(" (inverse)") == (posterior.structure[i, k] < 0)


def test_cautions():
    posterior = models.two_tasks()
    assert not posterior.converged
    said = sentences.cautions(posterior, ["mine", "mine"])
    assert said.count("Mine") == 1
    assert any("not converged after 10 iterations" in text for text in said)
    assert any("1 of 13 features are constant" in text for text in said)
    assert not any("unbalanced" in text or "only" in text for text in said)
    class_index = posterior.classifiers.class_index.copy()
    class_index[:, 0] = 0
    class_index[:7, 0] = 1
    skewed = replace(posterior, classifiers=replace(posterior.classifiers, class_index=class_index))
    said = " ".join(sentences.cautions(replace(skewed, convergence=Convergence("converged")), []))
    assert "53 of 60 samples are case <b>" in said
    assert "an accuracy of 0.88" in said
    assert "only 7 samples of control & co" in said
    assert "not converged" not in said
    few = replace(
        posterior,
        sample_names=posterior.sample_names[:20],
        scores=posterior.scores.take(slice(20)),
        classifiers=replace(
            posterior.classifiers, class_index=posterior.classifiers.class_index[:20]
        ),
    )
    assert any("only 20 samples" in text for text in sentences.cautions(few, []))


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.1234, "−0.123"), (0.0, "0.000"), (-0.0001, "0.000"), (np.nan, "–"), (12.0, "12.000")],
)
def test_numbers(value, text):
    assert number(value, 3) == text


def test_a_rate_is_never_nothing():
    assert [rate(value) for value in (0.0, 4e-4, 6e-4, 0.5)] == [
        "< 0.001",
        "< 0.001",
        "0.001",
        "0.500",
    ]
    assert [small(value) for value in (0.02, 3.21e-12)] == ["0.020", "3.2 × 10⁻¹²"]


def test_methods_name_model_settings_and_version():
    from rankfactor import __version__

    said = " ".join(sentences.methods(models.two_tasks(), 7))
    for part in ("K = 3", "max-margin rank likelihood", "margin = 0.05", "hinge", "seed 7"):
        assert part in said
    assert f"rankfactor {__version__}" in said
    alone = " ".join(sentences.methods(models.unsupervised(), None))
    assert "hinge" not in alone
    assert "seed" not in alone


def test_methods_name_the_sampler():
    rng = np.random.default_rng(0)
    engine = Gibbs(n_draws=4, burn_in=1, n_predict=2, n_chains=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = RankFactorAnalysis(n_factors=2, engine=engine, max_iter=3, random_state=0)
        posterior = fitted.fit(rng.standard_normal((20, 5))).posterior_
    said = " ".join(sentences.methods(posterior, 0))
    assert "Gibbs sampling, seed 0" in said
    assert "8 draws kept of 2 chains" in said
    assert "mean-field" not in said


def test_methods_name_the_blocks():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = RankFactorAnalysis(n_factors=2, blocks=["a"] * 2 + ["b"] * 3, max_iter=3)
        posterior = fitted.fit(rng.standard_normal((20, 5))).posterior_
    said = sentences.methods(posterior, 0)[0]
    assert "Loadings have a three-parameter beta normal shrinkage prior" in said
    assert ", with separate scales for each block, which" in said


def test_a_chosen_number_of_factors_is_said():
    assert sentences.factors_in_words(models.unsupervised()) == "3 factors"
    assert sentences.factors_in_words(models.counted()) == "2 factors (parallel analysis)"
    assert "2 of 2 factors (parallel analysis) in use" in sentences.facts(models.counted())
    facts = dict(sentences.fit_facts(models.counted()))
    assert facts["Number of factors"] == "2 factors (parallel analysis)"
    assert "Number of factors" not in dict(sentences.fit_facts(models.unsupervised()))
    said = " ".join(sentences.methods(models.counted(), None))
    assert "The model has 2 factors (parallel analysis)." in said
    assert "(60 samples used)" in said
    assert "found in the whole" not in said
    assert not any("exceeds chance" in one for one in sentences.cautions(models.counted(), []))
    assert "parallel analysis" not in " ".join(sentences.methods(models.unsupervised(), None))


def test_methods_say_that_the_limit_was_reached():
    posterior = models.counted()
    count = posterior.factor_count
    both = {"eigenvalues": count.eigenvalues[:2], "chance": count.chance[:2]}
    limited = replace(posterior, factor_count=replace(count, **both))
    assert "There may be more: 2 is the upper limit." in " ".join(sentences.methods(limited, None))
    assert "There may be more" not in " ".join(sentences.methods(posterior, None))


def test_methods_name_the_blocks_that_added_factors():
    said = " ".join(sentences.methods(models.of_blocks(), None))
    name = plain(models.SCRIPT)
    assert f"1 of them was found in the whole table, and 1 in {name} alone." in said


def test_that_no_factor_exceeds_chance_is_a_caution():
    posterior = models.none_found()
    assert any("No factor exceeds chance" in one for one in sentences.cautions(posterior, []))
    assert "No factor exceeds chance" in " ".join(sentences.methods(posterior, None))
