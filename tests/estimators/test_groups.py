"""Groups of samples in everything that a fit chooses by internal folds."""

import numpy as np
import pandas as pd
import pytest
from tests.simulate import simulate

from rankfactor import InputError, RankFactorClassifier
from rankfactor.engine import calibration
from rankfactor.estimators import label_weight
from rankfactor.evaluation import ChooseFactors

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def auto():
    return RankFactorClassifier(
        n_factors=2, max_iter=2, random_state=0, training="predictive", label_weight="auto"
    )


@pytest.fixture
def seen(monkeypatch):
    """The folds that a label weight is chosen by."""
    folds = []

    def area(estimator, weight, table, labels, class_index, fold):
        folds.append(fold)
        return 0.5

    monkeypatch.setattr(label_weight, "_area", area)
    return folds


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: ChooseFactors(one, [2])])
def test_groups_stay_together_where_the_label_weight_is_chosen(seen, wrap):
    data = simulate(n=60, d=8)
    groups = np.repeat(np.arange(20), 3)
    wrap(auto()).fit(data.X, data.y, groups=groups)
    assert len(seen) == 3 * len(label_weight.CANDIDATES)
    for fold in seen:
        assert not set(groups[fold.train]) & set(groups[fold.test])
    seen.clear()
    wrap(auto()).fit(data.X, data.y)
    assert any(set(groups[fold.train]) & set(groups[fold.test]) for fold in seen)


def test_groups_that_leave_nothing_to_choose_by(seen):
    data = simulate(n=60, d=8)
    with pytest.raises(InputError, match="there are only 2 groups: set a number"):
        auto().fit(data.X, data.y, groups=np.arange(60) % 2)
    # Every class in a group of its own: no part has both.
    own = np.where(data.y == data.y[0], 0, 1 + np.arange(60) % 2)
    with pytest.warns(UserWarning, match="cannot choose: using 3"):
        model = auto().fit(data.X, data.y, groups=own)
    assert (model.label_weight_, seen) == (3.0, [])


def test_groups_of_another_index_are_refused():
    data = simulate(n=60, d=8)
    groups = pd.Series(np.arange(60) // 3, index=np.arange(60)[::-1])
    with pytest.raises(InputError, match="groups does not have the index of the table"):
        auto().fit(pd.DataFrame(data.X), data.y, groups=groups)


def test_groups_stay_together_where_decisions_are_calibrated(monkeypatch):
    data = simulate(n=60, d=8)
    groups, seen = np.repeat(np.arange(20), 3), []
    deal = calibration.deal

    def watched(*arguments):
        seen.append(deal(*arguments))
        return seen[-1]

    monkeypatch.setattr(calibration, "deal", watched)
    model = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0)
    model.fit(data.X, data.y, groups=groups)
    model.fit(data.X, data.y)
    grouped, free = seen
    for folds in seen:
        assert sorted(np.concatenate(folds)) == list(range(60))
    for number in range(20):
        assert sum(number in groups[fold] for fold in grouped) == 1
    assert any(sum(number in groups[fold] for fold in free) > 1 for number in range(20))
