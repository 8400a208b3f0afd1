"""The stress suite: how tables and labels are damaged, and what is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from tests.experiments.sets import archives, signal

from rankfactor.errors import InputError
from rankfactor.evaluation import cross_validate
from rankfactor.experiments import crossvalidated, stress
from rankfactor.experiments.few_labels import FewLabels, kept_labels
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.problem import Problem

QUICK: dict[str, Any] = {"n_factors": 2, "n_threads": 1, "way": "paper", "n_folds": 2}


def problem(n: int = 400, d: int = 50) -> Problem:
    """Values with a missing cell, a constant feature, an empty one and one of 0 and 1."""
    rng = np.random.default_rng(0)
    values = 5 + 3 * rng.standard_normal((n, d))
    values[0, 0] = np.nan
    values[:, 1] = 7.0
    values[:, 2] = np.nan
    values[:, 3] = rng.random(n) < 0.5
    index = pd.Index([f"s{i}" for i in range(n)])
    table = pd.DataFrame(values, index, [f"g{i}" for i in range(d)])
    return Problem("toy", table, pd.DataFrame({"y": np.arange(n) % 2}, index=index))


def seen(form: str, given: Problem | None = None, seed: int = 0) -> Problem:
    return stress.seen(given or problem(), form, seed)


def test_the_raw_scale_keeps_order_and_missing_cells() -> None:
    given, raw = problem(), seen("raw scale")
    assert raw.table.isna().equals(given.table.isna())
    assert raw.table.rank().equals(given.table.rank())
    y = (given.table["g5"] - given.table["g5"].mean()) / given.table["g5"].std(ddof=0)
    assert_allclose(raw.table["g5"], np.exp(2 * y))
    assert (raw.table["g1"] == 1).all()
    assert raw.name == "toy, raw scale"


def test_values_of_the_raw_scale_stay_finite_in_single_precision() -> None:
    spike = np.zeros((4000, 1))
    spike[0] = 1.0
    table = pd.DataFrame(spike)
    raw = seen("raw scale", Problem("spike", table, table)).table
    assert np.isfinite(raw.to_numpy(np.float32)).all()


def test_outliers_are_moved_by_twenty_standard_deviations_of_their_feature() -> None:
    given, moved = problem(), seen("1 % outliers")
    apart = (moved.table - given.table) / given.table.std(ddof=0)
    assert moved.table.isna().equals(given.table.isna())
    assert (moved.table["g1"] == 7).all()
    known = apart.drop(columns=["g1", "g2"]).to_numpy()
    known = known[~np.isnan(known)]
    assert_array_equal(np.unique(known.round(9)), [-20, 0, 20])
    assert (known != 0).mean() == pytest.approx(0.01, abs=0.003)


def test_missing_cells() -> None:
    given, holes = problem(), seen("20 % missing")
    known = given.table.notna()
    lost = known & holes.table.isna()
    assert lost.sum().sum() / known.sum().sum() == pytest.approx(0.2, abs=0.01)
    assert holes.table.equals(given.table.where(~lost))


def test_damage_depends_on_the_seed_only() -> None:
    for form in ("1 % outliers", "20 % missing"):
        first, same, other = (seen(form, seed=seed).table for seed in (0, 0, 1))
        assert first.equals(same)
        assert not first.equals(other)


def test_who_gets_the_log_scale() -> None:
    given = problem()
    counts = Problem("counts", np.exp(given.table + 4), given.labels)
    for form in stress.FORMS:
        assert seen(form).log is False  # values that are not of a raw scale
        assert seen(form, counts).log is (form != "raw scale")
    assert (seen("1 % outliers", counts).table < 0).any(axis=None)


def test_kept_labels_are_in_proportion_and_of_every_class() -> None:
    classes = np.repeat([0, 1, 2, -1], [60, 30, 2, 8])
    rng = np.random.default_rng(0)
    kept = kept_labels(classes, 12, rng)
    assert len(set(kept)) == 12
    assert_array_equal(np.bincount(classes[kept]), [7, 4, 1])
    assert_array_equal(np.bincount(classes[kept_labels(classes, 2, rng)]), [1, 1, 1])
    assert len(kept_labels(classes, 200, rng)) == 92
    others = [kept_labels(classes, 12, rng) for _ in range(2)]
    assert set(others[0]) != set(others[1])


class Watched(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decides by the second feature; records its table and labels."""

    fits: list[tuple[Any, Any]] = []  # noqa: RUF012 (shared on purpose)

    def __init__(self, name: str = "") -> None:
        self.name = name

    def fit(self, X: Any, y: Any) -> Watched:
        Watched.fits.append((X, y))
        self.classes_ = [np.unique(y[task].dropna()) for task in y]
        return self

    def decision_function(self, X: Any) -> Any:
        return [X.iloc[:, 1].to_numpy() for _ in self.classes_]

    def predict(self, X: Any) -> Any:
        parts = zip(self.classes_, self.decision_function(X), strict=True)
        return np.column_stack([classes[(one > 0).astype(int)] for classes, one in parts])


def test_labels_are_hidden_in_training_parts_only() -> None:
    X, y = signal(60)
    labels = pd.DataFrame({"one": y, "two": np.roll(y, 1)})
    labels.iloc[:4, 1] = np.nan
    Watched.fits.clear()
    models = {name: FewLabels(Watched(name), 8) for name in ("a", "b")}
    found = cross_validate(models, pd.DataFrame(X), labels, n_folds=3)
    assert len(Watched.fits) == 6
    for (table, first), (_, second) in zip(Watched.fits[::2], Watched.fits[1::2], strict=True):
        assert len(table) == 40
        assert first.equals(second)  # all models of a fold have the same labels
        assert first.notna().sum().tolist() == [8, 8]
        kept = labels.loc[first.index].where(first.notna())
        pd.testing.assert_frame_equal(first, kept, check_dtype=False)
    assert not Watched.fits[0][1].equals(Watched.fits[2][1])
    assert found.folds.groupby("task")["n_test"].sum().tolist() == [2 * 60, 2 * 56]


@pytest.mark.slow
def test_the_stress_suite_of_a_folder(tmp_path: Path) -> None:
    folder = archives(tmp_path / "sets")
    kept: list[Outcome] = []
    found = stress.run(
        ["R-L-BSVM", "L-SVM"], folder=folder, sets=["plain", "counts"], keep=kept.append, **QUICK
    )
    rows = found.rows
    assert rows["data"].drop_duplicates().tolist() == ["plain", "counts"]
    assert rows["form"].tolist() == [form for form in stress.FORMS for _ in range(2)] * 2
    assert (rows["n"] == 48).all()
    areas = rows.set_index(["data", "form", "model"])["auc"]
    for data in ("plain", "counts"):  # ranks do not see an increasing transform
        assert areas[data, "raw scale", "R-L-BSVM"] == areas[data, "as given", "R-L-BSVM"]
    assert areas["plain", "raw scale", "L-SVM"] != areas["plain", "as given", "L-SVM"]
    fits = found.fits.groupby("form", sort=False)["n_train"].max()
    assert fits.tolist() == [24, 24, 24, 24, 24, 12]
    summary = found.summary.set_index(["form", "model"])
    few = areas.loc[:, "12 labels"]
    apart = [few[one, "L-SVM"] - few[one, "R-L-BSVM"] for one in ("plain", "counts")]
    row = summary.loc[("12 labels", "L-SVM")]
    assert row["difference"] == pytest.approx(np.mean(apart))
    assert row["difference_se"] == pytest.approx(np.std(apart, ddof=1) / np.sqrt(2))
    means, differences, by_set = found.tables().values()
    assert list(means) == ["model", *stress.FORMS]
    assert means["as given"][0] == f"{summary.loc[('as given', 'R-L-BSVM')]['auc']:.3f}"
    assert differences["model"].tolist() == ["L-SVM"]
    assert by_set[["data", "n", "model"]].to_numpy().tolist() == [
        [data, "48", model] for data in ("plain", "counts") for model in ("R-L-BSVM", "L-SVM")
    ]
    assert kept[-1].notes[-1] == "Not finished: counts, 12 labels."
    assert len(kept) == 11
    assert sum("On the raw scale no model" in one for one in found.notes) == 1
    # A run that was interrupted is resumed, form by form.
    earlier = Outcome.from_dict(kept[6].to_dict())
    news: list[str] = []
    again = stress.run(
        ["R-L-BSVM", "L-SVM"],
        folder=folder,
        sets=["plain", "counts"],
        known=earlier,
        progress=lambda step, done, total: news.append(step),
        **QUICK,
    )
    assert not any(step.startswith(("plain", "counts, as given")) for step in news)
    measured = ["data", "form", "model", "auc"]
    pd.testing.assert_frame_equal(again.rows[measured], rows[measured])
    assert again.notes == found.notes


def test_unknown_sets() -> None:
    with pytest.raises(InputError, match="there is no data set 'nothing'"):
        stress.run(sets=["nothing"])


def outcome() -> Outcome:
    """Two sets in two forms; one model has no AUC on a set."""
    areas = {"R-L-BSVM": [0.9, 0.7, 0.8, 0.6], "RF": [0.8, 0.7, np.nan, 0.5]}
    frames = [
        pd.DataFrame(
            {
                "data": ["one", "two"] * 2,
                "form": ["as given"] * 2 + ["raw scale"] * 2,
                "task": "y",
                "n": 30,
                "model": model,
                "settings": "default",
                "auc": values,
                "auc_sd": 0.1,
            }
        )
        for model, values in areas.items()
    ]
    rows = pd.concat(frames, ignore_index=True)
    return stress.Stress("stress", "AUC", rows, rows, {}, (), stress.summarised(rows))


def test_means_over_sets() -> None:
    summary = outcome().summary.set_index(["form", "model"])
    assert summary.loc[("as given", "RF"), "auc"] == pytest.approx(0.75)
    assert summary.loc[("as given", "RF"), "difference"] == pytest.approx(-0.05)
    assert summary.loc[("as given", "RF"), "difference_se"] == pytest.approx(0.05)
    assert summary.loc[("raw scale", "RF"), "n_sets"] == 1
    assert summary.loc[("raw scale", "RF"), "difference"] == pytest.approx(-0.1)
    assert summary.loc[("raw scale", "R-L-BSVM"), "difference"] == 0
    means, differences, by_set = outcome().tables().values()
    assert means.to_numpy().tolist() == [
        ["R-L-BSVM", "0.800", "0.700"],
        ["RF", "0.750", "0.500"],
    ]
    assert differences.to_numpy().tolist() == [["RF", "-0.050 (0.050)", "-0.100"]]
    assert sorted(by_set.to_numpy().tolist()) == [
        ["one", "30", "R-L-BSVM", "0.900 (0.100)", "0.800 (0.100)"],
        ["one", "30", "RF", "0.800 (0.100)", ""],
        ["two", "30", "R-L-BSVM", "0.700 (0.100)", "0.600 (0.100)"],
        ["two", "30", "RF", "0.700 (0.100)", "0.500 (0.100)"],
    ]


def test_the_figure_shows_the_means() -> None:
    figure = stress.drawn(outcome()).figures["stress"]
    (axes,) = figure.axes
    lines = [one for one in axes.lines if str(one.get_gid()).startswith("line-")]
    assert [list(one.get_ydata()) for one in lines] == [
        pytest.approx([0.8, 0.7]),
        pytest.approx([0.75, 0.5]),
    ]
    assert lines[0].get_linewidth() > lines[1].get_linewidth()
    assert "2 data sets" in figure.get_suptitle()


def test_an_interruption_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = archives(tmp_path / "sets")
    real, calls = crossvalidated.cross_validate, []

    def twice(*arguments: Any, **settings: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(crossvalidated, "cross_validate", twice)
    found = stress.run(["L-SVM"], folder=folder, sets=["plain"], **QUICK)
    assert not found.complete
    assert found.rows["form"].tolist() == ["as given", "raw scale"]
    assert found.notes[-1].startswith("Interrupted in plain, 1 % outliers")
    assert list(found.tables()["By set (standard deviation over folds)"])[3:] == [
        "as given",
        "raw scale",
    ]
