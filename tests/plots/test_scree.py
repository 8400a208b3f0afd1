"""The figure of the eigenvalues beside those of permuted tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.plots import models

from rankfactor import plots


def lines_of(posterior):
    """The axes, and the points of every line by its label."""
    (axes,) = plots.scree_figure(posterior).axes
    return axes, {line.get_label(): line for line in axes.lines}


def test_eigenvalues_stand_beside_those_of_permuted_tables():
    count = models.counted().factor_count
    assert count.common == 2
    axes, lines = lines_of(models.counted())
    chance = lines["permuted tables, 95 % quantile"].get_ydata()
    np.testing.assert_array_equal(chance, count.chance[: len(chance)])
    above = lines["this table, above chance"]
    np.testing.assert_array_equal(above.get_xdata(), [1, 2])
    np.testing.assert_array_equal(above.get_ydata(), count.eigenvalues[:2])
    rest = lines["this table, not above chance"].get_ydata()
    np.testing.assert_array_equal(rest, count.eigenvalues[2 : len(chance)])
    assert [one.get_text() for one in axes.texts] == ["2 factors"]
    assert any(line.get_xdata()[0] == pytest.approx(2.5) for line in axes.lines)


def test_without_a_factor_no_mark_is_filled():
    axes, lines = lines_of(models.none_found())
    assert "this table, above chance" not in lines
    assert [one.get_text() for one in axes.texts] == ["0 factors"]


def test_eigenvalues_below_zero_are_left_out():
    posterior = models.counted()
    count = posterior.factor_count
    values = count.eigenvalues.copy()
    values[5:] = -0.1
    _, lines = lines_of(replace(posterior, factor_count=replace(count, eigenvalues=values)))
    assert len(lines["this table, not above chance"].get_ydata()) == 3
