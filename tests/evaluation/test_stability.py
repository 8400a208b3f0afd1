"""Stability: a loop by hand, resuming, interruption, any number of jobs, any kind of model."""

from __future__ import annotations

import os
import signal
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine.alignment import match_factors
from rankfactor.errors import InputError
from rankfactor.evaluation import stability
from rankfactor.evaluation.fit_folder import PROBLEM
from rankfactor.evaluation.halves import make_halves
from rankfactor.evaluation.pair_summary import _shrunken
from rankfactor.evaluation.pinned import pinned
from rankfactor.posterior.stability import Stability
from rankfactor.steps.workers import workers
from rankfactor.tasks import encode_labels

QUICK: dict[str, Any] = {"tol": 1e-2, "random_state": 0, "n_threads": 1}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n: int = 60, d: int = 8, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two factors; the first task is decided by the first of them, the second has three classes."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    loadings = np.zeros((d, 2))
    loadings[:3, 0] = loadings[3:6, 1] = 1.5
    index = pd.Index([f"s{i}" for i in range(n)])
    names = [f"f{i}" for i in range(d)]
    table = pd.DataFrame(z @ loadings.T + 0.7 * rng.standard_normal((n, d)), index, names)
    labels = pd.DataFrame(
        {"y": np.where(z[:, 0] > 0, "high", "low"), "k": np.digitize(z[:, 1], [-0.5, 0.5])}, index
    )
    return table, labels


def classifier(**settings: Any) -> RankFactorClassifier:
    return RankFactorClassifier(**{"n_factors": 2, **QUICK, **settings})


def same(one: Stability, other: Stability) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(Stability)
    )


def test_it_is_what_a_loop_by_hand_says() -> None:
    table, labels = data()
    found = stability(classifier(), table, labels, repeats=6, top=3)
    full = classifier().fit(table, labels).posterior_
    tasks, class_index = encode_labels(labels, len(table))
    halves = make_halves(tasks, class_index, n_pairs=3, groups=None, random_state=0)
    model = classifier().set_params(**pinned(classifier(), full))
    reference, effect = full.structure, full.effects.decision
    ends = np.stack([full.effects.low, full.effects.high])
    fits: list[tuple[Any, ...]] = []
    for one in halves:
        for part in (one.first, one.second):
            half = model.fit(table.iloc[part], labels.iloc[part]).posterior_
            order, sign = match_factors(half.structure, reference)
            coefficient = half.classifiers.rows.mean[:, :2] * half.samples.sd
            loadings = sign * half.structure[:, order]
            with workers(1) as pool:
                observed = half.coding.observe(table.iloc[part].to_numpy())
                moved = half.find_effects(observed, ends, pool, half.scores).decision
            fits.append((moved, loadings, sign * coefficient[:, order]))
    whole = effect, reference, full.classifiers.rows.mean[:, :2] * full.samples.sd
    for place, name in enumerate(("effect_sd", "loading_sd", "coefficient_sd")):
        values = np.array([fit[place] for fit in fits])
        sd = np.sqrt(((values[::2] - values[1::2]) ** 2).sum(axis=0) / 4 / 3)
        ratio = whole[place] / values.mean(axis=0)
        sd *= np.where(ratio < 0, 2.0, np.clip(ratio, 1.0, 2.0))
        np.testing.assert_allclose(getattr(found, name), sd, rtol=1e-10)
    first = [
        (np.argsort(np.argsort(-abs(fit[0]), axis=1), axis=1) < 3) & (fit[0] * effect > 0)
        for fit in fits
    ]
    np.testing.assert_allclose(found.effect_selected, np.mean(first, axis=0))
    first = [
        (np.argsort(np.argsort(-abs(fit[1]), axis=0), axis=0) < 3) & (fit[1] * reference > 0)
        for fit in fits
    ]
    np.testing.assert_allclose(found.loading_selected, np.mean(first, axis=0))
    cosines = [
        np.abs((fit[1] * reference).sum(axis=0))
        / np.linalg.norm(fit[1], axis=0)
        / np.linalg.norm(reference, axis=0)
        for fit in fits
    ]
    np.testing.assert_allclose(found.factor_match, np.mean(cosines, axis=0))
    assert (found.n_fits, found.n_pairs, found.top) == (6, 3, 3)


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_jobs_or_on_who_fits_the_whole() -> None:
    table, labels = data()
    one = stability(classifier(), table, labels, repeats=4)
    assert same(one, stability(classifier(), table, labels, repeats=4, n_jobs=2))
    full = classifier().fit(table, labels).posterior_
    assert same(one, stability(classifier(), table, labels, repeats=4, posterior=full))
    assert not same(one, stability(classifier(), table, labels, repeats=4, random_state=1))


def test_an_estimator_without_a_seed_gets_one() -> None:
    table, labels = data()
    model = classifier(random_state=None)
    assert same(
        stability(model, table, labels["y"], repeats=4),
        stability(model, table, labels["y"], repeats=4),
    )


def test_features_that_drive_are_selected_and_noise_is_not() -> None:
    table, labels = data(n=120, d=20)
    found = stability(classifier(), table, labels["y"], repeats=10, top=3)
    assert found.effect_selected[0, :3].min() >= 0.9
    assert found.effect_selected[0, 6:].max() <= 0.2
    assert found.factor_match.min() > 0.9


@pytest.mark.slow
def test_the_sd_is_that_of_a_full_fit_over_new_tables() -> None:
    tables = [data(n=200, seed=seed) for seed in range(12)]
    first = classifier().fit(tables[0][0], tables[0][1]["y"]).posterior_.structure
    others = []
    for table, labels in tables:
        loadings = classifier().fit(table, labels["y"]).posterior_.structure
        order, sign = match_factors(loadings, first)
        others.append(sign * loadings[:, order])
    found = stability(classifier(), tables[0][0], tables[0][1]["y"], repeats=20).loading_sd
    zero = np.abs(first) < 0.4
    ratio = np.sqrt((found[zero] ** 2).mean() / np.var(others, axis=0, ddof=1)[zero].mean())
    assert 0.7 < ratio < 1.4


def test_halves_that_are_shrunken_more_say_by_how_much() -> None:
    full, halves = np.array([1.0, 1.0, 1.0, -1.0, 0.0]), np.array([0.8, 2.0, 0.1, 0.5, 0.0])
    np.testing.assert_allclose(_shrunken(full, halves), [1.25, 1.0, 2.0, 2.0, 2.0])


def test_without_labels_there_are_loadings_only() -> None:
    table, _ = data()
    found = stability(RankFactorAnalysis(n_factors=2, **QUICK), table, repeats=4)
    assert found.effect_sd.shape == found.effect_selected.shape == (0, 8)
    assert found.coefficient_sd.shape == (0, 2)
    assert found.loading_sd.shape == (8, 2)
    assert found.top == 2


def test_three_classes_have_a_row_each_and_missing_labels_do_no_harm() -> None:
    table, labels = data()
    given = labels["k"].astype(object)
    given.iloc[::5] = None
    found = stability(classifier(), table, given, repeats=4)
    assert found.effect_sd.shape == (3, 8)
    assert (found.effect_sd > 0).all()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_tables_of_any_kind(kind: Any) -> None:
    table, labels = data()
    table = table.where(table > 0, 0.0)
    named = stability(classifier(), table, labels["y"], repeats=4)
    other = stability(classifier(), kind(table.to_numpy()), labels["y"].to_numpy(), repeats=4)
    assert same(named, other)


def test_a_feature_that_is_constant_in_a_half_has_no_effect_there() -> None:
    table, labels = data()
    table["rare"] = 0.0
    table.iloc[[0], -1] = 1.0  # one of two halves of every pair does not have it
    table["word"] = np.where(np.arange(len(table)) == 1, "b", "a")
    table["never"] = 3.0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = stability(classifier(), table, labels["y"], repeats=4)
    texts = [str(one.message) for one in told]
    assert sum("half-sample fits: " in text and "are constant" in text for text in texts) == 1
    assert found.effect_sd.shape == (1, 10)  # the constant feature is not in the model
    assert np.isfinite(found.effect_sd).all()


def test_choices_of_the_full_fit_are_kept() -> None:
    table, labels = data(n=80, d=45)
    estimator = RankFactorClassifier("R-NL-BSVM", n_factors="auto", **QUICK)
    full = estimator.fit(table, labels["y"]).posterior_
    model = classifier().set_params(**estimator.get_params()).set_params(**pinned(estimator, full))
    half = model.fit(table.iloc[::2], labels["y"].iloc[::2]).posterior_
    assert half.n_factors == full.n_factors
    assert half.model.data == full.model.data
    assert half.model.linear == full.model.linear
    assert half.training == full.training
    assert (half.classifiers.residual is None) == (full.classifiers.residual is None)
    assert (half.classifiers.scale == 1).all()


def test_a_small_table_of_many_choices() -> None:
    table, labels = data()
    mixed = RankFactorClassifier("R-NL-BSVM", n_factors=2, experts="mixed", n_components=2, **QUICK)
    full = mixed.fit(table, labels["y"]).posterior_
    assert pinned(mixed, full)["experts"] == "mixed"
    weighed = classifier(training="predictive", label_weight="auto")
    full = weighed.fit(table, labels["y"]).posterior_
    assert pinned(weighed, full)["label_weight"] == weighed.label_weight_
    with pytest.raises(InputError, match="only the fitted estimator knows"):
        pinned(classifier(training="predictive", label_weight="auto"), full)
    kept = classifier(engine=Gibbs(n_draws=4, burn_in=2, checkpoint="here", n_chains=2))
    assert pinned(kept, full)["engine"].checkpoint is None


def test_the_positive_class_of_the_posterior_does_not_matter() -> None:
    table, labels = data()
    full = classifier().fit(table, labels["y"]).posterior_
    usual = stability(classifier(), table, labels["y"], repeats=4, posterior=full)
    turned = full.with_positive({"y": "high"})
    assert turned is not full
    assert (turned.effects.decision == -full.effects.decision).all()
    assert same(usual, stability(classifier(), table, labels["y"], repeats=4, posterior=turned))


def test_a_resumed_run_is_the_uninterrupted_one_to_the_bit(tmp_path: Path) -> None:
    table, labels = data()
    whole = stability(classifier(), table, labels, repeats=8)
    stability(classifier(), table, labels, repeats=4, folder=tmp_path / "pairs")
    stored = {path: path.read_bytes() for path in (tmp_path / "pairs").glob("pair-*.zip")}
    assert len(stored) == 2
    calls: list[tuple[Any, ...]] = []
    again = stability(
        classifier(),
        table,
        labels,
        repeats=8,
        folder=tmp_path / "pairs",
        resume=True,
        progress=lambda *step: calls.append(step),
    )
    assert same(again, whole)
    done = [step[1:] for step in calls if step[0] == "Pairs of half-samples"]
    assert done == [(2, 4), (3, 4), (4, 4)]
    assert all(path.read_bytes() == content for path, content in stored.items())


def test_warnings_of_stored_pairs_are_given_again(tmp_path: Path) -> None:
    table, labels = data()
    table["rare"] = np.arange(len(table)) == 0

    def said(resume: bool) -> list[str]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            stability(classifier(), table, labels["y"], repeats=4, folder=tmp_path, resume=resume)
        return [str(one.message) for one in told]

    texts = said(False)
    assert any(text.startswith("in 2 of 4 half-sample fits: 1 of 9 features") for text in texts)
    assert said(True) == texts


def test_a_folder_of_another_problem_is_refused(tmp_path: Path) -> None:
    table, labels = data()

    def resumed(model: Any, *tables: Any, **more: Any) -> None:
        stability(model, *tables, repeats=4, folder=tmp_path, resume=True, **more)

    resumed(classifier(), table, labels["y"])
    with pytest.raises(InputError, match=r"half-samples of another problem \(the table differs\)"):
        resumed(classifier(), table + 1.0, labels["y"])
    with pytest.raises(InputError, match="the labels or their weights differ"):
        resumed(classifier(), table, labels["k"])
    with pytest.raises(InputError, match="n_factors is 2 there and 3 here"):
        resumed(classifier(n_factors=3), table, labels["y"])
    with pytest.raises(InputError, match="random_state differs"):
        resumed(classifier(), table, labels["y"], random_state=1)
    with pytest.raises(InputError, match="the groups differ"):
        resumed(classifier(), table, labels["y"], groups=np.arange(60) // 2)
    with pytest.raises(InputError, match="set random_state to a whole number"):
        resumed(classifier(), table, labels["y"], random_state=None)
    (tmp_path / "pair-0001.zip").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(InputError, match="is damaged"):
        resumed(classifier(), table, labels["y"])
    (tmp_path / PROBLEM).write_text("{")
    with pytest.raises(InputError, match=r"problem.json cannot be read"):
        resumed(classifier(), table, labels["y"])


def test_without_resume_pairs_of_an_earlier_run_are_computed_again(tmp_path: Path) -> None:
    table, labels = data()
    stability(classifier(), table, labels["y"], repeats=6, folder=tmp_path)
    other = stability(classifier(n_factors=1), table, labels["y"], repeats=4, folder=tmp_path)
    assert other.loading_sd.shape == (8, 1)
    assert len(list(tmp_path.glob("pair-*.zip"))) == 2


class Impatient(RankFactorClassifier):  # type: ignore[misc]
    """Gets Ctrl-C in one of its fits, and keeps what it has of it, as the factor models do."""

    fits: ClassVar[int] = 0
    last: ClassVar[int] = 0

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        Impatient.fits += 1
        result = super().fit(X, y, groups)
        if Impatient.fits == Impatient.last:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                return result
        return result


def test_ctrl_c_keeps_finished_pairs(tmp_path: Path) -> None:
    table, labels = data()
    model = Impatient(n_factors=2, **QUICK)
    # The first fit is that to all samples; the seventh begins the fourth pair.
    Impatient.fits, Impatient.last = 0, 8
    with pytest.warns(UserWarning, match="interrupted: 3 of 5 pairs of half-samples"):
        found = stability(model, table, labels["y"], repeats=10, folder=tmp_path)
    assert found.n_pairs == 3
    assert len(list(tmp_path.glob("pair-*.zip"))) == 3
    Impatient.last = 0
    assert same(found, stability(model, table, labels["y"], repeats=6))
    again = stability(model, table, labels["y"], repeats=10, folder=tmp_path, resume=True)
    assert same(again, stability(model, table, labels["y"], repeats=10))


@pytest.mark.parametrize("last", [1, 4])
def test_ctrl_c_before_two_pairs_is_raised(last: int) -> None:
    table, labels = data()
    Impatient.fits, Impatient.last = 0, last
    with pytest.raises(KeyboardInterrupt):
        stability(Impatient(n_factors=2, **QUICK), table, labels["y"], repeats=10)


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    table, labels = data()
    with pytest.raises(InputError, match="not a LogisticRegression"):
        stability(LogisticRegression(), table, labels["y"])
    with pytest.raises(InputError, match="repeats must be"):
        stability(classifier(), table, labels["y"], repeats=0)
    with pytest.raises(InputError, match="top must be"):
        stability(classifier(), table, labels["y"], top=0)
    with pytest.raises(InputError, match=r"n_factors=8 needs .* has 6: lower n_factors"):
        stability(classifier(n_factors=8), table[:12], labels["y"][:12], repeats=4)
    few = labels["y"].where(labels["y"] == "low")
    few.iloc[3] = "high"
    with pytest.raises(InputError, match="1 sample of class 'high'"):
        stability(classifier(), table, few)
    full = classifier().fit(table, labels["y"]).posterior_
    with pytest.raises(InputError, match="posterior was not fitted to this table"):
        stability(classifier(), table, labels["k"], posterior=full)
    with pytest.raises(InputError, match="posterior was not fitted to this table"):
        stability(classifier(), table[:40], labels["y"][:40], posterior=full)
