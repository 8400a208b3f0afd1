"""Every figure shows the posterior's numbers; labels neither overlap nor are cut off."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from sklearn.metrics import roc_auc_score
from tests.plots import models

from rankfactor import plots
from rankfactor.errors import InputError
from rankfactor.interpret import table_quality
from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.wording import percent
from rankfactor.laws.normal import Normal
from rankfactor.plots.style import PALETTE, UNCLEAR, figure_style, shorten


def chances():
    """Labels, one missing, and probabilities of two models."""
    rng = np.random.default_rng(0)
    chance = rng.random(300)
    labels = np.where(rng.random(300) < chance, "ill", "healthy").astype(object)
    labels[0] = None
    return labels, {"as they are": chance, "too sure": np.where(chance > 0.5, 0.97, 0.03)}


def many_classes(n):
    """Decisions on so many classes, one row per sample and class, in three folds."""
    rng = np.random.default_rng(n)
    names = np.array([f"{models.LONG} {i}" if i == 1 else f"class {i:02}" for i in range(n)])
    label = np.tile(np.arange(n), 12)
    decision = rng.standard_normal((12 * n, n)) + 2 * (label[:, None] == np.arange(n))
    rows = {
        "sample": np.repeat([f"s{i}" for i in range(12 * n)], n),
        "fold": np.repeat(np.arange(12 * n) // n % 3, n),
        "label": np.repeat(names[label], n),
        "predicted": np.repeat(names[decision.argmax(axis=1)], n),
        "positive": np.tile(names, 12 * n),
        "decision": decision.ravel(),
    }
    return pd.DataFrame({"task": "kind", "model": "m", **rows})


def holes():
    """Where a table of 60 samples and 13 features has values."""
    return np.random.default_rng(0).random((60, 13)) > np.linspace(-0.1, 0.9, 13)


FIGURES = {
    "coefficients, two classes": lambda: plots.coefficient_figure(models.two_tasks(), "group"),
    "coefficients, three classes": lambda: plots.coefficient_figure(models.two_tasks(), 1),
    "coefficients of all tasks": lambda: plots.joint_coefficient_figure(
        models.two_tasks(), title="All <tasks> & classes"
    ),
    "scores": lambda: plots.score_figure(models.two_tasks(), "stage"),
    "scores without labels": lambda: plots.score_figure(models.unsupervised()),
    "scores on one factor": lambda: plots.score_figure(models.one_factor(), 0),
    "loadings": lambda: plots.loading_figure(models.two_tasks()),
    "loadings, clustered": lambda: plots.loading_figure(models.two_tasks(), order="cluster"),
    "loadings as images": lambda: plots.loading_image_figure(models.two_tasks(), (1, 13)),
    "loadings of models as images": lambda: plots.compared_images_figure(
        {"R-L-BSVM": models.two_tasks(), "one <factor>": models.one_factor()}, (13, 1), title="T"
    ),
    "ranks": lambda: plots.rank_figure(models.two_tasks(), models.table()[0]["f5"], "f5"),
    "traces": lambda: plots.trace_figure(models.sampled()),
    "responsibilities": lambda: plots.responsibility_figure(models.nonlinear(), "stage"),
    "network": lambda: plots.network_figure(models.network()),
    "network with a title": lambda: plots.network_figure(models.network(), title="A <title>"),
    "scree": lambda: plots.scree_figure(models.counted()),
    "scree without a factor": lambda: plots.scree_figure(models.none_found()),
    "history": lambda: plots.history_figure(models.two_tasks()),
    "distributions": lambda: plots.distribution_figure(models.two_tasks(), "stage"),
    "factor correlations": lambda: plots.factor_correlation_figure(models.two_tasks()),
    "shares": lambda: plots.share_figure(models.two_tasks()),
    "comparison": lambda: plots.comparison_figure(models.comparison()),
    "recovery": lambda: plots.recovery_figure(models.recovery(), title="A <title>", own=["ours"]),
    "stress": lambda: plots.stress_figure(models.stress(), title="A <title>", own=["model 0"]),
    "roc": lambda: plots.roc_figure(models.decisions(), "group"),
    "roc of every class": lambda: plots.roc_figure(many_classes(3), "kind"),
    "roc of many classes": lambda: plots.roc_figure(many_classes(14), "kind"),
    "confusion": lambda: plots.confusion_figure(many_classes(3), "kind"),
    "confusion of many classes": lambda: plots.confusion_figure(many_classes(14), "kind"),
    "missing": lambda: plots.missing_figure(table_quality(models.table()[0].where(holes()))),
    "reliability": lambda: plots.reliability_figure(*chances()),
}


def drawn(figure):
    """Renderer after drawing; outside our style, as in a notebook."""
    canvas = FigureCanvasAgg(figure)
    with figure_style():
        canvas.draw()
    return canvas.get_renderer()


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.quick_cases(
    *("coefficients, three classes", "scores", "loadings, clustered", "network", "reliability"),
    *("recovery", "stress"),
)
def test_labels_lie_inside_the_figure_and_apart(name):
    figure = FIGURES[name]()
    renderer = drawn(figure)
    page = figure.bbox
    for axes in figure.axes:
        if not (axes.get_visible() and axes.axison):
            continue
        for place in ("left", "center", "right"):
            if axes.get_title(place):
                box = {"left": axes._left_title, "center": axes.title, "right": axes._right_title}[
                    place
                ].get_window_extent(renderer)
                assert page.x0 - 1 <= box.x0 < box.x1 <= page.x1 + 1
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            boxes = [
                tick.label1.get_window_extent(renderer)
                for tick in axis.get_major_ticks()
                if low <= tick.get_loc() <= high
                and tick.label1.get_visible()
                and tick.label1.get_text()
            ]
            for box in boxes:
                assert page.x0 - 1 <= box.x0 < box.x1 <= page.x1 + 1
                assert page.y0 - 1 <= box.y0 < box.y1 <= page.y1 + 1
            for i, one in enumerate(boxes):
                assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_no_figure_changes_matplotlib_or_makes_a_pyplot_figure():
    before = dict(matplotlib.rcParams)
    FIGURES["shares"]()
    FIGURES["roc"]()
    assert dict(matplotlib.rcParams) == before
    assert not Gcf.figs


def test_coefficients_of_all_tasks_are_those_of_each():
    posterior = models.two_tasks()
    figure = plots.joint_coefficient_figure(posterior, title="A title")
    assert figure.get_suptitle() == "A title"
    panels = figure.axes
    assert len(panels) == 4  # one for two classes, three for three
    assert [axes.get_title().strip() for axes in panels] == ["group", "stage", "stage", "stage"]
    assert panels[0].get_title("left") == "← case <b>"
    assert [axes.get_title("right") for axes in panels[1:]] == ["I →", "II →", "III →"]
    alone = [
        *plots.coefficient_figure(posterior, 0).axes,
        *plots.coefficient_figure(posterior, 1).axes,
    ]

    def points(axes):
        return [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "o"]

    for joint, own in zip(panels, alone, strict=True):
        assert points(joint) == points(own)
        low, high = joint.get_xlim()
        assert low == -high
    with pytest.raises(InputError, match="fitted without labels"):
        plots.joint_coefficient_figure(models.unsupervised())


def test_coefficients_and_intervals_are_the_posteriors():
    posterior = models.with_coefficients(
        models.two_tasks(), [[1.0, -0.5, 0.1], *np.zeros((3, 3))], sd=0.1
    )
    assert posterior.active.all()
    (axes,) = plots.coefficient_figure(posterior, "group").axes
    assert not [line for line in axes.lines if line.get_linewidth() == 2]  # not assessed
    posterior = models.with_stability(posterior)
    spread = np.where([True, True, False], 0.1, 1.0) * np.ones((4, 1))
    stability = replace(posterior.stability, coefficient_sd=spread * posterior.samples.sd)
    posterior = posterior.with_stability(stability)
    (axes,) = plots.coefficient_figure(posterior, "group").axes
    points = [line for line in axes.lines if line.get_marker() == "o"]
    # For one standard deviation of a factor's scores, so that factors can be compared.
    unit = posterior.scores.mean.std(axis=0)
    expected = unit * [1.0, -0.5, 0.1]
    assert [float(p.get_xdata()[0]) for p in points] == pytest.approx(expected)
    intervals = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 2]
    ends = unit[0] * np.array([1 - 0.17531, 1 + 0.17531])  # Student's t of 15 pairs
    assert intervals[0] == pytest.approx(ends, abs=1e-4)
    # The second class to the right in its colour, the first to the left, unclear ones grey.
    assert [to_hex(p.get_color()).lower() for p in points] == [
        PALETTE[1].lower(),
        PALETTE[0].lower(),
        UNCLEAR,
    ]
    assert axes.get_title("left") == "← case <b>"
    assert axes.get_title("right") == "control & co →"


def test_scores_are_drawn_class_by_class():
    posterior = models.with_coefficients(
        models.two_tasks(), [[0.1, 0.0, 2.0], *np.zeros((3, 3))], sd=0.1
    )
    (axes,) = plots.score_figure(posterior, "group").axes
    class_index = posterior.classifiers.class_index[:, 0]
    shown = {}
    for part in axes.collections:
        if len(part.get_offsets()):
            shown[to_hex(part.get_facecolor()[0]).lower()] = np.asarray(part.get_offsets())
    for number in (0, 1):
        expected = posterior.scores.mean[class_index == number][:, [2, 0]]
        np.testing.assert_allclose(shown[PALETTE[number].lower()], expected)


def test_unknown_labels_are_shown_as_such():
    figure = plots.score_figure(models.two_tasks(), "stage")
    assert "unknown (5)" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_many_points_become_pixels():
    posterior = models.two_tasks()
    few = plots.score_figure(posterior).axes[0].collections[0]
    assert not few.get_rasterized()
    many = replace(models.unsupervised(), scores=Normal.isotropic(np.zeros((2500, 3)), 1.0))
    assert plots.score_figure(many).axes[0].collections[0].get_rasterized()


def test_heat_map_holds_the_loadings_in_readable_order():
    posterior = models.unsupervised()
    figure = plots.loading_figure(posterior, features_per_factor=3)
    axes = figure.axes[0]
    values = np.asarray(axes.images[0].get_array())
    labels = [label.get_text() for label in axes.get_yticklabels()]
    index = {shorten(name): i for i, name in enumerate(posterior.feature_names)}
    factors = np.flatnonzero(posterior.active)
    rows = [index[label] for label in labels]
    np.testing.assert_allclose(values, posterior.structure[np.ix_(rows, factors)])
    home = (np.abs(values) / np.abs(posterior.structure[:, factors]).max(axis=0)).argmax(axis=1)
    assert (np.diff(home) >= 0).all()
    assert "constant" not in labels
    # The largest loading of every factor is there.
    for k in factors:
        assert int(np.abs(posterior.structure[:, k]).argmax()) in rows


def test_at_most_so_many_features():
    figure = plots.loading_figure(models.unsupervised(), most_features=5)
    assert len(figure.axes[0].get_yticklabels()) == 5


def test_roc_is_that_of_the_positive_class():
    frame = models.decisions()
    part = frame[(frame["task"] == "group") & (frame["model"] == "R-L-BSVM")]
    for positive in ("control & co", "case <b>"):
        auc = roc_auc_score(part["label"] == positive, part["decision"])
        figure = plots.roc_figure(frame, "group", positive=positive)
        texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert texts[0] == f"R-L-BSVM ({auc:.2f})"
    assert auc < 0.5


def test_every_class_has_its_curve_and_auc():
    frame = many_classes(3)
    axes = plots.roc_figure(frame, "kind").axes[0]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    for text, (positive, part) in zip(texts, frame.groupby("positive"), strict=True):
        folds = [fold for _, fold in part.groupby("fold")]
        areas = [roc_auc_score(fold["label"] == positive, fold["decision"]) for fold in folds]
        assert text == f"{shorten(positive, 22)} ({np.mean(areas):.2f})"
    many = plots.roc_figure(many_classes(14), "kind").axes[0]
    assert [text.get_text() for text in many.get_legend().get_texts()][-1] == "6 more classes"
    assert len(many.lines) == 1 + 14 + 1  # the diagonal, the classes, the name of the others


def test_confusion_shows_samples_and_shares():
    frame = many_classes(3)
    axes = plots.confusion_figure(frame, "kind").axes[0]
    once = frame.drop_duplicates("sample")
    counts = pd.crosstab(once["label"], once["predicted"]).to_numpy()
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    for (row, column), count in np.ndenumerate(counts):
        expected = f"{count}\n{100 * count / 12:.0f} %" if count else None
        assert texts.get((column, row)) == expected
    strength = np.array([patch.get_facecolor()[3] for patch in axes.patches]).reshape(3, 3)
    np.testing.assert_allclose(strength / strength.max(), counts / counts.max())
    assert plots.confusion_figure(frame, "kind").get_size_inches()[0] * 96 <= 420


def test_history_starts_after_the_starting_point():
    posterior = models.two_tasks()
    elbo, sd_w = plots.history_figure(posterior).axes
    np.testing.assert_array_equal(elbo.lines[0].get_ydata(), posterior.elbo[1:])
    np.testing.assert_array_equal(sd_w.lines[0].get_ydata(), posterior.sd_w)
    assert elbo.get_title("left") == "ELBO of the table and the labels"
    alone = plots.history_figure(replace(posterior, training="predictive")).axes[0]
    assert alone.get_title("left") == "ELBO of the table"


def test_distributions_show_every_class_of_the_strongest_factors():
    posterior = models.two_tasks()
    strongest = directions_on(posterior, "stage")
    figure = plots.distribution_figure(posterior, "stage", most=2)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 2
    for axes, effect in zip(shown, strongest, strict=False):
        assert axes.get_title("left").startswith(posterior.factor_names[effect.factor])
        groups = [np.asarray(marks.get_offsets())[:, 0] for marks in axes.collections]
        codes = posterior.classifiers.class_index[:, 1]
        for values, code in zip(groups, (0, 1, 2, -1), strict=True):
            expected = posterior.scores.mean[codes == code, effect.factor]
            np.testing.assert_allclose(sorted(values), sorted(expected))
            # The line in the box is at the median.
        middles = [line.get_xdata()[0] for line in axes.lines[2::2]]
        np.testing.assert_allclose(middles, [np.median(values) for values in groups])


def test_correlations_of_factors_are_those_of_the_scores():
    posterior = models.two_tasks()
    used = np.flatnonzero(posterior.active)
    (axes, _) = plots.factor_correlation_figure(posterior).axes
    cells = np.ma.filled(axes.images[0].get_array(), np.nan)
    expected = np.corrcoef(posterior.scores.mean[:, used].T)
    apart = ~np.eye(len(used), dtype=bool)
    np.testing.assert_allclose(cells[apart], expected[apart], atol=1e-8)
    assert np.isnan(np.diag(cells)).all()


def test_recovery_marks_our_models_and_the_best():
    figure = FIGURES["recovery"]()
    (_, raw) = figure.axes
    points = [one for one in raw.lines if str(one.get_gid()).startswith("point-")]
    assert [one.get_xdata()[0] for one in points] == [0.987, 0.603]
    assert [one.get_marker() for one in points] == ["o", "s"]
    assert to_hex(points[0].get_color()) == to_hex(PALETTE[0]) != to_hex(points[1].get_color())
    assert [text.get_text() for text in raw.texts] == ["0.99", "0.60"]
    assert [text.get_fontweight() for text in raw.texts] == ["bold", "normal"]


def test_names_at_the_ends_of_lines_are_apart_and_in_order():
    figure = FIGURES["stress"]()
    (axes,) = figure.axes
    renderer = drawn(figure)
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == [f"model {i}" for i in range(6)]
    for upper, lower in pairwise(boxes):
        assert lower.y1 <= upper.y0
    inside = axes.get_window_extent(renderer)
    assert all(inside.y0 <= box.y0 and box.x1 <= inside.x1 for box in boxes)


def test_a_model_may_lack_a_form():
    rows = models.stress()
    figure = plots.stress_figure(rows[(rows["label"] != "12 labels") | (rows["model"] > "model 2")])
    assert len(figure.axes[0].texts) == 6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.coefficient_figure(models.unsupervised()), "without labels"),
        (lambda: plots.coefficient_figure(models.two_tasks(), "nothing"), "group, stage"),
        (lambda: plots.coefficient_figure(models.two_tasks(), 2), "the model has 2"),
        (lambda: plots.score_figure(models.two_tasks(), factors=(0, 9)), "between 0 and 2"),
        (lambda: plots.roc_figure(models.decisions(), "stage"), "has 3"),
        (lambda: plots.roc_figure(models.decisions(), "group", positive="x"), "'x' is not a class"),
        (lambda: plots.roc_figure(pd.DataFrame({"task": []}), "group"), "'model'"),
        (lambda: plots.comparison_figure(pd.DataFrame({"task": []})), "'model'"),
        (lambda: plots.scree_figure(models.unsupervised()), 'n_factors="auto"'),
        (lambda: plots.recovery_figure(pd.DataFrame({"label": []})), "'model'"),
        (lambda: plots.stress_figure(pd.DataFrame({"label": []})), "'model'"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_names_that_fit():
    assert shorten("short") == "short"
    assert len(shorten(models.LONG)) <= 34
    assert shorten(models.LONG).startswith("ENSG00000139618")
    assert shorten(models.LONG).endswith("_201_at")
    assert shorten(models.CHINESE) == "蛋白质 二"


def test_percent():
    shares = [percent(s) for s in (0.42, 0.0996, 0.055, 0.0001)]
    assert shares == ["42 %", "10 %", "5.5 %", "< 0.1 %"]


def test_reliability_shows_shares_by_probability():
    labels = np.array(["b", "a", "b", "b", "a", None], object)
    chance = np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.5])
    (axes,) = plots.reliability_figure(labels, chance, n_bins=5).axes
    curve = axes.lines[1]
    assert curve.get_xdata() == pytest.approx([0.2, 0.9])
    assert curve.get_ydata() == pytest.approx([1 / 2, 2 / 3])
    error = (2 * 0.3 + 3 * (0.9 - 2 / 3)) / 5
    assert axes.get_legend().get_texts()[0].get_text() == f"error {error:.3f}"
    (other,) = plots.reliability_figure(labels, 1 - chance, positive="a", n_bins=5).axes
    assert other.lines[1].get_ydata() == pytest.approx([1 / 3, 1 / 2])


@pytest.mark.parametrize(
    ("labels", "chance", "settings", "match"),
    [
        (["a", "a"], [0.1, 0.2], {}, "labels of two classes, but there are 1"),
        (["a", "b"], [0.1, 1.2], {}, "between 0 and 1"),
        (["a", "b"], [0.1, np.nan], {}, "between 0 and 1"),
        (["a", "b"], [[0.1, 0.9], [0.2, 0.8]], {}, "one number per sample"),
        (["a", "b"], [0.1, 0.2], {"positive": "c"}, "positive is 'c'"),
        (["a", "b"], [0.1, 0.2], {"n_bins": 0}, "n_bins must be a whole number"),
    ],
)
def test_reliability_refuses_what_it_cannot_draw(labels, chance, settings, match):
    with pytest.raises(InputError, match=match):
        plots.reliability_figure(labels, chance, **settings)
