"""Figures of single features, chains and folds: ranks, traces, the band of an ROC."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score, roc_curve
from tests.plots import models

from rankfactor import plots
from rankfactor.errors import InputError
from rankfactor.interpret.held_out import GRID
from rankfactor.plots.held_out import fold_band
from rankfactor.posterior.diagnostics import convergence


def test_values_and_w_stand_against_ranks_with_their_cuts():
    posterior, values = models.two_tasks(), models.table()[0]["f5"].to_numpy().copy()
    values[3] = np.nan
    left, right = plots.rank_figure(posterior, values, "f5").axes
    known = ~np.isnan(values)
    points = np.asarray(left.collections[0].get_offsets())
    np.testing.assert_allclose(points, np.column_stack([rankdata(values[known]), values[known]]))
    w = posterior.scores.mean @ posterior.loadings[5]
    np.testing.assert_allclose(np.asarray(right.collections[0].get_offsets())[:, 1], w[known])
    cuts = posterior.coding.values[5][: posterior.coding.n_cuts[5]]
    drawn = [line.get_ydata()[0] for line in left.lines]
    np.testing.assert_allclose(drawn, cuts)
    marks = [line for line in right.lines if line.get_marker() == "D" and len(line.get_xdata())]
    np.testing.assert_allclose(
        [line.get_ydata()[0] for line in marks], posterior.params.mean[5][: len(cuts)]
    )
    # A cut lies between the ranks of the values below it and above it.
    np.testing.assert_allclose(
        [line.get_xdata()[0] for line in marks],
        [(values[known] <= cut).sum() + 0.5 for cut in cuts],
    )


def test_a_gaussian_feature_has_no_cuts():
    left, right = plots.rank_figure(models.gaussian(), models.table()[0]["f5"], "f5").axes
    assert not left.lines
    assert right.get_title("left") == "Latent w"


def test_traces_are_the_chains_and_r_hat_that_of_convergence():
    posterior = models.sampled()
    trace, ratios = plots.trace_figure(posterior).axes
    for line, values in zip(trace.lines, posterior.draws.log_likelihood, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    expected = convergence(posterior)["r_hat"]
    drawn = {
        int(y): float(x)
        for line in ratios.lines[1:]
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    assert [drawn[i] for i in range(len(expected))] == pytest.approx(expected.tolist())
    assert [label.get_text() for label in ratios.get_yticklabels()] == expected.index.tolist()
    assert ratios.spines["left"].get_visible()
    assert all(tick.tick1line.get_markersize() > 0 for tick in ratios.yaxis.get_major_ticks())


def frame():
    rng = np.random.default_rng(4)
    label = np.tile(["a", "b"], 45)
    decision = (label == "b") + rng.standard_normal(90)
    return pd.DataFrame(
        {
            "task": "t",
            "model": "m",
            "label": label,
            "decision": decision,
            "fold": np.arange(90) // 30,
        }
    )


def test_the_band_is_the_spread_of_the_folds_curves():
    rows = frame()
    low, high = fold_band(rows, (rows["label"] == "b").to_numpy())
    curves = []
    for _, part in rows.groupby("fold"):
        false, true, _ = roc_curve(part["label"] == "b", part["decision"])
        curves.append(np.interp(GRID, false, true))
    mean, sd = np.mean(curves, axis=0), np.std(curves, axis=0, ddof=1)
    np.testing.assert_allclose(low[1:], np.clip(mean - sd, 0, 1)[1:])
    np.testing.assert_allclose(high[1:], np.clip(mean + sd, 0, 1)[1:])
    assert low[0] == high[0] == 0
    axes = plots.roc_figure(rows, "t").axes[0]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    # The curve and its AUC are means over folds, too.
    areas = [roc_auc_score(part["label"], part["decision"]) for _, part in rows.groupby("fold")]
    assert texts == ["m: folds ± sd", f"m ({np.mean(areas):.2f})"]
    np.testing.assert_allclose(axes.lines[-1].get_ydata()[1:], mean[1:])
    assert np.trapezoid(mean, GRID) == pytest.approx(np.mean(areas), abs=0.01)


def test_no_band_without_two_folds_of_both_classes():
    rows = frame()
    hit = (rows["label"] == "b").to_numpy()
    assert fold_band(rows.drop(columns="fold"), hit) is None
    assert fold_band(rows.assign(fold=1), hit) is None
    assert fold_band(rows.assign(fold=hit.astype(int)), hit) is None
    assert not plots.roc_figure(rows, "t", band=False).axes[0].collections


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.rank_figure(models.two_tasks(), np.zeros(60), "nothing"), "'nothing'"),
        (lambda: plots.rank_figure(models.two_tasks(), np.zeros(60), 13), "the model has 13"),
        (lambda: plots.rank_figure(models.two_tasks(), np.zeros(60), "constant"), "does not vary"),
        (lambda: plots.rank_figure(models.two_tasks(), np.zeros(5), "f5"), "60 samples"),
        (lambda: plots.trace_figure(models.two_tasks()), "no draws"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
