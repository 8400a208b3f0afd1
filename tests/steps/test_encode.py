import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.engine.test_vb import run
from tests.simulate import simulate

from rankfactor.kernels.packed import pack
from rankfactor.likelihoods import Gaussian, MarginRank, OrdinalProbit
from rankfactor.model import Model
from rankfactor.steps import encode as encoding
from rankfactor.steps.encode import Newton, encode
from rankfactor.steps.score import update_scores


class Hinges:
    """Concave functions -|x|^2 / 2 - sum_i sqrt((a_i . x - b_i)^2 + v): nearly kinked for small v.

    Newton's method alone runs away on them: far from the kinks they are all but straight.
    """

    def __init__(self, n=6, order=3, v=1e-3, seed=0):
        rng = np.random.default_rng(seed)
        self.a, self.b = rng.standard_normal((n, 40, order)), rng.standard_normal((n, 40))
        self.v = v

    def slopes(self, x, some):
        a = self.a[some]
        r = np.einsum("nik,nk->ni", a, x) - self.b[some]
        root = np.sqrt(r**2 + self.v)
        gradient = -x - np.einsum("ni,nik->nk", r / root, a)
        one = np.eye(x.shape[1])
        second = np.einsum("ni,nik,nil->nkl", self.v / root**3, a, a) + one
        # That of the quadratic -|x|^2 / 2 - sum_i (a_i . x - b_i)^2 / 2 root_i, which touches it.
        below = np.einsum("ni,nik,nil->nkl", 1.0 / root, a, a) + one
        return gradient, pack(second), pack(below)


def climb(functions, some, steps):
    x = np.full((len(some), 3), 2.0)
    path = Newton(*x.shape)
    for _ in range(steps):
        x, _ = path.propose(x, *functions.slopes(x, some))
    return x


def test_newton_finds_maxima_where_kinks_lead_it_too_far(monkeypatch):
    functions, everyone = Hinges(), np.arange(6)
    x = climb(functions, everyone, 60)
    assert np.abs(functions.slopes(x, everyone)[0]).max() < 1e-6
    monkeypatch.setattr(encoding, "BACK", 1e300)  # no step is too far
    astray = climb(functions, everyone, 60)
    assert np.abs(functions.slopes(astray, everyone)[0]).max() > 1.0


def test_a_path_does_not_depend_on_its_company():
    functions = Hinges()
    together = climb(functions, np.arange(6), 12)
    assert_allclose(climb(functions, np.array([4]), 12)[0], together[4], rtol=1e-12)


def test_functions_can_be_left_out_on_the_way():
    functions, some = Hinges(), np.arange(6)
    x, path = np.full((6, 3), 2.0), Newton(6, 3)
    for step in range(60):
        x, _ = path.propose(x, *functions.slopes(x, some))
        if step == 3:
            some, x = some[[1, 3]], x[[1, 3]]
            path.keep(np.array([1, 3]))
    assert_allclose(x, climb(functions, np.arange(6), 60)[[1, 3]], atol=1e-8)


@pytest.mark.parametrize("curved", [True, False])  # by Newton's method, by Anderson's
@pytest.mark.parametrize(
    "likelihood", [MarginRank(double=True), MarginRank(margin=0.5, double=True), Gaussian()]
)
def test_encoding_ends_where_plain_steps_do_in_fewer_of_them(likelihood, curved, monkeypatch):
    monkeypatch.setattr(MarginRank, "has_curvature", curved)
    model = Model(3, likelihood)
    # With seed 0 and margin 0.5, Anderson's method needs more than half of the 276 plain steps for
    # one sample; it ends at the same point.
    fit = run(model, simulate(n=60, d=30, seed=1).X, None, tol=1e-4)
    z = model.latent.law(60, 3)
    moved, steps = np.inf, 0
    while moved > 1e-11:
        new = update_scores([fit.data], model.latent, z, slice(0, 60))
        moved, z, steps = np.abs(new.mean - z.mean).max(), new, steps + 1
    ours = encode(
        [fit.data], model.latent, slice(0, 60), 3, tol=1e-10, max_steps=max(steps // 2, 3)
    )
    assert_allclose(ours.mean, z.mean, atol=1e-8)
    assert_allclose(ours.cov, z.cov, atol=1e-8)


def test_samples_of_rare_counts_arrive(monkeypatch):
    # The hinges of the zeros meet in one point, beside which the curvature is far too small.
    rng = np.random.default_rng(0)
    z, loadings = rng.standard_normal((60, 5)), 0.3 * rng.standard_normal((3000, 5))
    counts = rng.poisson(np.exp(np.log(0.035) + z @ loadings.T)).astype(float)
    model = Model(8, MarginRank(double=True))
    fit = run(model, counts[:, counts.std(axis=0) > 0], None, max_iter=5, warns=False)
    given = [fit.data], model.latent, slice(0, 60), 8

    def moved(steps):
        """How far a plain step moves the scores after that many of the encoder's."""
        z = encode(*given, tol=1e-6, max_steps=steps)
        new = update_scores([fit.data], model.latent, z, slice(0, 60))
        return np.abs(new.mean - z.mean).max()

    assert moved(60) < 1e-4
    monkeypatch.setattr(encoding, "PATIENCE", 200)
    assert moved(60) > 1e-3


def test_ordinal_probits_of_rare_values_are_encoded_to_their_fixed_point():
    """Plain steps are short here: one below the tolerance may end five tolerances from it."""
    rng = np.random.default_rng(9)
    loadings, scores = rng.standard_normal((400, 4)), rng.standard_normal((300, 4))
    counts = rng.poisson(0.02 * np.exp(scores @ loadings.T)).astype(float)
    model = Model(4, OrdinalProbit())
    given = [run(model, counts, None, tol=1e-4).data], model.latent, slice(0, 300), 4
    usual = encode(*given, tol=1e-4, max_steps=200).mean
    exact = encode(*given, tol=1e-10, max_steps=2000).mean
    assert np.abs(usual - exact).max() < 1e-4


def test_samples_that_have_no_steps_left_take_a_plain_one():
    model = Model(3, MarginRank(double=True))
    fit = run(model, simulate(n=60, d=30, seed=1).X, None, tol=1e-4)
    plain = update_scores([fit.data], model.latent, model.latent.law(60, 3), slice(0, 60))
    ours = encode([fit.data], model.latent, slice(0, 60), 3, tol=1e-8, max_steps=1)
    assert_allclose(ours.mean, plain.mean, atol=1e-12)
