import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankfactor.classifiers.gated import Gated, GatedScores, fit_gated
from rankfactor.kernels.packed import pack, unpack
from rankfactor.latent import Gates, MixedExperts
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Gaussian, Hinge, ObservedArray
from rankfactor.model import Model

N, K, T = 80, 3, 4


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    root = 0.3 * rng.standard_normal((N, K, K))
    return Normal(rng.standard_normal((N, K)), pack(root @ root.transpose(0, 2, 1)), np.zeros(N))


@pytest.fixture(params=[True, False], ids=["shared", "local only"])
def gates(request):
    rng = np.random.default_rng(1)
    return Gates(
        rng.standard_normal((T, K)),
        rng.uniform(0.5, 3, T),
        np.log(rng.dirichlet(np.ones(T))),
        np.array([0.4]),
        np.array([request.param]),
    )


def test_gates_are_tempered_responsibilities(scores, gates):
    log_density = [
        gates.log_share[t]
        + 0.5 * K * np.log(gates.precision[t])
        - 0.5 * gates.precision[t] * ((scores.mean - gates.centres[t]) ** 2).sum(axis=1)
        for t in range(T)
    ]
    power = np.exp(0.4 * np.array(log_density).T)
    expected = power / power.sum(axis=1, keepdims=True)
    assert_allclose(gates.responsibilities(scores.mean), expected, rtol=1e-10)
    r = gates.weights(scores.mean)
    assert r.shape == (N, gates.n_gates)
    assert_allclose(r[:, -T:], expected, rtol=1e-10)


def test_slope_of_gates(scores, gates):
    values = np.random.default_rng(2).standard_normal((N, gates.n_gates))
    slope = gates.slope(scores.mean, values)
    for k in range(K):
        move = np.zeros(K)
        move[k] = 1e-6
        ends = [(gates.weights(scores.mean + s * move) * values).sum(axis=1) for s in (1, -1)]
        assert_allclose(slope[:, k], (ends[0] - ends[1]) / 2e-6, atol=1e-7)


def dense(design, tau):
    """Sum of tau (r r^T) (x) E[d d^T] and the designs' Kronecker products, by definition."""
    second = unpack(design.scores.second)
    return sum(
        t * np.kron(np.outer(r, r), s) for t, r, s in zip(tau, design.gates, second, strict=True)
    )


def test_solve_is_the_conjugate_update(scores, gates):
    design = GatedScores.at(scores, gates)
    rng = np.random.default_rng(3)
    tau, rho = rng.uniform(0.1, 2, (2, N)), rng.standard_normal((2, N))
    size = gates.n_gates * (K + 1)
    prior = rng.uniform(0.1, 1, size)
    rows = design.solve(tau, rho, prior)
    for row in range(2):
        P = dense(design, tau[row]) + np.diag(prior)
        shift = sum(
            q * np.kron(r, d)
            for q, r, d in zip(rho[row], design.gates, design.scores.mean, strict=True)
        )
        assert_allclose(rows.mean[row], np.linalg.solve(P, shift), rtol=1e-8)
        assert_allclose(unpack(rows.cov)[row], np.linalg.inv(P), rtol=1e-7, atol=1e-12)
        assert_allclose(rows.log_det[row], -np.linalg.slogdet(P)[1], rtol=1e-9)


def test_moments_of_decisions(scores, gates):
    design = GatedScores.at(scores, gates)
    size = gates.n_gates * (K + 1)
    rng = np.random.default_rng(4)
    root = 0.2 * rng.standard_normal((1, size, size))
    rows = Normal(rng.standard_normal((1, size)), pack(root @ root.transpose(0, 2, 1)), np.zeros(1))
    f, var_f = design.decide(rows)
    cov, b = unpack(rows.cov)[0], rows.mean[0]
    for n in (0, 17, 63):
        r = np.outer(design.gates[n], design.gates[n])
        spread = np.kron(r, unpack(design.scores.cov)[n])
        second = np.kron(r, unpack(design.scores.second)[n])
        assert_allclose(f[0, n], b @ np.kron(design.gates[n], design.scores.mean[n]))
        assert_allclose(var_f[0, n], b @ spread @ b + (cov * second).sum())


MATRICES = {
    "order and signs": np.eye(K)[:, [2, 0, 1]] * [1.0, -1.0, -1.0],
    "any": np.array([[1.0, 0.4, -0.2], [0.0, 0.5, 0.3], [0.7, 0.0, 2.0]]),
}


@pytest.mark.parametrize("matrix", MATRICES)
def test_experts_in_other_coordinates_decide_alike(scores, gates, matrix):
    signed = np.sign(scores.mean[:, 0] * scores.mean[:, 1])[None]
    model = Model(K, Gaussian(), Hinge(), experts=MixedExperts(gates.n_gates - 1))
    start = Gated(gates, Normal.isotropic(np.zeros((1, gates.n_gates * (K + 1))), 0.01))
    experts = fit_gated(model, ObservedArray(signed), scores, start, tol=1e-6, max_steps=100)
    moved, there = experts.transformed(MATRICES[matrix]), scores.transformed(MATRICES[matrix])
    for ours, expected in zip(moved.decide(there), experts.decide(scores), strict=True):
        assert_allclose(ours, expected, rtol=1e-9)
    assert moved.gates.n_used(there.mean) == experts.gates.n_used(scores.mean)
    # Decisions are the same function of the samples, so that their gradients change by F^-T.
    slope = np.ones((1, len(scores.mean)))
    expected = experts.gradient(scores, slope) @ np.linalg.inv(MATRICES[matrix]).T
    assert_allclose(moved.gradient(there, slope), expected, rtol=1e-8, atol=1e-10)


def test_the_average_is_the_linear_part_of_the_decisions(scores, gates):
    rng = np.random.default_rng(5)
    size = gates.n_gates * (K + 1)
    rows = Normal.isotropic(rng.standard_normal((1, size)), 0.2)
    share = gates.weights(scores.mean).mean(axis=0)
    average = Gated(gates, rows).average(scores)
    blocks = rows.mean.reshape(gates.n_gates, K + 1)
    assert_allclose(average.mean[0], share @ blocks)
    assert_allclose(unpack(average.cov)[0], 0.2 * (share**2).sum() * np.eye(K + 1), atol=1e-12)
