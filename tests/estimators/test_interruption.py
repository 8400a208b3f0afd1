"""Ctrl-C: the first ends a fit early, and further ones do not lose it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine import calibration, fitting, gibbs, predictive, vb
from rankfactor.engine import fit as whole_fit
from rankfactor.engine.interruption import FINISHING, interruptible_once

RNG = np.random.default_rng(0)
Y = np.arange(24) % 2
X = RNG.standard_normal((24, 8)) + np.outer(2 * Y - 1, np.ones(8))
SETTINGS: dict[str, Any] = {"n_factors": 2, "random_state": 0, "n_threads": 1}


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def at(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, call: int = 1) -> Callable[[], int]:
    """Send Ctrl-C at the beginning of a call; returns a function that counts the calls."""
    real, count = getattr(module, name), 0

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        nonlocal count
        count += 1
        if count == call:
            ctrl_c()
        return real(*arguments, **settings)

    monkeypatch.setattr(module, name, interrupted)
    return lambda: count


def fitted(model: Any, *labels: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(X, *labels)
    return model, [str(one.message) for one in heard]


def told(texts: list[str], beginning: str) -> bool:
    return any(text.startswith(beginning) for text in texts)


@pytest.mark.parametrize("step", ["encode_samples", "fit_classifier", "hash_of_codes"])
@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_a_second_one_does_not_lose_the_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], training: str, step: str
) -> None:
    at(monkeypatch, vb, "record", 3)
    at(monkeypatch, fitting if step == "fit_classifier" else whole_fit, step)
    model, said = fitted(RankFactorClassifier(training=training, **SETTINGS), Y)
    assert told(said, "interrupted after ")
    assert model.predict(X).shape == (24,)
    assert capsys.readouterr().err == f"{FINISHING}\n"


def test_a_first_one_in_the_final_step_does_not_lose_it_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = RankFactorClassifier(training="bayes", **SETTINGS).fit(X, Y)
    at(monkeypatch, fitting, "fit_classifier")
    model, _ = fitted(RankFactorClassifier(training="bayes", **SETTINGS), Y)
    assert capsys.readouterr().err == f"{FINISHING}\n"
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_between_the_fit_and_predictive_training(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, fitting, "training_classifier")
    steps = at(monkeypatch, predictive, "step_rows", 0)
    model, said = fitted(RankFactorClassifier(training="predictive", **SETTINGS), Y)
    assert told(said, "interrupted after the label-free start")
    assert steps() == 0
    assert model.predict(X).shape == (24,)


@pytest.mark.parametrize(
    ("settings", "module", "name"),
    [
        ({"training": "predictive"}, calibration, "training_classifier"),
        ({"training": "predictive"}, predictive, "step_rows"),
        ({"training": "bayes", "calibration": "cross-validation"}, vb, "record"),
        ({"training": "bayes"}, calibration, "fit_classifier"),
    ],
)
def test_one_during_calibration_leaves_it_out(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], module: Any, name: str
) -> None:
    plain = RankFactorClassifier(**SETTINGS, **settings | {"calibration": "none"}).fit(X, Y)
    real = fitting.calibrate
    calls: Callable[[], int] = lambda: 0  # noqa: E731

    def begin(*arguments: Any) -> Any:
        nonlocal calls
        calls = at(monkeypatch, module, name, 3)
        return real(*arguments)

    monkeypatch.setattr(fitting, "calibrate", begin)
    model, said = fitted(RankFactorClassifier(**SETTINGS, **settings), Y)
    assert said == ["interrupted: the fit is kept, but its probabilities are not calibrated."]
    assert calls() == 3
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_a_small_beginning_that_is_interrupted_ends_the_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vb, "LARGE", 20)
    monkeypatch.setattr(vb, "SMALL", 12)
    passes = at(monkeypatch, vb, "record", 3)
    model, said = fitted(RankFactorAnalysis(**SETTINGS))
    assert told(said, "interrupted after ")
    assert passes() == 4  # that of all samples included
    assert model.transform(X).shape == (24, 2)


CHAINS = Gibbs(n_draws=8, burn_in=1, n_chains=1, n_predict=2)


def test_sampling_that_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, vb, "record", 3)
    sweeps = at(monkeypatch, gibbs, "_sweep", 0)
    model, said = fitted(RankFactorAnalysis(engine=CHAINS, **SETTINGS))
    assert told(said, "interrupted before the first sweep")
    assert sweeps() == 0
    assert model.posterior_.draws is None
    assert model.transform(X).shape == (24, 2)


def test_sampling_that_is_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(monkeypatch, gibbs.ThreadPoolExecutor, "shutdown")  # for the chains to end
    at(monkeypatch, fitting, "collect")
    # In the main thread, as a terminal does it, while the chain is in a thread of its own.
    real, begun = gibbs._sweep, 0

    def slow(*arguments: Any, **settings: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun == 5:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if begun > 5:
            ending.wait(60)
        return real(*arguments, **settings)

    ending = threading.Event()
    end = gibbs.Event

    class Ending(end):  # type: ignore[misc,valid-type]
        def set(self) -> None:
            super().set()
            ending.set()

    monkeypatch.setattr(gibbs, "Event", Ending)
    monkeypatch.setattr(gibbs, "_sweep", slow)
    model, said = fitted(RankFactorAnalysis(engine=CHAINS, **SETTINGS))
    assert told(said, "interrupted: the ")
    assert capsys.readouterr().err == f"{FINISHING}\n"
    assert 2 <= len(model.posterior_.draws.chain) < 8


def test_the_choice_of_a_weight_is_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = at(monkeypatch, fitting, "ascend", 0)
    at(monkeypatch, vb, "record", 3)
    model = RankFactorClassifier(training="predictive", label_weight="auto", **SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert fits() == 1


def test_blocks_within_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible_once() as outer:
        with interruptible_once() as inner:
            with pytest.raises(KeyboardInterrupt):
                ctrl_c()
            ctrl_c()
            ctrl_c()
        ctrl_c()
        assert (outer.came, inner.came) == (True, True)
    assert capsys.readouterr().err == f"{FINISHING}\n"
    assert signal.getsignal(signal.SIGINT) is before
    with interruptible_once() as outer, interruptible_once() as inner:
        inner.hold()
        ctrl_c()  # kept from the inner block, which the outer one takes note of
        assert outer.came


def test_it_is_left_alone_where_it_is_ignored_or_not_ours() -> None:
    found: list[Any] = []

    def elsewhere() -> None:
        with interruptible_once() as block:
            found.append(block.came)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [False]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible_once() as block:
            ctrl_c()
        assert not block.came
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert sys.exc_info() == (None, None, None)


def test_sigterm_is_ctrl_c_where_it_raises_and_is_left_alone_elsewhere() -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with interruptible_once() as outer, interruptible_once() as inner:
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)  # held back, as every further one
            assert (outer.came, inner.came) == (True, True)
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        heard: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
        with interruptible_once() as block:
            os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert not block.came
    finally:
        signal.signal(signal.SIGTERM, before)
