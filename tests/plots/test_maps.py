"""Heat maps: loadings with their dendrogram, loadings as images, responsibilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import leaves_list
from tests.plots import models

from rankfactor import plots
from rankfactor.errors import InputError
from rankfactor.interpret.loading_map import loading_map
from rankfactor.interpret.overview import training_responsibilities
from rankfactor.plots.style import shorten


def test_clustered_rows_are_those_of_the_dendrogram():
    posterior = models.two_tasks()
    shown = loading_map(posterior, order="cluster")
    plain = loading_map(posterior)
    assert sorted(shown.features) == sorted(plain.features)
    np.testing.assert_array_equal(plain.features[leaves_list(shown.tree)], shown.features)
    tree, axes, _ = plots.loading_figure(posterior, order="cluster").axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [shorten(posterior.feature_names[i]) for i in shown.features]
    np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), shown.values)
    # A merge for every feature but one, and the leaves stand at the heights of the rows.
    assert len(tree.lines) == len(names) - 1
    ends = {
        float(y)
        for line in tree.lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        if x == 0
    }
    assert ends == set(range(len(names)))
    assert tree.get_ylim() == axes.get_ylim()


def test_similar_features_stand_together():
    """Features of the first factor are f0 to f3, of the second f4 to f7."""
    shown = loading_map(models.two_tasks(), order="cluster", features_per_factor=4)
    places = {int(i): place for place, i in enumerate(shown.features)}
    second = [places[i] for i in (4, 5, 6, 7)]
    assert max(second) - min(second) == 3


def test_few_features_have_no_tree():
    shown = loading_map(models.two_tasks(), order="cluster", most_features=2)
    assert shown.tree is None


def test_images_are_the_loadings_pixel_by_pixel():
    posterior = models.two_tasks()
    figure = plots.loading_image_figure(posterior, (13, 1), factors=[2, 0])
    drawn = [axes.images[0] for axes in figure.axes if axes.images]
    loadings = posterior.structure
    for image, k in zip(drawn, (2, 0), strict=False):
        np.testing.assert_array_equal(np.asarray(image.get_array())[:, 0], loadings[:, k])
    # One scale for all.
    assert drawn[0].get_clim() == drawn[1].get_clim()


def test_models_are_compared_on_one_scale():
    posteriors = {"three": models.two_tasks(), "one": models.one_factor()}
    figure = plots.compared_images_figure(posteriors, (13, 1), most=2, title="Both")
    assert figure.get_suptitle() == "Both"
    drawn = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(drawn) == 3  # two of the first, the only one of the second
    expected = [*models.two_tasks().structure[:, :2].T]
    expected.append(models.one_factor().structure[:, 0])
    for image, loadings in zip(drawn, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(image.get_array())[:, 0], loadings)
    (limits,) = {image.get_clim() for image in drawn}
    assert limits[0] == -limits[1]
    names = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert names == ["three", "one"]


def test_responsibilities_are_grouped_by_class():
    posterior = models.nonlinear()
    R = training_responsibilities(posterior)
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    axes = plots.responsibility_figure(posterior, "group").axes[0]
    values = np.asarray(axes.images[0].get_array())
    class_index = posterior.classifiers.class_index[:, 0]
    n_first = int((class_index == 0).sum())
    rows = np.argsort(-R.mean(axis=0))[: len(values)]
    for chosen, part in (
        (class_index == 0, values[:, :n_first]),
        (class_index == 1, values[:, n_first:]),
    ):
        np.testing.assert_allclose(np.sort(part, axis=1), np.sort(R[chosen][:, rows].T, axis=1))
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == [f"case <b>\n({n_first})", f"control & co\n({len(class_index) - n_first})"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.loading_figure(models.two_tasks(), order="x"), "'factor' or 'cluster'"),
        (lambda: plots.loading_image_figure(models.two_tasks(), (4, 4)), "features, 13"),
        (lambda: plots.loading_image_figure(models.two_tasks(), (13, 1), columns=0), "columns"),
        (
            lambda: plots.loading_image_figure(models.two_tasks(), (13, 1), factors=[3]),
            "between 0 and 2",
        ),
        (lambda: plots.compared_images_figure({}, (13, 1)), "give at least one"),
        (lambda: plots.compared_images_figure({"a": models.two_tasks()}, (4, 4)), "features, 13"),
        (
            lambda: plots.compared_images_figure({"a": models.two_tasks()}, (13, 1), most=0),
            "most must be at least 1",
        ),
        (lambda: plots.responsibility_figure(models.two_tasks()), "has no components"),
        (lambda: plots.responsibility_figure(models.unsupervised()), "has no components"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
