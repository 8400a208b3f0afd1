"""The move that scales rows with their cut points, against the joint density of the moved state.

The density that it draws from is written down when it asks for draws; the draws themselves
(`draw_slices`) are tested in `tests.kernels.test_slices`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.moved import (
    MODELS,
    K,
    cut_points,
    joint_density,
    latent_values,
    log_variables,
    state_of,
)

from rankfactor.engine import row_scales
from rankfactor.engine.row_scales import draw_row_scales
from rankfactor.kernels.rng import Stream

SCALED = [name for name in MODELS if name != "gaussian"]
# Latent values are of single precision.
LOOSE = {"ordinary rank": 1e-4, "ranked blocks": 1e-4}
GRID = (-3.0, -0.7, 0.3, 1.5)


def recorded(monkeypatch, state, t, seed):
    """Move all rows of a tile by t; the density that was drawn from, and the first row."""
    found = []

    def record(log_density, n, stream, first=0):
        found.append((log_density, n, first))
        return np.array([t(first + i) for i in range(n)])

    monkeypatch.setattr(row_scales, "draw_slices", record)
    draw_row_scales(state.data, state.z, Stream.from_seed(seed))
    return found[0] if found else None


def tiles_of(case, monkeypatch):
    """Seeds that choose different tiles with a scale, by their first row."""
    chosen = {}
    for seed in range(30):
        found = recorded(monkeypatch, state_of(case), lambda row: 0.0, seed)
        if found is not None:
            chosen.setdefault(found[2], seed)
    return chosen


@pytest.mark.parametrize("case", SCALED)
def test_law_is_the_density_of_the_moved_state(case, monkeypatch):
    start = state_of(case)
    whole, before = joint_density(start), log_variables(start.data)
    tiles = tiles_of(case, monkeypatch)
    assert len(tiles) == {"blocks": 2}.get(case, 1)  # blocks of numbers have no scale
    for first, seed in tiles.items():
        density, n, _ = recorded(monkeypatch, state_of(case), lambda row: 0.0, seed)
        for row in (first, first + n - 1):
            some = np.array([row - first])
            for t in GRID:
                found = density(np.array([t]), some) - density(np.zeros(1), some)
                state = state_of(case)
                recorded(monkeypatch, state, lambda i, row=row, t=t: t * (i == row), seed)
                jacobian = (log_variables(state.data) - before).sum()
                expected = joint_density(state) - whole + jacobian
                assert_allclose(found[0], expected, rtol=1e-6, atol=LOOSE.get(case, 1e-6))


@pytest.mark.parametrize("case", SCALED)
def test_rows_and_their_parameters_are_multiplied_together(case, monkeypatch):
    before = state_of(case)
    for first, seed in tiles_of(case, monkeypatch).items():
        after = state_of(case)
        _, n, _ = recorded(monkeypatch, after, lambda row: 2 * np.log(1.0 + row), seed)
        factor = np.ones(len(before.data.state.rows.mean))
        factor[first : first + n] = 1.0 + np.arange(first, first + n)
        one, other = before.data.state, after.data.state
        assert_allclose(other.rows.mean[:, :K], one.rows.mean[:, :K] * factor[:, None], rtol=1e-12)
        assert_array_equal(other.rows.mean[:, K:], one.rows.mean[:, K:])
        likelihood = before.data.view.likelihood
        for old, new, x in zip(
            cut_points(likelihood, one.params),
            cut_points(likelihood, other.params),
            factor,
            strict=True,
        ):
            assert_allclose(new[0], old[0] * x, rtol=1e-12)
        for old, new, x in zip(
            latent_values(likelihood, one.params),
            latent_values(likelihood, other.params),
            factor,
            strict=True,
        ):
            assert_allclose(new, old * x, rtol=1e-6)
        assert_array_equal(after.z.mean, before.z.mean)


def test_a_gaussian_has_no_scale():
    state = state_of("gaussian")
    rows = state.data.state.rows.mean.copy()
    draw_row_scales(state.data, state.z, Stream.from_seed(1))
    assert_array_equal(state.data.state.rows.mean, rows)


def test_a_large_table_is_done_a_tile_at_a_time(monkeypatch):
    """Two rows per sweep: eventually all are moved, each by its own law."""
    monkeypatch.setattr(row_scales, "ENTRIES", 50)
    moved = np.zeros(7, bool)
    for seed in range(40):
        state = state_of("ordinal")
        before = state.data.state.rows.mean.copy()
        draw_row_scales(state.data, state.z, Stream.from_seed(seed))
        changed = (state.data.state.rows.mean != before).any(axis=1)
        assert changed.sum() <= 2
        moved |= changed
    assert moved.all()


def test_moves_go_far():
    """Cut points and loadings change by far more than the widths of an interval."""
    state = state_of("margin rank")
    before = np.log(np.abs(state.data.state.rows.mean)).copy()
    draw_row_scales(state.data, state.z, Stream.from_seed(2))
    assert np.abs(np.log(np.abs(state.data.state.rows.mean)) - before).max() > 0.05
