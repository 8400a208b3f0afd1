"""Mean ranks over data sets, against known answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f, friedmanchisquare

from rankfactor.experiments.ranks import friedman, mean_ranks


def scores(n: int = 12, k: int = 4, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.random((n, k)) + 0.2 * np.arange(k), columns=list("ABCD")[:k])


def test_ranks_and_ties() -> None:
    found = mean_ranks(pd.DataFrame({"A": [0.9, 0.5], "B": [0.8, 0.5], "C": [0.7, 0.9]}))
    assert found.mean.to_dict() == {"A": 1.75, "C": 2.0, "B": 2.25}
    assert found.mean.index[0] == "A"
    assert found.n_sets == 2


@pytest.mark.parametrize("tied", [False, True])
def test_friedman_is_scipy_s_in_the_form_of_iman_and_davenport(tied: bool) -> None:
    table = scores().round(1 if tied else 12)
    n, k = table.shape
    chi2 = friedmanchisquare(*(table[name] for name in table)).statistic
    expected = f.sf((n - 1) * chi2 / (n * (k - 1) - chi2), k - 1, (k - 1) * (n - 1))
    assert friedman(table.rank(axis=1).to_numpy()) == pytest.approx(expected)


def test_the_critical_difference_is_demsar_s() -> None:
    # Demsar (2006), Table 5: q is 2.569 for four models and 3.164 for ten, at 5 %.
    assert mean_ranks(scores(14)).critical == pytest.approx(
        2.569 * np.sqrt(4 * 5 / (6 * 14)), rel=1e-3
    )
    wide = pd.DataFrame(np.random.default_rng(0).random((20, 10)))
    assert mean_ranks(wide).critical == pytest.approx(3.164 * np.sqrt(10 * 11 / (6 * 20)), rel=1e-3)


def test_who_is_as_good() -> None:
    n = 30
    table = pd.DataFrame({"A": np.ones(n), "B": np.zeros(n), "C": np.full(n, -1.0)})
    found = mean_ranks(table)
    assert found.p_value == 0.0
    assert found.as_good("A") == ["A"]
    table["B"] = np.where(np.arange(n) % 2, 2.0, 0.0)
    assert mean_ranks(table).as_good("A") == ["A", "B"]


def test_equal_models_do_not_differ_and_few_sets_say_nothing() -> None:
    assert mean_ranks(pd.DataFrame(np.ones((5, 3)))).p_value == 1.0
    one = mean_ranks(scores(1))
    assert np.isnan(one.p_value)
    assert len(one.as_good("A")) == 4


def test_sets_without_a_score_are_left_out() -> None:
    table = scores(6)
    table.loc[2, "B"] = np.nan
    found = mean_ranks(table)
    assert found.n_sets == 5
    assert found.mean.mean() == pytest.approx(2.5)
