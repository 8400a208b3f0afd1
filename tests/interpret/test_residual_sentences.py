"""What a report says of decisions of two parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.simulate import simulate

from rankfactor import RankFactorClassifier
from rankfactor.interpret.sentences import factors_carry, methods


@pytest.fixture(scope="module")
def posterior():
    simulated = simulate(60, 50)
    model = RankFactorClassifier(n_factors=2, training="label-free", max_iter=20, tol=1.0)
    return model.set_params(random_state=0).fit(simulated.X, simulated.y).posterior_


def with_share(posterior, share):
    classifiers = posterior.classifiers
    residual = replace(classifiers.residual, share=np.array([share]))
    return replace(posterior, classifiers=replace(classifiers, residual=residual))


def test_share_of_the_factors_is_what_the_residual_leaves(posterior):
    said = factors_carry(with_share(posterior, 0.3), 0)
    assert said == (
        "The factors account for 70 % of the decision, residuals of single features for 30 %."
    )


def test_methods_tell_both_parts_and_the_training(posterior):
    told = " ".join(methods(with_share(posterior, 0.25), 0))
    assert "Factors are fitted to the table alone." in told
    assert "A decision has two parts" in told
    assert "The factors account for 75 %" in told
