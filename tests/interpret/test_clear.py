"""What is clear is one thing: the tables, the figures, the report and `active` agree on it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rankfactor.interpret import coefficient_table, factor_table
from rankfactor.interpret.directions import effects_on, task_effects
from rankfactor.interpret.sentences import strongest_factors
from rankfactor.laws.normal import Normal
from rankfactor.plots import coefficient_figure
from rankfactor.plots.style import UNCLEAR
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import CLEAR, clear_coefficients, coefficient_certainty
from rankfactor.storage.model_file import load_model

FIXTURES = Path(__file__).parents[1] / "fixtures"


@cache
def after_vb() -> Posterior:
    """Coefficients on either side of every border that was ever used."""
    posterior = load_model(FIXTURES / "linear_v1.rankfactor")
    assert posterior.classifiers is not None
    rows = posterior.classifiers.rows
    mean = np.zeros_like(rows.mean)
    borders = np.array([1.6401, 1.6449, 0.5, 1.6448, -1.6449, 3.0])
    mean[:, :-1] = np.resize(borders, mean[:, :-1].shape)
    classifiers = replace(posterior.classifiers, rows=Normal.isotropic(mean, 1.0))
    return replace(posterior, classifiers=classifiers)


@cache
def after_gibbs() -> Posterior:
    """A law with two humps: its mean is far from zero by its sd, a tenth of it on the other side.

    And one with a long tail, which is nowhere below zero and has a large sd.
    """
    posterior = load_model(FIXTURES / "gibbs_v1.rankfactor")
    assert posterior.draws is not None
    assert posterior.classifiers is not None
    shape = posterior.classifiers.rows.mean.shape
    means = np.ones((20, *shape))
    means[:2] = -0.01
    means[..., 0] = 0.05
    means[0, :, 0] = 100.0
    return replace(
        posterior,
        draws=replace(
            posterior.draws, classifiers=tuple(Normal.isotropic(one, 1e-6) for one in means)
        ),
        # The law that the page must not use: everything unclear by it.
        classifiers=replace(posterior.classifiers, rows=Normal.isotropic(means.mean(axis=0), 1e6)),
    )


@pytest.mark.parametrize("made", [after_vb, after_gibbs])
def test_the_same_coefficients_are_clear_everywhere(made) -> None:
    posterior = made()
    table = coefficient_table(posterior)
    rates = table["lfsr"].to_numpy().reshape(-1, posterior.n_factors)
    clear = rates < CLEAR
    assert clear.any()
    assert not clear.all()
    assert (clear_coefficients(posterior) == clear).all()
    assert (coefficient_certainty(posterior).clear == clear).all()
    # A factor whose coefficient is clear is in use.
    assert posterior.active[clear.any(axis=0)].all()
    interval = ((table["low"] > 0) | (table["high"] < 0)).to_numpy().reshape(clear.shape)
    assert (interval == clear).all()
    for number, task in enumerate(posterior.classifiers.tasks):
        rows = posterior.classifiers.rows_of(number)
        expected = set(np.flatnonzero(clear[rows].any(axis=0)).tolist())
        shown = {e.factor for e in effects_on(posterior, number) if e.clear}
        assert shown == expected
        every = [e for one in task_effects(posterior) for e in one if e.task == task.name]
        assert {e.factor for e in every if e.clear} == expected
        said = {k for k, _ in strongest_factors(posterior, number, count=posterior.n_factors)}
        assert said == expected
        figure = coefficient_figure(posterior, number)
        filled = [
            [
                line.get_markerfacecolor() != "white"
                for line in axes.lines
                if (line.get_gid() or "").startswith("point-")
            ]
            for axes in figure.axes
            if axes.get_visible()
        ]
        used = np.flatnonzero(posterior.active)
        assert np.array_equal(filled, clear[rows][:, used])
        grey = {line.get_color() for axes in figure.axes for line in axes.lines}
        assert (UNCLEAR in grey) == (not clear[rows][:, used].all())
    said_of = factor_table(posterior)["task"] != ""
    assert said_of.tolist() == clear.any(axis=0).tolist()


def test_after_gibbs_sampling_the_draws_decide_and_not_their_mean_and_sd() -> None:
    """The normal law of the same mean and variance would call the first unclear."""
    posterior = after_gibbs()
    found = coefficient_certainty(posterior)
    assert found.clear[:, 0].all()
    assert (found.mean[:, 0] < 1.645 * found.sd[:, 0]).all()
    assert not found.clear[:, 1:].any()
    assert (found.mean[:, 1:] > 1.645 * found.sd[:, 1:]).all()
