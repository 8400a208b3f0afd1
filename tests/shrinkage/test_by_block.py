"""The base prior in each of several views."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.simulate import simulate

from rankfactor import InputError
from rankfactor.engine import vb
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Gaussian, MarginRank
from rankfactor.model import Model
from rankfactor.shrinkage import SHRINKAGE, TPBN, NormalARD, ShrinkageByBlock
from rankfactor.steps.workers import workers

BASES = [*(kind() for kind in SHRINKAGE.values()), TPBN(scope="row"), NormalARD(scope="row")]
MIXED = [0, 1, 0, 1, 1, 0, 0]  # rows of two views, not side by side


def squares(n_rows, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, 3)) ** 2


def settled(prior, values, steps=3, stream=None):
    scales = prior.start(*values.shape)
    for step in range(steps):
        scales = prior.update(scales, values, None if stream is None else stream.child(step))
    return scales


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("drawn", [False, True])
def test_a_single_view_is_the_base_to_the_last_bit(base, drawn):
    values, stream = squares(5), Stream.from_seed(0) if drawn else None
    one, other = ShrinkageByBlock.of(base, [0] * 5), base
    a, b = settled(one, values, stream=stream), settled(other, values, stream=stream)
    assert_array_equal(one.precision(a), other.precision(b))
    kept = {name.removesuffix("_0"): value for name, value in one.kept(a).items()}
    assert kept.keys() == other.kept(b).keys()
    for name, value in other.kept(b).items():
        assert_array_equal(kept[name], value)
    if drawn:
        u = np.array([0.5, 2.0, 3.0])
        assert_array_equal(one.stretch(a, values).rate, other.stretch(b, values).rate)
        assert_array_equal(
            one.precision(one.stretched(a, u)), other.precision(other.stretched(b, u))
        )
    else:
        assert one.bound(a, values) == other.bound(b, values)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_views_know_nothing_of_one_another(base):
    values, prior, numbers = squares(7), ShrinkageByBlock.of(base, MIXED), np.array(MIXED)
    scales = settled(prior, values)
    parts = [settled(base, values[numbers == view]) for view in (0, 1)]
    for view in (0, 1):
        assert_array_equal(prior.precision(scales)[numbers == view], base.precision(parts[view]))
    bounds = [base.bound(parts[view], values[numbers == view]) for view in (0, 1)]
    assert prior.bound(scales, values) == pytest.approx(sum(bounds), rel=1e-14)
    stretches = [base.stretch(parts[view], values[numbers == view]) for view in (0, 1)]
    whole = prior.stretch(scales, values)
    assert whole.power == sum(one.power for one in stretches)
    assert_array_equal(whole.rate, stretches[0].rate + stretches[1].rate)
    assert_array_equal(whole.inverse, stretches[0].inverse + stretches[1].inverse)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_what_is_kept_has_the_dimensions_that_it_says(base):
    prior = ShrinkageByBlock.of(base, MIXED)
    kept = prior.kept(settled(prior, squares(7)))
    assert kept.keys() == prior.kept_dims.keys()
    sizes = {"row": 7, "factor": 3}
    for name, value in kept.items():
        assert np.shape(value) == tuple(sizes[dim] for dim in prior.kept_dims[name])


def test_views_alike_have_draws_of_their_own():
    values = np.tile(squares(1), (4, 1))
    prior = ShrinkageByBlock.of(NormalARD(), [0, 0, 1, 1])
    precision = prior.precision(settled(prior, values, 1, Stream.from_seed(0)))
    assert_array_equal(precision[0], precision[1])
    assert (precision[0] != precision[2]).all()


def test_draws_keep_the_prior():
    """Geweke: the law of loadings drawn in turn with their scales is the prior's in both views."""
    base, rng, n = NormalARD(3.0, 2.0), np.random.default_rng(0), 4000
    prior, stream, draws = ShrinkageByBlock.of(base, [0, 1, 0]), Stream.from_seed(0), []
    scales = prior.start(3, 2)
    for step in range(n):
        a = rng.standard_normal((3, 2)) / np.sqrt(prior.precision(scales))
        scales = prior.update(scales, a**2, stream.child(step))
        draws.append(np.abs(a))
    precision = rng.gamma(3.0, 1 / 2.0, 100_000)
    expected = np.median(np.abs(rng.standard_normal(100_000)) / np.sqrt(precision))
    np.testing.assert_allclose(np.median(draws, axis=0), expected, rtol=0.15)


@pytest.mark.parametrize("runs", [(), ((1, 3),), ((0, 2), (2, 1))])
def test_numbers_that_are_left_out_are_refused(runs):
    with pytest.raises(InputError, match="numbered"):
        ShrinkageByBlock(TPBN(), runs)


def test_another_number_of_rows_is_refused():
    with pytest.raises(InputError, match="3 rows in all, but there are 4"):
        ShrinkageByBlock.of(TPBN(), [0, 0, 1]).start(4, 2)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_a_model_goes_through_json(base):
    model = Model(3, MarginRank(), loading_shrinkage=ShrinkageByBlock.of(base, MIXED))
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert_array_equal(again.loading_shrinkage.rows[1], [1, 3, 4])


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.parametrize("likelihood", [MarginRank(double=True), Gaussian()], ids=repr)
@pytest.mark.parametrize("name", SHRINKAGE)
def test_the_bound_never_falls(likelihood, name):
    data = simulate(n=60, d=20)
    views = np.arange(20) % 2
    model = Model(4, likelihood, loading_shrinkage=ShrinkageByBlock.of(SHRINKAGE[name](), views))
    coding = model.data.learn(data.X)
    with workers(1) as pool:
        fit = vb.ascend(
            model,
            coding,
            coding.observe(data.X),
            None,
            vb.Settings(max_iter=60, tol=1e-7, warns=False),
            np.random.default_rng(0),
            pool,
        )
    steps = np.diff(fit.history.elbo)
    assert steps.min() > -1e-8 * abs(fit.history.elbo[-1])
    assert steps[0] > 0
