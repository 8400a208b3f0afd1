import numpy as np
from numpy.testing import assert_allclose
from tests.inference.test_vb import run
from tests.simulate import simulate

from rankfactor.inference.acceleration import Anderson
from rankfactor.inference.encode import encode
from rankfactor.inference.local import update_scores
from rankfactor.likelihoods import MarginRank
from rankfactor.model import Model


def linear_maps(n=5, order=4, seed=0):
    """Contractions x -> M x + c with eigenvalues up to 0.95, and their fixed points."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, order, order)))[0]
    M = turn * np.linspace(0.3, 0.95, order) @ turn.transpose(0, 2, 1)
    c = rng.standard_normal((n, order))
    return M, c, np.linalg.solve(np.eye(order) - M, c[..., None])[..., 0]


def test_linear_maps_are_solved_in_a_few_steps():
    M, c, exact = linear_maps()
    x, path = np.zeros_like(c), Anderson(*c.shape)
    plain = x.copy()
    for _ in range(25):
        plain = np.einsum("nkl,nl->nk", M, plain) + c
        x = path.propose(x, np.einsum("nkl,nl->nk", M, x) + c)
    assert np.abs(plain - exact).max() > 0.1
    assert np.abs(x - exact).max() < 1e-6


def test_vectors_do_not_depend_on_their_company():
    M, c, _ = linear_maps()

    def solve(some):
        x, path = np.zeros_like(c[some]), Anderson(*c[some].shape)
        for _ in range(6):
            x = path.propose(x, np.einsum("nkl,nl->nk", M[some], x) + c[some])
        return x

    assert_allclose(solve(np.arange(5))[3], solve(np.array([3]))[0], rtol=1e-10)


def test_vectors_can_be_left_out_on_the_way():
    M, c, exact = linear_maps()
    x, path, some = np.zeros_like(c), Anderson(*c.shape), np.arange(5)
    for step in range(25):
        x = path.propose(x, np.einsum("nkl,nl->nk", M[some], x) + c[some])
        if step == 4:
            some = some[[1, 3]]
            x = x[[1, 3]]
            path.keep(np.array([1, 3]))
    assert_allclose(x, exact[[1, 3]], atol=1e-6)


def test_a_residual_that_grows_is_followed_by_a_plain_step():
    path = Anderson(1, 1)
    path.propose(np.array([[0.0]]), np.array([[1.0]]))
    path.propose(np.array([[1.0]]), np.array([[1.5]]))
    assert_allclose(path.propose(np.array([[9.0]]), np.array([[5.0]])), [[5.0]])


def test_encoding_has_the_fixed_point_of_the_plain_steps_in_fewer_of_them():
    model = Model(3, MarginRank(double=True))
    fit = run(model, simulate(n=60, d=30).X, None, tol=1e-4)
    z = model.latent.law(60, 3)
    moved, steps = np.inf, 0
    while moved > 1e-10:
        new = update_scores([fit.data], model.latent, z, slice(0, 60))
        moved, z, steps = np.abs(new.mean - z.mean).max(), new, steps + 1
    arguments = ([fit.data], model.latent, slice(0, 60), 3)
    ours = encode(*arguments, tol=1e-10, max_steps=steps // 2)
    assert_allclose(ours.mean, z.mean, atol=1e-8)
    assert_allclose(ours.cov, z.cov, atol=1e-8)
