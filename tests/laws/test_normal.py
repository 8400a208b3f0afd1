import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, ortho_group
from tests import reference
from tests.laws.goodness import N, assert_fits

from rankfactor.kernels.packed import pack, unpack
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import product_moments


def law(n, order, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, order, order + 2))
    return Normal.from_natural(pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((n, order)))


def test_entropy():
    rows = law(3, 4)
    expected = sum(multivariate_normal(cov=c).entropy() for c in unpack(rows.cov))
    assert_allclose(rows.entropy(), expected)


def test_product_moments_agree_with_the_definition():
    a, z = law(6, 4, 1), law(5, 4, 2)
    w, var_w = product_moments(a, z, True)
    slow = reference.product_moments(a.mean, unpack(a.cov), z.mean, unpack(z.cov))
    assert_allclose(w, slow[0])
    assert_allclose(var_w, slow[1], rtol=1e-9)


def test_reordered_permutes_and_flips_moments():
    rows = law(3, 4)
    order, sign = np.array([2, 0, 3, 1]), np.array([1.0, -1.0, -1.0, 1.0])
    turned = rows.reordered(order, sign)
    assert_allclose(turned.mean, rows.mean[:, order] * sign)
    full = unpack(rows.cov)[:, order][:, :, order] * np.outer(sign, sign)
    assert_allclose(unpack(turned.cov), full)


def test_transformed_moments():
    rows, turn = law(3, 4), ortho_group.rvs(4, random_state=0)
    turned = rows.transformed(turn)
    assert_allclose(turned.mean, rows.mean @ turn)
    assert_allclose(unpack(turned.cov), turn.T @ unpack(rows.cov) @ turn)
    second = turn.T @ unpack(rows.second) @ turn
    assert_allclose(unpack(turned.second), second)
    assert_allclose(turned.entropy(), rows.entropy())
    drawn = rows.draw(Stream.from_seed(0))
    assert_allclose(
        drawn.transformed(turn).second, drawn.transformed(turn).draw(Stream.from_seed(1)).second
    )


def test_transformed_by_any_invertible_matrix():
    rows, matrix = law(5000, 3), np.array([[1.0, 0.4, 0.0], [0.0, 2.0, -0.3], [0.2, 0.0, 0.5]])
    moved = rows.transformed(matrix)
    full = matrix.T @ unpack(rows.cov) @ matrix
    assert_allclose(unpack(moved.cov), full)
    assert_allclose(moved.log_det, np.linalg.slogdet(full)[1])
    single = Normal(rows.mean, np.asfortranarray(rows.cov, np.float32), rows.log_det)
    assert single.transformed(matrix).cov.dtype == np.float32
    assert_allclose(single.transformed(matrix).cov, moved.cov, rtol=1e-5, atol=1e-6)


def test_nearly_singular_precision_still_gives_a_law():
    column = np.array([[1.0, 1e-3, 1e-6]])
    precision = pack(column[:, :, None] * column[:, None, :] * 1e8)
    rows = Normal.from_natural(precision, np.zeros((1, 3)))
    assert np.isfinite(rows.cov).all()
    assert np.isfinite(rows.log_det).all()


def test_draws_have_the_moments():
    one = law(1, 4)
    many = one.take(np.zeros(N, np.int64))
    draws = many.draw(Stream.from_seed(0))
    scale = np.sqrt(one.variance[0])
    assert_allclose(draws.mean.mean(axis=0) / scale, one.mean[0] / scale, atol=5 / np.sqrt(N))
    found = np.cov(draws.mean.T) / np.outer(scale, scale)
    expected = unpack(one.cov)[0] / np.outer(scale, scale)
    assert_allclose(found, expected, atol=5 * np.sqrt(2 / N))


def test_natural_draws_follow_the_law():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((4, 6))
    precision, shift = a @ a.T, rng.standard_normal(4)
    packed = np.tile(pack(precision[None]), (N, 1))
    draws = Normal.draw_natural(packed, np.tile(shift, (N, 1)), Stream.from_seed(0)).mean
    white = (draws - np.linalg.solve(precision, shift)) @ np.linalg.cholesky(precision)
    for one in white.T:
        assert_fits(one, "norm", 4)
    assert_allclose(white.T @ white / N, np.eye(4), atol=5 * np.sqrt(2 / N))


def test_natural_draws_of_slices_equal_the_whole():
    rng, stream = np.random.default_rng(1), Stream.from_seed(4)
    a = rng.standard_normal((29, 5, 7))
    precision, shift = pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((29, 5))
    whole = Normal.draw_natural(precision, shift, stream)
    assert not whole.cov.any()
    assert not whole.log_det.any()
    assert whole.cov.shape == precision.shape
    for first, last in ((0, 1), (0, 13), (7, 29), (28, 29)):
        part = Normal.draw_natural(precision[first:last], shift[first:last], stream, first)
        assert_array_equal(part.mean, whole.mean[first:last])
    assert not (Normal.draw_natural(precision, shift, stream, 1).mean == whole.mean).any()
    # It is written to, as other laws are.
    whole.put(slice(0, 2), law(2, 5))
    assert whole.cov[:2].any()


def test_natural_draws_of_a_nearly_singular_precision():
    column = np.array([[1.0, 1e-3, 1e-6]])
    singular = pack(column[:, :, None] * column[:, None, :] * 1e8)
    precision = np.concatenate([pack(np.eye(3)[None]), singular])
    stream = Stream.from_seed(0)
    draws = Normal.draw_natural(precision, np.zeros((2, 3)), stream)
    assert np.isfinite(draws.mean).all()
    # The ridge is that of `from_natural`, and the other row is as it would be alone.
    scale = np.sqrt(Normal.from_natural(precision, np.zeros((2, 3))).variance)
    assert (np.abs(draws.mean) < 6 * scale).all()
    alone = Normal.draw_natural(precision[:1], np.zeros((1, 3)), stream)
    assert_array_equal(alone.mean, draws.mean[:1])


def test_a_draw_is_a_law_without_variance():
    draw = law(6, 4).draw(Stream.from_seed(0))
    assert not draw.cov.any()
    assert not draw.log_det.any()
    assert_allclose(unpack(draw.second), draw.mean[:, :, None] * draw.mean[:, None, :])
    # Drawing a point gives it again.
    assert_array_equal(draw.draw(Stream.from_seed(1)).mean, draw.mean)
    w, var_w = product_moments(draw, draw, True)
    assert_allclose(w, draw.mean @ draw.mean.T)
    assert not var_w.any()


def test_a_constant_stays_constant():
    draw = law(6, 4).with_one().draw(Stream.from_seed(0))
    assert_array_equal(draw.mean[:, -1], np.ones(6))


def test_slices_equal_whole():
    rows, stream = law(29, 5), Stream.from_seed(4)
    whole = rows.draw(stream).mean
    for a, b in ((0, 1), (0, 13), (7, 29), (28, 29)):
        assert_array_equal(rows.take(slice(a, b)).draw(stream, a).mean, whole[a:b])
    assert not (rows.draw(stream, 1).mean == whole).any()


def test_a_law_without_variance_takes_no_room_until_it_has_some():
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((6, 3))
    sure = Normal.certain(mean.copy())
    assert sure.is_certain
    assert not sure.cov.any()
    assert sure.copy().is_certain
    assert sure.take(slice(1, 3)).is_certain
    assert_array_equal(sure.squares, mean * mean)
    sure.put(slice(0, 2), Normal.certain(np.ones((2, 3))))
    assert sure.is_certain
    assert_array_equal(sure.mean[:2], 1.0)
    other = law(2, 3)
    sure.put(slice(4, 6), other)
    assert not sure.is_certain
    assert_array_equal(sure.cov[4:], other.cov)
    assert not sure.cov[:4].any()
