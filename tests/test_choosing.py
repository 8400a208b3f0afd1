"""A choice takes the first of the best, and no fit that Ctrl-C ended early counts."""

import signal
from contextlib import suppress

import numpy as np
import pytest

from rankfactor.choosing import Choice, choose


def test_the_first_of_the_best_on_the_mean_over_folds():
    measures = {1: [0.5, 0.9, 0.6], 2: [0.5, 0.7, 1.0]}
    choice = choose("abc", [1, 2], measures.__getitem__)
    assert choice.scores == pytest.approx([0.5, 0.8, 0.8])
    assert choice.best == "b"


def test_sums_in_another_order_are_equal():
    assert 0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1
    choice = Choice("ab", [(0.3 + 0.2 + 0.1) / 3, (0.1 + 0.2 + 0.3) / 3])
    assert choice.best == "a"


def test_what_was_not_compared_is_not_chosen():
    assert Choice("abc", [np.nan, 0.4, np.nan]).best == "b"
    assert Choice("abc", [np.nan] * 3).best == "a"
    nothing = choose("abc", [], lambda fold: [])
    assert (nothing.scores, nothing.best) == ([], "a")


def test_a_fit_that_was_ended_early_ends_the_choice():
    done = []

    def measure(fold):
        for number in range(3):
            if number == 1:
                with suppress(KeyboardInterrupt):  # as a fit does, which keeps what it has
                    signal.raise_signal(signal.SIGINT)
            done.append(number)
            yield 0.5

    with pytest.raises(KeyboardInterrupt):
        choose("abc", [1, 2], measure)
    assert done == [0, 1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
