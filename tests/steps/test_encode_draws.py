"""Samples encoded by many draws together, against one draw after another."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.engine.moved import MODELS, state_of

from rankfactor.kernels.rng import Stream
from rankfactor.latent import StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.model import ViewState
from rankfactor.steps.encode import encode
from rankfactor.steps.encode_draws import encode_draws
from rankfactor.steps.score import ObservedView


@pytest.mark.parametrize("case", MODELS)
def test_a_draw_s_scores_do_not_depend_on_the_others(case):
    item, samples = state_of(case).data, np.array([0, 2, 3])
    order = item.state.rows.order - item.view.has_intercept
    rng, states = np.random.default_rng(0), []
    for number in range(5):
        # Of sizes far apart, so that draws need different numbers of steps.
        rows = 3.0**number / 9 * rng.standard_normal(item.state.rows.mean.shape)
        params = item.state.params.draw(Stream.from_seed(number)).copy()
        states.append(ViewState(Normal.certain(rows), params, None))
    limits = {"tol": 1e-3, "max_steps": 200}
    found = encode_draws(item.view, item.observed, states, samples, order, **limits)
    for state, scores in zip(states, found, strict=True):
        one = ObservedView(item.view, item.observed, state)
        alone = encode([one], StandardNormal(), samples, order, **limits)
        assert_allclose(scores, alone.mean, atol=1e-8)


def test_a_limit_of_steps_is_kept():
    item, samples = state_of("margin rank").data, np.array([1])
    order = item.state.rows.order - item.view.has_intercept
    state = ViewState(item.state.rows, item.state.params.copy(), None)
    one = ObservedView(item.view, item.observed, state)
    for steps in (1, 2):
        limits = {"tol": 1e-9, "max_steps": steps}
        found = encode_draws(item.view, item.observed, [state], samples, order, **limits)
        alone = encode([one], StandardNormal(), samples, order, **limits)
        assert_allclose(found[0], alone.mean, atol=1e-10)
