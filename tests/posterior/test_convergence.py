"""How a fit ended: decided by its criterion, saved in the model, reported consistently."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.simulate import simulate

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.engine import predictive
from rankfactor.engine.predictive import Predictive
from rankfactor.interpret import sentences
from rankfactor.posterior.convergence import Convergence, by_change
from rankfactor.report import write_report


def fitted(model: Any, *, labels: bool = True) -> tuple[Any, list[str]]:
    simulated = simulate(n=40, d=12)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(*((simulated.X, simulated.y) if labels else (simulated.X,)))
    return model, [str(one.message) for one in heard if one.category is ConvergenceWarning]


def stop_at(n: int) -> Any:
    def progress(iteration: int, elbo: float, change: float) -> None:
        if iteration == n:
            raise KeyboardInterrupt

    return progress


VB = {"n_factors": 2, "random_state": 0, "n_threads": 1, "training": "bayes"}


def limited(n_steps: int) -> Any:
    """A constructor of `Predictive` with so many steps."""
    real = Predictive.__init__

    def init(self: Predictive, weight: float) -> None:
        real(self, weight, max_steps=n_steps)

    return init


def test_by_the_change_of_an_objective() -> None:
    done = by_change("ELBO", -1e-5, 1e-4, "3 iterations", "do more")
    assert str(done) == (
        "converged after 3 iterations: the ELBO had a relative change of 1.0e-05, below tol=0.0001"
    )
    assert done.advice == ""
    more = by_change("ELBO", 1e-3, 1e-4, "3 iterations", "do more")
    assert more.warning == (
        "not converged after 3 iterations: the ELBO still had a relative change of 1.0e-03 "
        "(should be below tol=0.0001); do more."
    )
    assert "not been compared" in str(by_change("ELBO", np.nan, 1e-4, "1 step"))


def test_variational_bayes(tmp_path) -> None:
    good, heard = fitted(RankFactorClassifier(**VB, tol=1e-2))
    assert good.converged_ is True
    assert heard == []
    assert "below tol=0.01" in good.convergence_.criterion
    bad, heard = fitted(RankFactorClassifier(**VB, max_iter=2, tol=1e-9))
    assert bad.converged_ is False
    assert heard == [bad.convergence_.warning]
    assert "after 2 iterations" in heard[0]
    assert load_model(save_model(bad.posterior_, tmp_path / "m")).convergence == bad.convergence_


def test_an_interrupted_fit_says_so(tmp_path) -> None:
    model, heard = fitted(RankFactorClassifier(**VB, tol=0.0, progress=stop_at(3)))
    assert heard == ["interrupted after 3 iterations; the fit so far is kept."]
    assert model.convergence_ == Convergence("interrupted", "3 iterations")
    assert not model.converged_
    page = write_report(tmp_path / "r.html", model.posterior_, title="t", warnings=heard)
    text = page.read_text("utf-8")
    assert "fit interrupted" in text
    assert (
        text.count("The fit was interrupted after 3 iterations.") == 4
    )  # cautions, warnings, fit, methods
    assert heard[0] not in text  # it has been said


def test_an_interrupted_restart_is_no_converged_fit() -> None:
    starts = []

    def progress(iteration: int, elbo: float, change: float) -> None:
        starts.append(iteration)
        if starts.count(1) == 2:
            raise KeyboardInterrupt

    model, _ = fitted(RankFactorClassifier(**VB, tol=1e-2, n_restarts=3, progress=progress))
    assert model.convergence_.state == "interrupted"
    assert "after 1 of 3 starts: the best of them is converged" in str(model.convergence_)


@pytest.mark.parametrize("supervised", [True, False])
def test_gibbs_is_judged_by_its_chains(supervised: bool, tmp_path) -> None:
    engine = Gibbs(n_draws=8, burn_in=0, n_chains=2, n_predict=2)
    kind = RankFactorClassifier if supervised else RankFactorAnalysis
    settings = {key: VB[key] for key in ("n_factors", "random_state", "n_threads")}
    model, heard = fitted(kind(**settings, tol=1e-2, engine=engine), labels=supervised)
    assert not model.converged_
    quantity = "decision function" if supervised else "log likelihood"
    assert re.match(
        rf"not converged after 2 chains of 8 draws: .* of the {quantity} is",
        str(model.convergence_),
    )
    assert heard == [model.convergence_.warning]
    assert model.convergence_.sentence in " ".join(sentences.methods(model.posterior_, 0))
    assert (
        load_model(save_model(model.posterior_, tmp_path / "m")).convergence == model.convergence_
    )


def test_interrupted_gibbs() -> None:
    engine = Gibbs(n_draws=50, burn_in=0, n_chains=2, n_predict=2)
    sweeps = []

    def progress(iteration: int, elbo: float, change: float) -> None:
        sweeps.append(np.isnan(elbo))
        if sum(sweeps) == 16:
            raise KeyboardInterrupt

    model, _ = fitted(RankFactorClassifier(**VB, tol=1e-2, engine=engine, progress=progress))
    assert re.match(r"interrupted after \d+ of 50 draws per chain: ", str(model.convergence_))


def test_predictive_training(monkeypatch) -> None:
    settings = {**VB, "training": "predictive"}
    good, heard = fitted(RankFactorClassifier(**settings))
    assert good.converged_
    assert heard == []
    assert "of predictive training: " in str(good.convergence_)
    monkeypatch.setattr(Predictive, "__init__", limited(2))
    bad, heard = fitted(RankFactorClassifier(**settings, calibration="none"))
    assert heard == [bad.convergence_.warning]
    assert "not converged after 2 steps of predictive training" in heard[0]


def test_a_step_that_is_taken_back_last_is_no_infinite_change(monkeypatch) -> None:
    """After it there is no earlier objective to compare with."""
    real, seen = predictive.view_bound, []

    def falling(*arguments: Any) -> float:
        seen.append(None)
        return real(*arguments) - (1e9 if len(seen) == 3 else 0.0)

    monkeypatch.setattr(predictive, "view_bound", falling)
    monkeypatch.setattr(Predictive, "__init__", limited(4))
    told: list[float] = []
    model, heard = fitted(
        RankFactorClassifier(
            **{**VB, "training": "predictive"},
            calibration="none",
            progress=lambda step, objective, change: told.append(change),
        )
    )
    (text,) = heard
    assert "inf" not in text
    assert re.search(r"the objective still had a relative change of \d\.\de-\d\d", text)
    assert not np.isinf(told).any()
    assert not model.converged_


def test_older_files_are_read(tmp_path) -> None:
    from tests.storage.test_model_file import rewrite

    model, _ = fitted(RankFactorClassifier(**VB, tol=1e-2))
    path = save_model(model.posterior_, tmp_path / "m")
    rewrite(path, lambda header, members: header.pop("convergence"))
    old = load_model(path).convergence
    assert old.converged
    assert "written by an older version" in old.criterion
    engine = Gibbs(n_draws=8, burn_in=0, n_chains=2, n_predict=2)
    model, _ = fitted(RankFactorClassifier(**VB, tol=1e-2, engine=engine))
    path = save_model(model.posterior_, tmp_path / "g")

    def older(header: dict[str, Any], members: Any) -> None:
        del header["convergence"]
        header["converged"] = True

    rewrite(path, older)
    assert load_model(path).convergence == model.convergence_


def test_ctrl_c_within_the_calibration(monkeypatch) -> None:
    """Calibration fits again: after Ctrl-C in it, the model is marked as interrupted."""

    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankfactor.engine.fitting.calibrate", interrupted)
    simulated = simulate(n=40, d=12)
    model = RankFactorClassifier(**VB, tol=1e-2)
    with pytest.warns(UserWarning, match="the fit is kept, but its probabilities are not calibr"):
        model.fit(simulated.X, simulated.y)
    assert model.convergence_.state == "interrupted"
    assert "the fit itself is converged after" in str(model.convergence_)


def test_cautions_give_the_advice() -> None:
    model, heard = fitted(RankFactorClassifier(**VB, max_iter=2, tol=1e-9))
    said = sentences.cautions(model.posterior_, heard)
    assert said[0].startswith(
        "The fit has not converged after 2 iterations: the ELBO still had a relative change"
    )
    assert said[0].endswith("raise max_iter, or raise tol if that change is acceptable.")
    assert heard[0] not in said
    fine = replace(model.posterior_, convergence=Convergence("converged"))
    assert not any("converged" in text for text in sentences.cautions(fine, []))
