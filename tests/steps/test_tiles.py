import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.engine.test_vb import run
from tests.simulate import simulate

from rankfactor.likelihoods import Gaussian, MarginRank
from rankfactor.model import Model
from rankfactor.steps import score
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.row import update_view
from rankfactor.steps.workers import Workers


@pytest.mark.parametrize(("n_samples", "length"), [(1, 1024), (62, 528), (256, 128), (9999, 128)])
def test_few_samples_get_long_tiles(n_samples, length):
    assert score.tile_length(n_samples) == length


@pytest.mark.parametrize("likelihood", [MarginRank(double=True), Gaussian()], ids=["rank", "gauss"])
def test_tiles_change_nothing_but_rounding(likelihood, monkeypatch):
    model = Model(2, likelihood)
    fit = run(model, simulate(n=20, d=12).X, None, tol=1e-3)
    found = []
    for least, most in ((128, 1024), (5, 5)):
        monkeypatch.setattr(score, "TILE", least)
        monkeypatch.setattr(score, "LONGEST_TILE", most)
        item = score.ObservedView(fit.data.view, fit.data.observed, fit.data.state.copy())
        assert len(item.tiles(score.tile_length(20))) == (1 if most > 5 else 3)
        z = encode_samples(model, item, Workers())
        bound = update_view(item, z, Workers())
        found.append((z.mean, item.state.rows.mean, np.array(bound)))
    for one, other in zip(*found, strict=True):
        assert_allclose(one, other, rtol=1e-10, atol=1e-10)
