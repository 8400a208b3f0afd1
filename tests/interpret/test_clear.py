"""Tables, figures, the report and `active` agree on what is clear."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.plots import models

from rankfactor.interpret import coefficient_table, factor_table
from rankfactor.interpret.directions import directions_on, task_directions
from rankfactor.interpret.sentences import strongest_factors
from rankfactor.laws.normal import Normal
from rankfactor.plots import coefficient_figure
from rankfactor.plots.style import UNCLEAR
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import (
    CLEAR,
    assessed,
    coefficient_certainty,
    nonzero_coefficients,
)
from rankfactor.storage.model_file import load_model

FIXTURES = Path(__file__).parents[1] / "fixtures"


@cache
def after_vb() -> Posterior:
    """Coefficients on either side of every threshold that was ever used."""
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
    """A bimodal law: its mean is many sd from zero, yet a tenth of it is on the other side.

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


@cache
def after_refits() -> Posterior:
    """Standard deviations between samples for which some coefficients differ from zero."""
    return models.with_stability(models.two_tasks())


def test_after_variational_bayes_alone_nothing_is_clear() -> None:
    """Coefficients are stated although their uncertainty is not assessed."""
    posterior = after_vb()
    assert not assessed(posterior)
    table = coefficient_table(posterior)
    assert table[["sd", "low", "high", "lfsr", "clear"]].isna().all(axis=None)
    assert not coefficient_certainty(posterior).clear.any()
    stated = nonzero_coefficients(posterior)
    assert stated.any()
    assert not stated.all()
    for number in range(len(posterior.classifiers.tasks)):
        rows = posterior.classifiers.rows_of(number)
        shown = {e.factor for e in directions_on(posterior, number) if e.stated}
        assert shown == set(np.flatnonzero(stated[rows].any(axis=0)).tolist())
    figure = coefficient_figure(posterior, 0)
    marks = [line for line in figure.axes[0].lines if (line.get_gid() or "").startswith("point-")]
    assert {line.get_markerfacecolor() for line in marks} == {"white"}
    assert factor_table(posterior)["n_features"].isna().all()


@pytest.mark.parametrize("made", [after_gibbs, after_refits])
def test_the_same_coefficients_are_clear_everywhere(made) -> None:
    posterior = made()
    assert assessed(posterior)
    table = coefficient_table(posterior)
    clear = table["clear"].to_numpy(bool).reshape(-1, posterior.n_factors)
    assert clear.any()
    assert not clear.all()
    assert (coefficient_certainty(posterior).clear == clear).all()
    if made is after_gibbs:
        rates = table["lfsr"].to_numpy().reshape(clear.shape)
        assert (clear == (rates < CLEAR)).all()
        # A factor whose coefficient is clear is in use.
        assert posterior.active[clear.any(axis=0)].all()
    for number, task in enumerate(posterior.classifiers.tasks):
        rows, used = posterior.classifiers.rows_of(number), set(np.flatnonzero(posterior.active))
        expected = set(np.flatnonzero(clear[rows].any(axis=0)).tolist())
        shown = {e.factor for e in directions_on(posterior, number) if e.stated}
        assert shown == expected & used
        every = [e for one in task_directions(posterior) for e in one if e.task == task.name]
        assert {e.factor for e in every if e.stated} == expected
        said = {k for k, _ in strongest_factors(posterior, number, count=posterior.n_factors)}
        assert said == expected & used
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
        assert np.array_equal(filled, clear[rows][:, sorted(used)])
        grey = {line.get_color() for axes in figure.axes for line in axes.lines}
        assert (UNCLEAR in grey) == (not clear[rows][:, sorted(used)].all())
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
