"""The paper's tables on small data: what is compared, and what is reported."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from tests.experiments.sets import archives, series, signal, split

import rankfactor.experiments.crossvalidated as crossvalidated
from rankfactor.data import Dataset
from rankfactor.data import collection as datasets
from rankfactor.errors import InputError
from rankfactor.evaluation.baselines import RandomForest
from rankfactor.experiments import entries, mnist, rnaseq, sets, suite, tb, usps
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.paper import MNIST, RNASEQ, TB, USPS
from rankfactor.experiments.problem import against, one_against_the_rest

QUICK: dict[str, Any] = {"n_factors": 2, "n_threads": 1, "way": "paper"}


@pytest.mark.quick_cases("rankfactor.experiments.usps-paper0")
@pytest.mark.parametrize(("table", "paper"), [(usps, USPS), (mnist, MNIST)])
def test_errors_on_a_given_split(table: Any, paper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "load", lambda name: split())
    steps: list[tuple[str, int, int]] = []
    found = table.run(
        ["G-L-BSVM", "RF"], n_repeats=2, progress=lambda *step: steps.append(step), **QUICK
    )
    assert found.rows["model"].tolist() == ["G-L-BSVM", "RF"]
    assert found.rows["settings"].tolist() == ["K = 2", "its own"]
    first = found.rows.iloc[0]
    assert first["paper_error"] == paper["G-L-BSVM"].error
    assert np.isnan(found.rows.iloc[1]["paper_error"])
    errors = found.fits.loc[found.fits["model"] == "G-L-BSVM", "error"]
    assert first["error"] == pytest.approx(errors.mean())
    assert (found.fits["errors"] * 5 == found.fits["error"]).all()  # of twenty test samples
    assert first["error"] < 25
    assert steps[:3] == [("G-L-BSVM", 0, 2), ("G-L-BSVM", 1, 2), ("G-L-BSVM", 2, 2)]
    page = found.markdown()
    assert f"{paper['G-L-BSVM'].error:.2f}" in page
    assert "Trained on 40 samples, tested on 20" in page


@pytest.mark.slow
def test_settings_are_chosen_on_the_training_part_only(monkeypatch: pytest.MonkeyPatch) -> None:
    data = split()
    seen: list[Any] = []
    real = crossvalidated.cross_validate

    def noted(models: Any, table: Any, *rest: Any, **more: Any) -> Any:
        seen.append(table.iloc[:, 0].to_numpy())
        return real(models, table, *rest, **more)

    monkeypatch.setattr("rankfactor.evaluation.choose_settings.cross_validate", noted)
    monkeypatch.setattr(usps, "load", lambda name: data)
    found = usps.run(["NS-PCA-SVM"], n_repeats=1, way="chosen")
    (chosen,) = found.rows["chosen"]
    assert chosen in ("n_factors=10", "n_factors=20")
    test = data.table.loc[data.labels["part"] == "test"].iloc[:, 0]
    (values,) = seen
    assert len(values) == 40
    assert not set(values) & set(test)


@pytest.mark.slow
def test_a_margin_is_chosen_by_repeated_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MARGINS", (0.05, 0.4))
    monkeypatch.setattr(entries, "CUTS", (4,))
    monkeypatch.setattr(usps, "load", lambda name: split())
    settings = {**QUICK, "way": "margin", "n_repeats": 1}
    found = usps.run(["R-L-BSVM"], **settings)
    assert found.rows["settings"].tolist() == ["margin chosen"]
    (chosen,) = found.rows["chosen"]
    assert chosen in ("margin=0.05, max_cuts=4", "margin=0.4, max_cuts=4")
    assert found.rows["error"][0] < 25


def test_a_set_without_a_split_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = split()
    whole = Dataset("toy", data.table, data.labels[["y"]])
    monkeypatch.setattr(usps, "load", lambda name: whole)
    with pytest.raises(InputError, match="toy has no given split"):
        usps.run(["L-SVM"], n_repeats=1)


def test_sides_of_a_task() -> None:
    column = pd.Series(["x", "y", "z", np.nan, "x"], name="kind", dtype=object)
    rest = against(column, ["x"], None)
    assert rest.tolist()[:3] == ["x", "Others", "Others"]
    assert pd.isna(rest[3])
    two = against(column, ["x"], ["z"])
    assert two.isna().tolist() == [False, True, False, True, False]
    assert against(column, ["x", "y"], ["z"]).dropna().unique().tolist() == ["x or y", "z"]
    assert list(one_against_the_rest(column)) == ["x vs. Others", "y vs. Others", "z vs. Others"]
    both = column.where(column != "z", "x")
    assert list(one_against_the_rest(both)) == ["kind"]
    with pytest.raises(InputError, match="'kind' has fewer than two classes"):
        one_against_the_rest(column[:1])
    many = pd.Series([str(i) for i in range(20)], name="id")
    with pytest.raises(InputError, match="'id' has 20 different values"):
        one_against_the_rest(many)


@pytest.mark.parametrize(
    "classes",
    [("PTB", "LTBI", "OD"), ("active tuberculosis", "latent TB infection", "other disease")],
)
def test_phenotypes_of_tuberculosis(classes: tuple[str, ...]) -> None:
    tasks, paper = tb.phenotypes(pd.Series([*classes] * 2))
    assert list(tasks) == list(paper) == list(TB)[:3]
    sides = {name: (task != "Others").tolist()[:3] for name, task in tasks.items()}
    assert list(sides.values()) == [[True, True, False], [True, False, False], [False, True, False]]


def test_other_phenotypes_are_set_against_the_rest() -> None:
    tasks, paper = tb.phenotypes(pd.Series(["u", "v", "w"]))
    assert (list(tasks), paper) == (["u vs. Others", "v vs. Others", "w vs. Others"], {})


@pytest.mark.parametrize(
    "classes",
    [("SIRS", "sepsis survivor", "sepsis death"), ("non-septic", "septic-S", "septic-NS")],
)
def test_outcomes_of_sepsis(classes: tuple[str, ...]) -> None:
    tasks, paper = rnaseq.outcomes(pd.Series([*classes] * 2))
    assert list(tasks) == list(paper) == list(RNASEQ)
    known = [task.notna().tolist()[:3] for task in tasks.values()]
    assert known == [[True, True, True], [False, True, True], [True, True, False]]


def phenotypes(n: int) -> dict[str, list[str]]:
    kinds = ["active tuberculosis", "latent TB infection", "other disease"]
    return {
        "disease status": [kinds[i % 3] for i in range(n)],
        "hiv status": ["HIV positive" if i % 2 else "HIV negative" for i in range(n)],
        "age": [str(20 + i) for i in range(n)],
    }


def test_a_series_of_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.exp(signal(48)[0] + 6)
    path = series(tmp_path / "GSE_series_matrix.txt", phenotypes(48), values)
    monkeypatch.setattr(tb, "TOP_FEATURES", 5)
    found = tb.run(["G-L-BSVM", "L-SVM"], series=path, n_folds=2, **QUICK)
    assert found.rows["task"].unique().tolist() == list(TB)
    row = found.rows[(found.rows["task"] == "HIV(+) vs. HIV(-)")].iloc[0]
    assert row["paper_auc"] == 0.879
    assert row["auc"] > 0.8
    assert any("5 of 8 features are kept" in note for note in found.notes)
    assert not any("not of these data" in note for note in found.notes)
    one = tb.read_series(path, ["hiv status"])
    assert list(one.labels) == ["HIV(+) vs. HIV(-)"]
    with pytest.raises(InputError, match="has no column 'x'; it has 'disease status', 'hiv st"):
        tb.read_series(path, ["x"])
    with pytest.raises(InputError, match="give --series as well"):
        tb.run(labels=["x"])


def test_a_series_without_labels(tmp_path: Path) -> None:
    path = series(tmp_path / "s_series_matrix.txt", {"age": ["1", "2"]}, np.ones((2, 3)))
    with pytest.raises(InputError, match="no column that looks like labels; name one"):
        tb.read_series(path)


def test_a_series_with_counts_in_another_file(tmp_path: Path) -> None:
    n = 45
    kinds = ["SIRS", "sepsis survivor", "sepsis death"]
    described = {
        "outcome": [kinds[i % 3] for i in range(n)],
        "patient": [f"p{i // 3}" for i in range(n)],
    }
    path = series(tmp_path / "GSE_series_matrix.txt", described, None)
    rng = np.random.default_rng(0)
    counts = rng.poisson(50, (n, 6)) + 40 * np.outer(np.arange(n) % 3 == 0, [1, 0, 1, 0, 0, 0])
    counts[: n // 2, 5] = 0
    frame = pd.DataFrame(counts, [f"GSM{i}" for i in range(n)], [f"g{i}" for i in range(6)])
    frame.to_csv(tmp_path / "counts.csv")
    found = rnaseq.run(
        ["PFA-L-BSVM", "R-L-BSVM"],
        series=path,
        counts=tmp_path / "counts.csv",
        groups="patient",
        n_folds=3,
        **QUICK,
    )
    assert found.rows["task"].unique().tolist() == list(RNASEQ)
    assert found.rows["paper_auc"].notna().all()
    assert found.rows.loc[found.rows["task"] == "SIRS vs. Se", "auc"].min() > 0.8
    assert any("5 of 6 features are kept" in note for note in found.notes)
    with pytest.raises(InputError, match="contains no expression values"):
        rnaseq.run(series=path)
    with pytest.raises(InputError, match="has no column 'x' to use as groups"):
        rnaseq.read_series(path, tmp_path / "counts.csv", (), "x")
    with pytest.raises(InputError, match="--counts belongs to a series"):
        rnaseq.run(counts=path)


def test_counts_are_rescaled_to_a_common_total() -> None:
    table = pd.DataFrame({"a": [10.0, 40.0, 30.0], "b": [10.0, 40.0, 10.0], "c": [0.0, 0.0, 5.0]})
    scaled, notes = rnaseq.rescaled(table)
    assert list(scaled) == ["a", "b"]
    np.testing.assert_allclose(scaled.sum(axis=1), 40)
    np.testing.assert_allclose(scaled["a"], [20, 20, 30])
    assert "2 of 3 features are kept" in notes[0]
    same, notes = rnaseq.rescaled(-table)
    assert same.equals(-table)
    assert "not rescaled" in notes[0]
    empty = pd.DataFrame({"a": [1.0, 0.0, 2.0, 3.0, 1.0], "b": [1.0, 0.0, 1.0, 1.0, 1.0]})
    with pytest.raises(InputError, match="the sample '1' has no counts"):
        rnaseq.rescaled(empty)
    with pytest.raises(InputError, match="every feature is zero in more than 25%"):
        rnaseq.rescaled(table[["c"]])


@pytest.mark.slow
def test_the_suite_of_a_folder(tmp_path: Path) -> None:
    folder = archives(tmp_path / "sets")
    found = suite.run(
        ["R-L-BSVM", "L-SVM", "NS-PCA-SVM"], folder=folder, n_folds=3, n_repeats=2, **QUICK
    )
    assert found.rows["data"].unique().tolist() == ["counts", "grouped", "plain"]
    assert len(found.fits) == 3 * 3 * 3 * 2
    assert (found.rows["auc"] > 0.8).all()
    assert found.summary["mean_rank"].sum() == pytest.approx(6)
    assert found.summary["mean_rank"].is_monotonic_increasing
    text = " ".join(found.notes)
    assert "Over 3 data sets the mean ranks" in text
    assert "A plain SVM (L-SVM) has a higher mean AUC than every factor model on" in text
    assert "grouped: samples of the same 'patient' are kept together." in text
    page = found.markdown()
    assert "as good as the best" in page
    assert "**AUC less that of L-SVM (standard error over folds)**" in page
    assert "The AUC of R-L-BSVM is lower than that of L-SVM by more than 0.01 and" in text
    own = found.summary.set_index("model")
    areas = found.rows.groupby("model")["auc"].mean()
    assert own["difference"]["R-L-BSVM"] == pytest.approx(areas["R-L-BSVM"] - areas["L-SVM"])
    assert np.isnan(own["difference"]["L-SVM"])


def rows(**areas: list[float]) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "data": [f"set{i}" for i in range(len(values))],
                "task": "y",
                "model": model.replace("_", "-"),
                "settings": "its own",
                "auc": values,
            }
        )
        for model, values in areas.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_where_a_plain_svm_wins_is_said() -> None:
    table = rows(R_L_BSVM=[0.9, 0.7, 0.8], L_SVM=[0.8, 0.75, 0.8], RBF_SVM=[0.7, 0.6, 0.85])
    told = suite.sentences(table, suite.mean_ranks(suite.by_set(table)))
    assert told[1] == (
        "A plain SVM (L-SVM or RBF-SVM) has a higher mean AUC than every factor model on 2 of 3 "
        "sets: set1, set2."
    )
    assert "do not differ" in told[0]
    alone = rows(R_L_BSVM=[0.9])
    (only,) = suite.sentences(alone, suite.mean_ranks(suite.by_set(alone)))
    assert only == "1 data set and 1 models are too few for a test of mean ranks."


def folds(**areas: list[list[float]]) -> Outcome:
    """A suite of two sets: of every model the AUC in the folds of both."""
    fits = pd.DataFrame(
        [
            {"data": f"set{i}", "task": "y", "model": model.replace("_", "-")}
            | {"repeat": 1, "fold": fold, "auc": auc}
            for model, of_sets in areas.items()
            for i, values in enumerate(of_sets)
            for fold, auc in enumerate(values)
        ]
    )
    means = {model: [float(np.mean(one)) for one in sets] for model, sets in areas.items()}
    return Outcome("suite", "A suite", rows(**means).assign(chosen=""), fits, {})


def test_differences_from_the_linear_svm_are_of_the_same_folds() -> None:
    found = folds(
        L_SVM=[[0.9, 0.5, 0.7], [0.9, 0.7, 0.8]],
        R_L_BSVM=[[0.88, 0.48, 0.67], [0.95, 0.6, 0.7]],
        RF=[[0.892, 0.492, 0.692], [1.0, 0.8, 0.9]],
    )
    mean, error = suite.compared(found)
    assert list(mean) == ["R-L-BSVM", "RF"]
    assert mean["R-L-BSVM"].tolist() == pytest.approx([-0.07 / 3, -0.05])
    spread = np.std([-0.02, -0.02, -0.03], ddof=1) / np.sqrt(3)
    assert error["R-L-BSVM"]["set0"] == pytest.approx(spread)
    # Clear on the first set, within two standard errors on the second; RF is 0.008 below.
    assert suite.lost_sets(suite.compared(found)) == [
        "The AUC of R-L-BSVM is lower than that of L-SVM by more than 0.01 and by more than twice "
        "the standard error of the difference on 1 of 2 sets (difference, standard error): set0 "
        "(-0.023, 0.003)."
    ]
    assert suite.compared(found).lost["RF"].tolist() == [False, False]
    *_, table = suite.Suite(**vars(found)).tables().values()
    assert table["R-L-BSVM"].tolist() == ["-0.023 (0.003)", "-0.050 (0.050)"]


def test_without_the_linear_svm_nothing_is_compared_with_it() -> None:
    found = folds(R_L_BSVM=[[0.8, 0.9], [0.7, 0.8]], RF=[[0.8, 0.9], [0.7, 0.8]])
    assert suite.lost_sets(suite.compared(found)) == []
    assert list(suite.Suite(**vars(found)).tables()) == ["A suite"]


def test_settings_of_a_model_are_kept_apart() -> None:
    table = rows(R_L_BSVM=[0.9, 0.8, 0.9], L_SVM=[0.7, 0.6, 0.5], G_L_BSVM=[0.6, 0.5, 0.6])
    table.loc[table["model"] == "R-L-BSVM", "settings"] = "K = 20"
    default = rows(R_L_BSVM=[0.5, 0.4, 0.4]).assign(settings="default")
    chosen = rows(R_L_BSVM=[0.2, 0.1, 0.3], G_L_BSVM=[0.1, 0.2, 0.1]).assign(settings="chosen")
    table = pd.concat([table, default, chosen]).assign(accuracy=0.5, seconds=1.0)
    areas = suite.by_set(table)
    assert areas["R-L-BSVM (K = 20)"].tolist() == [0.9, 0.8, 0.9]
    assert areas["R-L-BSVM (default)"].tolist() == [0.5, 0.4, 0.4]
    assert areas["R-L-BSVM (chosen)"].tolist() == [0.2, 0.1, 0.3]
    ranks = suite.mean_ranks(areas)
    nothing = suite.Differences(pd.DataFrame(), pd.DataFrame())
    summary = suite._summary(table, ranks, nothing)
    assert list(zip(summary["model"], summary["settings"], strict=True)) == [
        ("R-L-BSVM", "K = 20"),
        ("L-SVM", "its own"),
        ("G-L-BSVM", "its own"),
        ("R-L-BSVM", "default"),
        ("R-L-BSVM", "chosen"),
        ("G-L-BSVM", "chosen"),
    ]
    assert summary["auc"].iloc[[0, 3]].tolist() == pytest.approx([2.6 / 3, 1.3 / 3])
    assert ranks.mean["R-L-BSVM (K = 20)"] == 1
    assert (
        "No significant difference between R-L-BSVM (K = 20) and"
        in (suite.sentences(table, ranks)[0])
    )
    # A plain SVM is above "default" and "chosen" everywhere, and below "K = 20".
    assert "on 0 of 3 sets" in suite.sentences(table, ranks)[1]


def test_large_sets_are_cut_down(tmp_path: Path) -> None:
    folder = archives(tmp_path / "sets")
    found = suite.run(["L-SVM"], folder=folder, sets=["plain"], max_samples=30, n_folds=3, **QUICK)
    assert (found.fits["n_train"] + found.fits["n_test"] == 30).all()
    assert "plain: 30 of 48 samples, drawn by class." in found.notes


@pytest.mark.slow
def test_small_classes_make_fewer_folds(tmp_path: Path) -> None:
    X, y = signal(12)
    y[:] = "a"
    y[:3] = "b"
    np.savez(tmp_path / "small.npz", X=X, y=y)
    found = suite.run(["L-SVM", "NS-PCA-SVM"], folder=tmp_path, way="paper")
    assert found.fits["fold"].max() == 3
    assert "small: 3 folds, because of its smallest class." in found.notes
    assert "small: at most 7 factors, because training parts are small." in found.notes


def test_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        suite.run(folder=tmp_path / "x")
    with pytest.raises(InputError, match=r"has no \.npz archive"):
        suite.run(folder=tmp_path)
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)))
    with pytest.raises(InputError, match=r"a\.npz has no array 'y' of labels"):
        suite.run(folder=tmp_path)
    with pytest.raises(InputError, match=r"has no b\.npz; it has a"):
        suite.run(folder=tmp_path, sets=["b"])
    with pytest.raises(InputError, match="there is no data set 'b'"):
        suite.run(sets=["b"])


def test_an_interruption_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = archives(tmp_path / "sets")
    real, calls = crossvalidated.cross_validate, []

    def once(*arguments: Any, **settings: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(crossvalidated, "cross_validate", once)
    found = suite.run(["L-SVM", "NS-PCA-SVM"], folder=folder, n_folds=2, **QUICK)
    assert not found.complete
    assert found.rows["data"].unique().tolist() == ["counts"]
    assert "Interrupted in grouped: it and the following parts are left out." in found.notes
    calls[:] = [1]
    with pytest.raises(KeyboardInterrupt):
        suite.run(["L-SVM"], folder=folder, n_folds=2, **QUICK)


@pytest.mark.slow
def test_what_is_finished_is_handed_on_as_it_comes(tmp_path: Path) -> None:
    folder = archives(tmp_path / "sets")
    kept: list[Any] = []
    found = suite.run(["L-SVM", "NS-PCA-SVM"], folder=folder, n_folds=2, keep=kept.append, **QUICK)
    assert [one.rows["data"].unique().tolist() for one in kept] == [
        ["counts"],
        ["counts", "grouped"],
    ]
    assert not any(one.complete for one in kept)
    assert "Not finished: grouped, plain." in kept[0].notes
    assert len(kept[1].summary) == 2
    assert found.complete
    measured = ["data", "model", "auc", "accuracy"]
    assert found.rows[measured].iloc[:4].equals(kept[1].rows[measured])


@pytest.mark.slow
def test_an_interrupted_split_keeps_models_that_are_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import signal as signals

    monkeypatch.setattr(usps, "load", lambda name: split())
    kept: list[Any] = []
    real = RandomForest.fit

    def interrupted(self: Any, *arguments: Any, **more: Any) -> Any:
        # As a factor model does, which answers Ctrl-C with what it has.
        try:
            signals.raise_signal(signals.SIGINT)
        except KeyboardInterrupt:
            return real(self, *arguments, **more)

    settings = {"n_repeats": 2, "keep": kept.append, **QUICK}
    whole = usps.run(["L-SVM", "NS-PCA-SVM"], **settings)
    assert whole.complete
    (part,) = kept
    assert (part.rows["model"].tolist(), part.complete) == (["L-SVM"], False)
    assert "Not finished: NS-PCA-SVM." in part.notes
    monkeypatch.setattr(RandomForest, "fit", interrupted)
    found = usps.run(["L-SVM", "RF", "NS-PCA-SVM"], **settings)
    assert not found.complete
    assert found.rows["model"].tolist() == ["L-SVM"]
    assert "Interrupted in RF: it and the following parts are left out." in found.notes
    with pytest.raises(KeyboardInterrupt):
        usps.run(["RF", "L-SVM"], **settings)


def test_the_library_s_own_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKFACTOR_DATA", raising=False)
    monkeypatch.delenv("RANKFACTOR_DATA_URL", raising=False)
    notes: list[str] = []
    found = {problem.name: problem for problem in sets._known((), notes)}
    assert set(found) == {"alzheimer", "khan", "bfi"}
    assert list(found["alzheimer"].labels) == ["Impairment", "APOE4"]
    assert any(note.startswith("golub is left out: golub.npz is not bundled") for note in notes)
    with pytest.raises(InputError, match=r"golub\.npz is not bundled"):
        list(sets._known(["golub"], notes))


def test_columns_of_words_are_features_of_the_suite(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RANKFACTOR_DATA", str(tmp_path))
    text = "age,sex,ill\n63,male,0\n41,female,1\n37,,1\n"
    (tmp_path / "people.csv").write_text(text)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    people = datasets.DatasetInfo(
        "people", 3, 1, "people", ("ill",), "here", files={"people.csv": checksum}, words=("sex",)
    )
    for module in (datasets, sets):
        monkeypatch.setattr(module, "list_datasets", lambda: (people,))
    (problem,) = sets._known((), [])
    assert list(problem.table) == ["age", "sex=male"]
    assert_array_equal(problem.table["sex=male"], [1.0, 0.0, np.nan])
    assert list(problem.labels) == ["ill"]


@pytest.mark.parametrize(
    ("table", "name", "tasks"),
    [
        (tb, "tb_gse19491", list(TB)[:3]),
        (tb, "tb_hiv_gse37250", list(TB)),
        (rnaseq, "tb_suscept_counts", ["y", "status"]),
        (rnaseq, "sepsis_gse13015", ["Sepsis", "Melioidosis vs. Other"]),
        (rnaseq, "sepsis_metabolomics", list(RNASEQ)),
    ],
)
def test_the_sets_that_stand_in(table: Any, name: str, tasks: list[str], shared_data: Any) -> None:
    shared_data(f"{name}.npz")
    (problem,) = (one for one in table.stand_ins() if one.name == name)
    assert list(problem.labels) == tasks
    assert all(problem.labels[task].nunique() == 2 for task in tasks)
    assert (problem.groups is not None) == (name in ("tb_suscept_counts", "sepsis_metabolomics"))
