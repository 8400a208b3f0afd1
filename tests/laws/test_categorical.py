import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from tests.laws.goodness import LEVEL, N

from rankfactor.kernels.rng import Stream
from rankfactor.laws.categorical import Categorical, entropy, indicators

LOGITS = np.array([[0.0, 0.0, 0.0, 0.0], [800.0, 801.0, 799.5, 803.0], [-3.0, 1.0, -np.inf, 0.5]])


def test_probabilities_and_entropy():
    law = Categorical(LOGITS)
    p = np.exp(LOGITS - LOGITS.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    assert_allclose(law.mean, p)
    expected = -sum(x * np.log(x) for x in p.ravel() if x)
    assert_allclose(entropy(law.mean), expected)
    assert_allclose(entropy(np.eye(3)), 0.0, atol=1e-15)


def test_draws_have_the_law():
    for number, row in enumerate(LOGITS):
        law = Categorical(np.tile(row, (N, 1)))
        draw = law.draw(Stream.from_seed(number))
        assert_array_equal(np.unique(draw), [0.0, 1.0])
        assert_array_equal(draw.sum(axis=1), 1.0)
        p, count = law.mean[0], draw.sum(axis=0)
        assert (count[p == 0] == 0).all()
        seen = p > 0
        assert chisquare(count[seen], N * p[seen]).pvalue > LEVEL / len(LOGITS)


def test_slices_equal_whole():
    logits = np.random.default_rng(0).standard_normal((40, 5))
    whole = Categorical(logits).draw(Stream.from_seed(3))
    assert_array_equal(Categorical(logits[7:29]).draw(Stream.from_seed(3), 7), whole[7:29])
    assert not (Categorical(logits).draw(Stream.from_seed(3), 1) == whole).all()


def test_indicators():
    assert_array_equal(indicators(np.array([2, 0]), 3), [[0, 0, 1], [1, 0, 0]])
