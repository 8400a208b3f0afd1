"""The paper's figures from small fits: what is drawn and listed, and of which samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from tests.experiments.sets import signal, split

from rankfactor.errors import InputError
from rankfactor.estimators import RankFactorClassifier
from rankfactor.experiments import mnist, rnaseq, tb, usps
from rankfactor.experiments.pictures import DIGIT_MODELS, Fits, joint_pictures
from rankfactor.experiments.problem import Problem

FITS = Fits(n_factors=2, n_threads=1)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Tables, labels and groups that models were fitted to."""
    found: list[Any] = []
    real = RankFactorClassifier.fit

    def noted(self: Any, X: Any, y: Any, groups: Any = None, **more: Any) -> Any:
        found.append((self.model, X, y, groups))
        return real(self, X, y, groups=groups, **more)

    monkeypatch.setattr(RankFactorClassifier, "fit", noted)
    return found


def images(figure: Figure) -> list[np.ndarray]:
    return [np.asarray(one.get_array()) for axes in figure.axes for one in axes.images]


@pytest.mark.quick_cases("rankfactor.experiments.mnist")
@pytest.mark.parametrize("digits", [usps, mnist])
def test_loadings_of_the_supplement_s_four_models(
    digits: Any, monkeypatch: pytest.MonkeyPatch, seen: list[Any]
) -> None:
    data = split()
    monkeypatch.setattr(digits, "load", lambda name: data)
    monkeypatch.setattr(digits, "IMAGE", (2, 4))
    steps: list[Any] = []
    fits = Fits(n_factors=2, n_threads=1, progress=lambda *step: steps.append(step))
    found = digits.pictures(fits)
    name = digits.__name__.split(".")[-1]
    expected = [f"{name}-loadings-{model}" for model in DIGIT_MODELS] + [f"{name}-loadings"]
    assert list(found.figures) == expected
    assert not found.tables
    # The training part only.
    assert [model for model, *_ in seen] == list(DIGIT_MODELS)
    train = data.table.index[(data.labels["part"] == "train").to_numpy()]
    assert all(X.index.equals(train) for _, X, _, _ in seen)
    assert steps[:2] == [(f"{name}: G-L-BSVM for figures", k, 1) for k in (0, 1)]
    for model in DIGIT_MODELS:
        figure = found.figures[f"{name}-loadings-{model}"]
        assert f"loadings of {model}" in figure.get_suptitle()
        assert all(one.shape == (2, 4) for one in images(figure))
    alone = [
        one for model in DIGIT_MODELS for one in images(found.figures[f"{name}-loadings-{model}"])
    ]
    np.testing.assert_array_equal(images(found.figures[f"{name}-loadings"]), alone)


def problem(n: int = 60) -> Problem:
    """Two joint tasks, one with unknown labels, of grouped samples."""
    X, y = signal(n, size=2.0)
    index = pd.Index([f"s{i}" for i in range(n)])
    other = np.where(np.arange(n) % 3 == 0, "x", "z").astype(object)
    other[:6] = np.nan
    table = pd.DataFrame(X, index=index, columns=[f"g{i}" for i in range(8)])
    labels = pd.DataFrame({"first": y, "second": other}, index=index)
    groups = pd.Series(np.arange(n) // 2, index=index)
    return Problem("toy.txt", table, labels, groups)


def test_joint_tasks(seen: list[Any]) -> None:
    one = problem()
    sets = {"odd": frozenset({"g1", "g3", "g5", "g7", "g0"}), "none": frozenset({"a"})}
    found = joint_pictures([one], FITS, sets=sets)
    assert list(found.figures) == ["toy-coefficients", "toy-network"]
    ((model, X, y, groups),) = seen
    assert model == "R-L-BSVM"
    assert X.equals(one.table)
    assert list(y) == ["first", "second"]
    assert groups is not None
    coefficients = found.tables["toy-coefficients"]
    assert coefficients["task"].unique().tolist() == ["first", "second"]
    top = found.tables["toy-top-200"]
    assert (top.groupby("factor").size() == 8).all()  # there are no more
    assert set(top.loc[top["rank"] <= 4, "feature"]) >= {"g1", "g3"}
    assert set(found.tables["toy-network"]["feature"]) <= set(one.table)
    assert len(found.networks["toy-network"])
    assert set(found.tables["toy-enrichment"]["set"]) <= {"odd"}
    assert "pairs" in found.figures["toy-network"].get_suptitle()
    assert any("the smallest shown" in note for note in found.notes)


def test_sets_of_other_genes_are_a_note_and_no_error() -> None:
    found = joint_pictures([problem()], FITS, sets={"other": frozenset({"a", "b"})})
    assert "toy-enrichment" not in found.tables
    assert any(note.startswith("toy: gene sets are not tested, as ") for note in found.notes)


def test_features_without_a_network_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((400, 4)), columns=list("abcd"))
    labels = pd.DataFrame({"y": np.arange(400) % 2})
    found = joint_pictures([Problem("noise", table, labels)], FITS)
    assert list(found.figures) == ["noise-coefficients"]
    assert "noise: no two features are correlated enough for a network." in found.notes


def test_an_interrupted_fit_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal as signals

    real = RankFactorClassifier.fit

    def interrupted(self: Any, *arguments: Any, **more: Any) -> Any:
        # The fit answers Ctrl-C with what it has.
        try:
            signals.raise_signal(signals.SIGINT)
        except KeyboardInterrupt:
            return real(self, *arguments, **more)

    monkeypatch.setattr(RankFactorClassifier, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        joint_pictures([problem()], FITS)


def test_sources_are_those_of_the_tables(tmp_path: Path) -> None:
    for table in (tb, rnaseq):
        with pytest.raises(InputError, match="give --series as well"):
            table.pictures(FITS, labels=["x"])
