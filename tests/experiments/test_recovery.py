"""Recovery of known factors: what is measured, what is left out, and what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn

from rankfactor.errors import InputError
from rankfactor.experiments import recovery
from rankfactor.experiments.factor_methods import METHODS, Method
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.simulated import Size, simulate

TINY = {"base": Size(40, 10, 2, 0.5), "n30": Size(30, 10, 2, 0.5), "k3": Size(40, 10, 3, 0.5)}
calls: list[tuple[str, int]] = []


def knows_the_truth(X: Any, n_factors: int, how: Any) -> Any:
    """Loadings of the values with the seed of the run: right for every form."""
    calls.append(("loadings", how.random_state))
    size = next(one for one in TINY.values() if (one.n, one.n_factors) == (len(X), n_factors))
    return simulate(size, "values", 0, how.random_state).loadings


def says_five(X: Any, most: int, how: Any) -> int:
    calls.append(("count", most))
    return 5


def fails_on_missing(X: Any, n_factors: int, how: Any) -> Any:
    if np.isnan(X).any():
        raise SystemExit("no holes")
    return np.ones((X.shape[1], n_factors))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    calls.clear()
    monkeypatch.setattr(recovery, "CASES", TINY)
    for one in (
        Method("oracle", "an oracle", knows_the_truth, says_five),
        Method("absent", "an absent one", knows_the_truth, package="no_such_package"),
        Method("other", "another", knows_the_truth, package="no_such_package"),
        Method("fragile", "a fragile one", fails_on_missing),
    ):
        monkeypatch.setitem(METHODS, one.name, one)


def test_what_is_measured() -> None:
    found = recovery.run(["oracle", "fa-varimax"], cases=["base"], n_repeats=2)
    fits = found.fits
    oracle = fits[fits["model"] == "an oracle"]
    assert oracle["form"].tolist() == [form for form in recovery.FORMS for _ in range(2)]
    assert oracle["table"].tolist() == [1, 2] * len(recovery.FORMS)
    assert (oracle["cosine"] > 1 - 1e-9).all()  # the same factors in all forms
    assert (oracle["factors"] == 5).all()
    plain = fits[fits["model"] == METHODS["fa-varimax"].label]
    assert plain["factors"].isna().all()
    assert (plain["cosine"] < 1 - 1e-6).all()
    assert (fits["seconds"] >= 0).all()
    rows = found.rows.set_index(["form", "model"])
    expected = plain[plain["form"] == "raw"]["cosine"]
    measured = rows.loc[("raw", METHODS["fa-varimax"].label)]
    assert measured["cosine"] == pytest.approx(expected.mean())
    assert measured["cosine_sd"] == pytest.approx(expected.std())
    assert (measured["n"], measured["d"], measured["n_factors"]) == (40, 10, 2)
    # Once before the time is taken; the number of factors out of more than there are.
    assert calls[:5] == [
        *[("loadings", 0), ("loadings", 0), ("count", 10)],
        *[("loadings", 1), ("count", 10)],
    ]


def test_tables_by_form_and_by_case() -> None:
    found = recovery.run(["oracle", "fa-varimax"], seen_as=["values", "missing"], n_repeats=1)
    tables = found.tables()
    assert list(tables) == [
        found.title,
        "Cosine by case",
        "Number of factors found where 2 are true",
        "Number of factors found by case, mean over forms of the data",
        "Seconds of a fit",
    ]
    first, by_case, number, number_by_case, seconds = tables.values()
    assert list(first) == ["method", "Gaussian values", "30 % missing"]
    assert first.iloc[0].tolist() == ["an oracle", "1.000", "1.000"]
    assert list(by_case) == ["seen as", "method", "base", "n = 30", "K = 3"]
    rows = found.rows.set_index(["case", "form", "model"])["cosine"]
    label = METHODS["fa-varimax"].label
    assert by_case.iloc[3].tolist() == [
        *["30 % missing", label],
        *(f"{rows[case, 'missing', label]:.3f}" for case in TINY),
    ]
    assert number.to_numpy().tolist() == [["an oracle", "5.0", "5.0"]]  # others do not choose
    assert number_by_case.to_numpy().tolist() == [["an oracle", "5.0", "5.0", "5.0"]]
    assert seconds["method"].tolist() == ["an oracle", label]
    page = found.markdown()
    assert page.startswith("## Recovery of known factors")
    assert "**Cosine by case**" in page
    assert "n = 40, d = 10, K = 2, noise 0.5" in page
    assert "1 simulated table of" in page
    assert f"Versions: scikit-learn {sklearn.__version__}." in page


def test_other_cases_have_fewer_forms_by_default() -> None:
    found = recovery.run(["oracle"], cases=["base", "n30"], n_repeats=1)
    forms = found.rows.groupby("case", sort=False)["form"].agg(list)
    assert forms["base"] == list(recovery.FORMS)
    assert tuple(forms["n30"]) == recovery.FORMS_OF_CASES
    by_case = found.tables()["Cosine by case"]
    assert len(by_case) == len(recovery.FORMS_OF_CASES)  # those that all cases have
    assert (by_case.to_numpy() != "").all()


def test_a_program_that_is_not_installed_is_named_and_left_out() -> None:
    found = recovery.run(["oracle", "absent", "other"], cases=["base"], n_repeats=1)
    assert set(found.rows["model"]) == {"an oracle"}
    assert (
        "Left out, as no_such_package is not installed (pip install no_such_package): "
        "an absent one; another." in found.notes
    )
    with pytest.raises(InputError, match=r"no method to compare\. Left out, as no_such_package"):
        recovery.run(["absent"])


def test_a_program_that_fails_is_named_and_left_out_everywhere() -> None:
    forms = ["values", "missing"]
    found = recovery.run(["oracle", "fragile"], cases=["base"], seen_as=forms, n_repeats=1)
    assert set(found.fits["model"]) == {"an oracle"}
    assert "a fragile one is left out: it failed with SystemExit: no holes." in found.notes
    with pytest.raises(InputError, match="no method could be run: SystemExit: no holes"):
        recovery.run(["fragile"], cases=["base"], seen_as=["missing"], n_repeats=1)


def test_a_failure_of_ours_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("rankfactor.experiments.factor_methods._fit_ours", fails)
    with pytest.raises(ZeroDivisionError):
        recovery.run(["oracle", "gaussian"], cases=["base"], n_repeats=1)


def test_an_interruption_keeps_the_parts_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Outcome] = []

    def stopped(X: Any, most: int, how: Any) -> int:
        if len(X) == 30:
            raise KeyboardInterrupt
        return 2

    monkeypatch.setitem(METHODS, "oracle", Method("oracle", "it", knows_the_truth, stopped))
    settings = {"cases": ["base", "n30"], "seen_as": ["raw"], "n_repeats": 1}
    found = recovery.run(["oracle"], keep=kept.append, **settings)
    assert set(found.rows["case"]) == {"base"}
    assert not found.complete
    assert found.notes[-1].startswith("Interrupted in n30, raw scale")
    assert kept[0].notes[-1] == "Not finished: n30, raw scale."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"models": ["rank"]}, "models must be among ranks, .* not 'rank'. Did you mean 'ranks'"),
        ({"cases": ["n10"]}, "cases must be among base, n30, k3"),
        ({"seen_as": ["holes"]}, "seen_as must be among values, raw"),
    ],
)
def test_unknown_names(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        recovery.run(**arguments)


def test_the_figure_shows_the_cosines_of_the_first_case() -> None:
    found = recovery.run(["gaussian", "fa-varimax"], seen_as=["values", "raw"], n_repeats=1)
    pictures = recovery.drawn(found)
    figure = pictures.figures["recovery"]
    assert "n = 40, d = 10, K = 2, noise 0.5" in figure.get_suptitle()
    base = found.rows[found.rows["case"] == "base"]
    drawn = [
        float(line.get_xdata()[0])
        for axes in figure.axes
        for line in axes.lines
        if str(line.get_gid()).startswith("point-")
    ]
    assert drawn == pytest.approx(base["cosine"].tolist())
    assert [axes.get_title("left") for axes in figure.axes] == ["Gaussian\nvalues", "raw scale"]
