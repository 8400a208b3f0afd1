"""Work on threads; small work runs without them."""

import threading

import pytest

from rankfactor.steps.workers import SMALL, workers


def threads_of(n_threads: int, entries: float) -> set[int]:
    """Threads used for a table of the given number of entries."""
    with workers(n_threads, entries) as pool:
        return set(pool.map(lambda _: threading.get_ident(), range(8)))


@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_small_table_stays_on_the_thread_that_calls(n_threads: int) -> None:
    assert threads_of(n_threads, SMALL - 1) == {threading.get_ident()}


def test_a_large_table_has_threads_of_its_own() -> None:
    assert threading.get_ident() not in threads_of(2, SMALL)
    assert threads_of(1, SMALL) == {threading.get_ident()}


def test_items_keep_their_order_on_threads() -> None:
    with workers(3) as pool:
        assert pool.map(abs, range(-20, 0)) == list(range(20, 0, -1))
        assert list(pool.stream(abs, range(-7, 0))) == list(range(7, 0, -1))
