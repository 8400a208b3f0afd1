"""Figures of effects and contributions show the numbers of the tables."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.plots import models

from rankfactor import plots
from rankfactor.errors import InputError
from rankfactor.interpret import effect_table
from rankfactor.plots.style import PALETTE, UNCLEAR


def test_bars_are_the_largest_effects_and_name_the_side() -> None:
    posterior = models.two_tasks()
    (axes,) = plots.effect_figure(posterior, "group", n_features=5).axes
    table = effect_table(posterior)
    first = table[table["task"] == "group"].head(5)
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], first["effect"])
    colours = [to_hex(bar.get_facecolor()).lower() for bar in axes.patches]
    sides = [PALETTE[int(effect > 0)].lower() for effect in first["effect"]]
    assert colours == sides
    assert axes.get_title("left") == "← case <b>"
    assert axes.get_title("right") == "control & co →"
    assert not axes.texts  # stability was not assessed
    assert not axes.collections
    low, high = axes.get_xlim()
    assert low == -high


def test_what_is_not_clear_is_grey_and_stability_stands_beside() -> None:
    posterior = models.with_stability(models.two_tasks())
    panels = plots.effect_figure(posterior, "stage", n_features=12).axes
    table = effect_table(posterior)
    for axes, label in zip(panels, ("I", "II", "III"), strict=True):
        part = table[(table["task"] == "stage") & (table["class"] == label)]
        grey = [to_hex(bar.get_facecolor()).lower() == UNCLEAR for bar in axes.patches]
        assert grey == (~part["clear"].to_numpy(bool)).tolist()
        said = [text.get_text() for text in axes.texts]
        assert said == [f"{100 * one:.0f} %" for one in part["selected"]]
    assert any(grey)
    assert not all(grey)


def test_a_waterfall_goes_from_the_base_to_the_decision() -> None:
    posterior = models.two_tasks()
    X, _ = models.table()
    one = posterior.explain(X)["group: control & co"]
    sample = str(one.sample_names[3])
    (axes,) = plots.contribution_figure(one, sample, n_features=4).axes
    bars = axes.patches
    assert len(bars) == 5  # four features and the others together
    assert bars[0].get_x() == pytest.approx(one.base_values[3])
    for bar, following in pairwise(bars):
        assert following.get_x() == pytest.approx(bar.get_x() + bar.get_width())
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(one.decisions[3])
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels[0].startswith("Base ")
    assert labels[-2] == "9 other features"
    assert labels[-1].startswith("Decision ")


def test_bad_arguments() -> None:
    posterior = models.two_tasks()
    with pytest.raises(InputError, match="n_features must be a whole number"):
        plots.effect_figure(posterior, n_features=0)
    with pytest.raises(InputError, match="no task 'x'"):
        plots.effect_figure(posterior, "x")
    one = posterior.explain(models.table()[0])["group: control & co"]
    with pytest.raises(InputError, match="no sample 'nobody'"):
        plots.contribution_figure(one, "nobody")
