"""A sample's scores and decisions do not depend on the samples beside it.

Matrix products round differently for other numbers of columns, and how depends on the processor:
`make test-processors` runs these tests as others than the machine's own.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.test_vb import run
from tests.simulate import simulate, with_holes

from rankfactor import RankFactorClassifier
from rankfactor.engine.chain import Gibbs
from rankfactor.latent import DPMixture
from rankfactor.likelihoods import (
    Gaussian,
    MarginRank,
    NeighbourRank,
    OrdinalProbit,
    OrdinaryRank,
)
from rankfactor.model import Model
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers, workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NEAR = {"rtol": 0, "atol": 1e-9}
N = 90
SIMULATED = simulate(n=N, d=300)  # features make three tiles
TABLE = with_holes(SIMULATED.X)
MODELS = {
    "margin rank": Model(5, MarginRank()),
    "wide margin": Model(5, MarginRank(margin=0.5)),  # steps that are too far
    "inferred margin": Model(5, MarginRank(margin_shape=1.0)),
    "gaussian": Model(5, Gaussian()),
    "ordinal probit": Model(5, OrdinalProbit(max_cuts=6)),
    "ordinary rank": Model(5, OrdinaryRank(table_cuts=16)),
    "neighbour rank": Model(5, NeighbourRank()),
    "margin rank, mixture": Model(5, MarginRank(), latent=DPMixture(4)),
    "gaussian, mixture": Model(5, Gaussian(), latent=DPMixture(4)),
}


@pytest.fixture(scope="module", params=MODELS)
def encoder(request):
    """Give label-free scores of some samples of the table."""
    model = MODELS[request.param]
    coding, fit = model.data.learn(TABLE), run(model, TABLE, None, max_iter=8)
    state = fit.data.state.copy()  # without latent values of training samples

    def encode(samples, pool=None, **settings):
        item = ObservedView(model.data_view, coding.observe(TABLE[samples]), state)
        return encode_samples(model, item, pool or Workers(), prior=fit.prior, **settings)

    return encode


def assert_same(one, other):
    assert_allclose(one.mean, other.mean, **NEAR)
    assert_allclose(one.cov, other.cov, **NEAR)


def test_scores_alone_in_company_and_in_another_order(encoder):
    together = encoder(np.arange(N))
    assert np.abs(together.mean).max() > 0.5
    order = np.random.default_rng(0).permutation(N)
    for samples in ([0], [N - 1], [17, 3], np.arange(40, 57), order[:64], order):
        assert_same(encoder(samples), together.take(np.asarray(samples)))
    # Among copies of another sample.
    crowd = encoder(np.append(np.full(70, 5), 41))
    assert_same(crowd.take(slice(70, 71)), together.take(slice(41, 42)))


def test_scores_for_any_block_and_number_of_threads(encoder):
    together = encoder(np.arange(N))
    for block in (1, 13, 64):
        assert_same(encoder(np.arange(N), block=block), together)
    with workers(2) as pool:
        assert_same(encoder(np.arange(N), pool, block=32), together)


@pytest.mark.usefixtures("threads_for_all")
@pytest.mark.parametrize(
    "settings",
    [
        {"model": "R-L-BSVM"},
        {"model": "G-L-Probit"},
        {"model": "OR-L-BSVM"},
        {"model": "R-NL-BSVM", "experts": "kernel"},
        {"model": "R-NL-BSVM", "experts": "mixed"},
        {"model": "R-NL-BSVM", "experts": "per_component"},
        {"model": "R-L-BSVM", "engine": Gibbs(n_draws=4, burn_in=2, n_predict=2, n_chains=2)},
    ],
    ids=lambda settings: ", ".join([settings["model"], *list(settings)[1:]]),
)
def test_decisions_of_one_row_and_of_the_table(settings):
    fitted = RankFactorClassifier(
        **settings, n_factors=3, max_iter=4, calibration="none", random_state=0
    )
    fitted.fit(TABLE, SIMULATED.y)
    decisions, scores = fitted.decision_function(TABLE), fitted.transform(TABLE)
    order = np.random.default_rng(1).permutation(N)
    for samples in ([0], [41], order[:20], order):
        assert_allclose(fitted.decision_function(TABLE[samples]), decisions[samples], **NEAR)
        assert_allclose(fitted.transform(TABLE[samples]), scores[samples], **NEAR)
    one, two = (fitted.set_params(n_threads=count).decision_function(TABLE) for count in (1, 2))
    assert_array_equal(one, two)
