"""The network of features, its modules and its files."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from tests.plots.models import CHINESE, QUOTES, SCRIPT, two_tasks, with_stability

from rankfactor.errors import InputError
from rankfactor.estimators import RankFactorAnalysis
from rankfactor.interpret import correlation, edge_table, feature_network, modules, write_graphml
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import supported_loadings
from rankfactor.storage.model_file import load_model

FIXTURES = Path(__file__).parents[1] / "fixtures"


def full(law, row: int, order: int) -> np.ndarray:
    """Covariance of a row, unpacked, without an intercept."""
    size = law.order
    cov = np.zeros((size, size))
    cov[np.triu_indices(size)] = law.cov[row]
    return (cov + np.triu(cov, 1).T)[:order, :order]


def slow_correlations(posterior: Posterior) -> np.ndarray:
    """Correlations of all pairs of features in the model, one by one."""
    k, scores = posterior.n_factors, posterior.scores
    S = np.mean([np.outer(m, m) + full(scores, n, k) for n, m in enumerate(scores.mean)], axis=0)
    a = posterior.rows.mean[:, :k]
    total = np.array(
        [a[i] @ S @ a[i] + np.trace(full(posterior.rows, i, k) @ S) for i in range(len(a))]
    )
    total += posterior.noise_variance
    return np.array(
        [
            [a[i] @ S @ a[j] / np.sqrt(total[i] * total[j]) for j in range(len(a))]
            for i in range(len(a))
        ]
    )


def whole(wide: correlation.Wide) -> np.ndarray:
    return np.concatenate([block for _, block in wide.blocks()])


@pytest.mark.parametrize("name", ["linear", "gaussian"])  # rows with and without an intercept
def test_correlations_are_those_of_the_definition(name: str) -> None:
    posterior = load_model(FIXTURES / f"{name}_v1.rankfactor")
    found = whole(correlation.through_factors(posterior, np.arange(len(posterior.rows.mean))))
    expected = slow_correlations(posterior)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_correlations_after_gibbs_sampling_are_averages_that_no_rotation_changes() -> None:
    posterior = load_model(FIXTURES / "gibbs_v1.rankfactor")
    k, d = posterior.n_factors, len(posterior.rows.mean)
    S = correlation.score_moment(posterior)
    draws = posterior.draws.loadings[:, :, :k].astype(float)
    assert len(draws) <= 50
    products = np.mean([a @ S @ a.T for a in draws], axis=0)
    spread = np.sqrt(np.diag(products) + posterior.noise_variance)
    expected = products / np.outer(spread, spread)
    np.fill_diagonal(expected, 0.0)
    chosen = np.arange(d)
    np.testing.assert_allclose(
        whole(correlation.through_factors(posterior, chosen)), expected, atol=1e-12
    )
    # Scores alike in every direction, and every draw's factors turned another way.
    zero = replace(posterior.scores, mean=np.zeros_like(posterior.scores.mean))
    zero.cov[:] = np.eye(k)[np.triu_indices(k)]
    rng = np.random.default_rng(0)
    turned = draws.copy()
    for one in turned:
        one[:] = one @ np.linalg.qr(rng.standard_normal((k, k)))[0]
    pair = [
        replace(posterior, scores=zero, draws=replace(posterior.draws, loadings=loadings))
        for loadings in (draws, turned)
    ]
    one, other = (whole(correlation.through_factors(p, chosen)) for p in pair)
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_correlations_are_those_of_the_data() -> None:
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((400, 2))
    loadings = np.array([[1, 0], [0.8, 0], [-1, 0], [0, 1], [0, 0.7], [0.6, 0.6]], float)
    X = scores @ loadings.T + 0.7 * rng.standard_normal((400, 6))
    fitted = RankFactorAnalysis("gaussian", n_factors=2, random_state=0).fit(X)
    found = whole(correlation.through_factors(fitted.posterior_, np.arange(6)))
    expected = np.corrcoef(X.T)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found, expected, atol=0.1)


@pytest.fixture
def all_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "rankfactor.interpret.network.supported_loadings",
        lambda posterior: np.ones((len(posterior.rows.mean), posterior.n_factors), bool),
    )


@pytest.mark.usefixtures("all_take_part")
def test_the_strongest_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = two_tasks()
    expected = slow_correlations(posterior)
    names = posterior.feature_names[posterior.coding.columns]
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(expected[first, second]))[:9]
    pairs = {frozenset((names[first[i]], names[second[i]])) for i in order}
    for block in (512, 5):
        monkeypatch.setattr(correlation, "BLOCK", block)
        graph = feature_network(posterior, n_edges=9)
        assert {frozenset(edge) for edge in graph.edges} == pairs
    for one, other, values in graph.edges(data=True):
        i, j = (names.tolist().index(name) for name in (one, other))
        assert values["correlation"] == pytest.approx(expected[i, j])
        assert values["sign"] == np.sign(expected[i, j])
    rule = graph.graph["network_rule"]
    assert rule.startswith(
        "the 9 pairs with the largest correlation through the factors (absolute value at"
    )
    least = np.sort(np.abs(expected[first, second]))[-9]
    assert f"the smallest shown is ±{least:.2f}" in rule


@pytest.mark.usefixtures("all_take_part")
@pytest.mark.parametrize("block", [512, 5])
def test_all_pairs_from_a_threshold_and_nearest_partners(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(correlation, "BLOCK", block)
    posterior = two_tasks()
    size = np.abs(slow_correlations(posterior))
    np.fill_diagonal(size, 0.0)
    names = posterior.feature_names[posterior.coding.columns].tolist()
    graph = feature_network(posterior, rule="threshold", threshold=0.4)
    assert graph.number_of_edges() == int((size >= 0.4).sum()) // 2 > 3
    graph = feature_network(posterior, rule="nearest", n_nearest=2, threshold=0.0)
    pairs = {
        frozenset((names[i], names[int(j)])) for i in range(12) for j in np.argsort(-size[i])[:2]
    }
    assert {frozenset(edge) for edge in graph.edges} == pairs


@pytest.mark.usefixtures("all_take_part")
def test_loadings_alone() -> None:
    posterior = two_tasks()
    a = posterior.rows.mean[:, :3]
    cosine = a @ a.T / np.outer(*[np.sqrt((a**2).sum(axis=1))] * 2)
    names = posterior.feature_names[posterior.coding.columns].tolist()
    graph = feature_network(posterior, measure="loadings")
    assert "cosine of mean loadings" in graph.graph["network_rule"]
    for one, other, values in graph.edges(data=True):
        expected = cosine[names.index(one), names.index(other)]
        assert values["correlation"] == pytest.approx(expected)


def test_only_features_that_matter_take_part() -> None:
    spread = with_stability(two_tasks())
    stability = spread.stability
    assert stability is not None
    wide = stability.loading_sd.copy()
    wide[:5] = 1.0
    assessed = spread.with_stability(replace(stability, loading_sd=wide))
    for posterior, why in (
        (two_tasks(), "a loading beyond chance"),
        (assessed, "a clear loading"),
    ):
        graph = feature_network(posterior, rule="threshold", threshold=0.0)
        taken = supported_loadings(posterior)[:, posterior.active].any(axis=1)
        names = posterior.feature_names[posterior.coding.columns][taken]
        assert set(graph.nodes) == set(names)
        assert graph.graph["n_considered"] == len(names)
        assert f"among {len(names)} features with {why} on" in graph.graph["network_rule"]
    assert len(names) < 12


def test_the_rate_of_earlier_versions_has_no_effect() -> None:
    with pytest.warns(FutureWarning, match="lfsr is deprecated and has no effect"):
        graph = feature_network(two_tasks(), lfsr=0.5)
    assert nx.utils.graphs_equal(graph, feature_network(two_tasks()))


def test_nodes_say_where_they_belong() -> None:
    posterior = two_tasks()
    graph = feature_network(posterior)
    groups = modules(graph).set_index("feature")["module"]
    loadings = pd.DataFrame(posterior.structure, index=posterior.feature_names)
    for name, values in graph.nodes(data=True):
        home = loadings.loc[name].abs().idxmax()
        assert values["label"] == name
        assert values["factor"] == f"Factor {home + 1}"
        assert values["loading"] == pytest.approx(loadings.loc[name, home])
        assert values["module"] == groups[name]


def test_nothing_to_link() -> None:
    posterior = two_tasks()
    wide = replace(posterior.rows, cov=posterior.rows.cov + 1e6 * (posterior.rows.cov > 0))
    graph = feature_network(replace(posterior, rows=wide))
    assert graph.number_of_nodes() == 0
    assert "the 0 pairs" in graph.graph["network_rule"]
    assert edge_table(graph).columns.tolist() == ["feature", "other", "correlation", "sign"]
    assert len(edge_table(graph)) == len(modules(graph)) == 0


def two_cliques() -> nx.Graph:
    graph = nx.Graph()
    for size, letter in ((4, "b"), (6, "a")):
        names = [f"{letter}{i}" for i in range(size)]
        graph.add_edges_from(
            (x, y, {"correlation": -0.9, "sign": -1}) for x in names for y in names if x < y
        )
    graph.add_edge("a0", "b0", correlation=0.1, sign=1)
    return graph


def test_modules_are_the_groups_and_the_largest_comes_first() -> None:
    found = modules(two_cliques(), seed=3)
    assert found["module"].tolist() == [1] * 6 + [2] * 4
    assert set(found["feature"][:6]) == {f"a{i}" for i in range(6)}


@pytest.mark.slow
def test_modules_do_not_depend_on_the_hash_of_names() -> None:
    code = (
        "import networkx as nx; from rankfactor.interpret import modules; "
        "g = nx.gnm_random_graph(60, 150, seed=1); "
        "g = nx.relabel_nodes(g, {i: f'gene{i}' for i in g}); "
        "nx.set_edge_attributes(g, 0.5, 'correlation'); print(modules(g)['feature'].tolist())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_edges_as_a_table() -> None:
    graph = feature_network(two_tasks())
    found = edge_table(graph)
    assert len(found) == graph.number_of_edges()
    assert found["correlation"].abs().is_monotonic_decreasing
    assert (np.sign(found["correlation"]) == found["sign"]).all()


def test_graphml_comes_back(tmp_path: Path) -> None:
    graph = feature_network(two_tasks())
    assert {SCRIPT, QUOTES, CHINESE} <= set(graph.nodes)
    assert write_graphml(graph, tmp_path / "n.graphml") == tmp_path / "n.graphml"
    back = nx.read_graphml(tmp_path / "n.graphml")
    plain = CHINESE.replace("\x01", " ").replace("\n", " ")
    names = {name: plain if name == CHINESE else name for name in graph.nodes}
    assert set(back.nodes) == set(names.values())
    assert back.nodes[plain]["label"] == plain
    assert back.nodes[SCRIPT]["module"] == graph.nodes[SCRIPT]["module"]
    assert back.number_of_edges() == graph.number_of_edges()
    for one, other, values in graph.edges(data=True):
        assert back.edges[names[one], names[other]] == values
    assert back.graph["network_rule"] == graph.graph["network_rule"]
    with pytest.raises(InputError, match="does not exist"):
        write_graphml(graph, tmp_path / "nowhere" / "n.graphml")


def test_names_that_become_the_same_are_told_apart(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_edge("a\x01", "a\x02", correlation=1.0)
    write_graphml(graph, tmp_path / "n.graphml")
    assert set(nx.read_graphml(tmp_path / "n.graphml").nodes) == {"a ", "a  (2)"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rule": "all"}, "rule must be one of 'top', 'threshold', 'nearest', not 'all'"),
        ({"measure": "x"}, "measure must be one of 'w', 'loadings', not 'x'"),
        ({"n_edges": 0}, "n_edges must be a whole number of at least 1, not 0"),
        ({"n_nearest": 1.5}, "n_nearest must be a whole number"),
        ({"threshold": 1.5}, "threshold must lie between 0 and 1, not 1.5"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        feature_network(two_tasks(), **arguments)


@pytest.mark.usefixtures("all_take_part")
def test_far_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfactor.interpret.network._MOST_EDGES", 3)
    with pytest.raises(InputError, match=r"more than 3 pairs .* raise threshold"):
        feature_network(two_tasks(), rule="threshold", threshold=0.0)
