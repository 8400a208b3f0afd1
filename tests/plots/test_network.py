"""The drawing of a network: places, marks, and names that do not collide."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from tests.plots import models

from rankfactor import plots
from rankfactor.errors import InputError
from rankfactor.plots.graph import network_layout
from rankfactor.plots.placement import place_labels
from rankfactor.plots.style import drawing, shorten


def names_of(axes):
    """Names in the axes, and their boxes."""
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    return {text.get_text(): text.get_window_extent(renderer) for text in axes.texts}


def test_names_lie_apart_and_inside():
    (axes,) = plots.network_figure(models.network()).axes
    named = names_of(axes)
    assert len(named) > 8
    assert shorten(models.LONG, 22) in named
    for (_, one), (_, other) in combinations(named.items(), 2):
        assert not one.overlaps(other)
    inside = axes.get_window_extent()
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in named.values())


def test_crowded_names_are_left_out_the_last_first():
    with drawing(3, 3) as figure:
        axes = figure.subplots()
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        points = np.full((12, 2), 0.5) + 1e-3 * np.arange(12)[:, None]
        placed = place_labels(axes, points, [f"a name {i}" for i in range(12)])
    assert placed[:2] == [0, 1]
    assert 2 < len(placed) < 12
    assert len(axes.texts) == len(placed)


def test_marks_are_the_nodes_module_by_module():
    graph = models.network()
    (axes,) = plots.network_figure(graph).axes
    parts = [part for part in axes.collections if (part.get_gid() or "").startswith("module-")]
    places = network_layout(graph)
    expected = [[places[n] for n, m in graph.nodes(data="module") if m == k] for k in range(3)]
    for part, own in zip(parts, expected, strict=True):
        np.testing.assert_allclose(part.get_offsets(), own)
    # The node with the most links is the largest.
    sizes = parts[0].get_sizes()
    assert sizes[0] == sizes.max() > sizes[1]


def test_negative_links_are_dashed_and_explained():
    figure = plots.network_figure(models.network())
    assert len(figure.legends[0].get_texts()) == 2
    positive = nx.Graph([("a", "b", {"correlation": 0.5})])
    assert not plots.network_figure(positive).legends


def test_layout_is_the_same_every_time_and_keeps_parts_apart():
    graph = models.network()
    one, other = network_layout(graph), network_layout(graph)
    assert all((one[node] == other[node]).all() for node in graph)
    parts = [np.array([one[n] for n in part]) for part in nx.connected_components(graph)]
    boxes = [(p.min(axis=0), p.max(axis=0)) for p in parts]
    for (low, high), (low_other, high_other) in combinations(boxes, 2):
        assert (low > high_other).any() or (low_other > high).any()
    distances = [np.linalg.norm(one[a] - one[b]) for a, b in combinations(graph, 2)]
    assert min(distances) > 0.2


@pytest.mark.slow
def test_large_parts_are_laid_out_too():
    graph = nx.barabasi_albert_graph(200, 2, seed=1)
    places = np.array(list(network_layout(graph, seed=3).values()))
    assert np.isfinite(places).all()
    np.testing.assert_array_equal(places, list(network_layout(graph, seed=3).values()))
    assert len(plots.network_figure(graph).axes[0].texts) > 5


def test_an_empty_network_is_refused():
    with pytest.raises(InputError, match="no feature"):
        plots.network_figure(nx.Graph())
