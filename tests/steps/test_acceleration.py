import numpy as np
from numpy.testing import assert_allclose

from rankfactor.steps.acceleration import Anderson


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
