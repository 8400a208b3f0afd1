"""The weight of the residual in the prior, from the labels."""

import numpy as np
import pytest
from scipy.special import logsumexp

from rankfactor import RankFactorClassifier
from rankfactor.classifiers.residual_weight import RATIOS, WEIGHTS, residual_weight


def parts(n=120, d=40, k=3, seed=0):
    """Columns of scores and of residuals, each of mean square sum 1."""
    rng = np.random.default_rng(seed)
    C, R = rng.normal(size=(n, k)) / np.sqrt(k), rng.normal(size=(n, d)) / np.sqrt(d)
    return C, R, rng


def brute_force(C, R, y):
    """The posterior mean by dense matrices."""
    n = len(y)
    centre = np.eye(n) - 1 / n
    y = y - y.mean()
    unit = ((centre @ C) ** 2).sum() / n
    by_weight = []
    for v in WEIGHTS:
        kernel = centre @ ((1 - v) * C @ C.T + v * R @ R.T) @ centre
        logs = []
        for h in RATIOS / unit:
            Q = np.eye(n) + h * kernel
            logs.append(
                -0.5 * np.linalg.slogdet(Q)[1] - 0.5 * (n - 1) * np.log(y @ np.linalg.solve(Q, y))
            )
        by_weight.append(logsumexp(logs))
    p = np.exp(by_weight - logsumexp(by_weight))
    return p @ np.array(WEIGHTS)


@pytest.mark.parametrize("d", [40, 300], ids=["few features", "many features"])
def test_equals_the_restricted_likelihood_of_dense_matrices(d):
    C, R, rng = parts(d=d)
    y = np.sign(C[:, 0] + R[:, 0] + 0.3 * rng.normal(size=len(C)))
    assert residual_weight(C, R @ R.T, y) == pytest.approx(brute_force(C, R, y), rel=1e-8)


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0, 0.08), (0.5, 0.3, 0.7), (1.0, 0.6, 1)])
def test_finds_the_part_that_tells(share, low, high):
    found = []
    for seed in range(8):
        C, R, rng = parts(n=300, seed=seed)
        inside, outside = C @ rng.normal(size=C.shape[1]), R @ rng.normal(size=R.shape[1])
        f = np.sqrt(1 - share) * inside + np.sqrt(share) * outside
        found.append(residual_weight(C, R @ R.T, np.sign(f + 0.3 * rng.normal(size=len(f)))))
    assert low < np.mean(found) < high


def test_does_not_depend_on_the_unit_or_the_order():
    C, R, rng = parts()
    y = np.sign(C[:, 0] + rng.normal(size=len(C)))
    once = residual_weight(C, R @ R.T, y)
    assert residual_weight(5 * C, 25 * R @ R.T, y) == pytest.approx(once, rel=1e-9)
    order = rng.permutation(len(y))
    again = residual_weight(C[order], R[order] @ R[order].T, -y[order])
    assert again == pytest.approx(once, rel=1e-9)


def test_labels_of_one_class_leave_the_prior():
    C, R, _ = parts(n=10)
    assert residual_weight(C, R @ R.T, np.ones(10)) == pytest.approx(np.mean(WEIGHTS))


def test_without_factors_the_residual_has_all():
    C, R, _ = parts(n=10)
    assert residual_weight(0 * C, R @ R.T, np.repeat([1.0, -1.0], 5)) == 1.0


def test_default_keeps_out_noise_beside_factors_that_tell_everything():
    """With a fixed weight the share was 0.08, and AUC up to 0.07 below that of the scores alone."""
    rng = np.random.default_rng(3)
    n, d = 300, 60
    z = rng.normal(size=(n, 4))
    X = z @ rng.normal(size=(4, d)) + rng.normal(size=(n, d))
    y = rng.random(n) < 1 / (1 + np.exp(-1.5 * z[:, 0] + z[:, 1]))
    model = RankFactorClassifier(random_state=0, n_threads=1).fit(X, y)
    assert model.residual_share_[0] < 0.02
