"""Gene sets among leading features: the hypergeometric test, compared with gseapy."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd
import pytest
from tests.plots.models import two_tasks

from rankfactor.errors import InputError
from rankfactor.estimators import RankFactorClassifier
from rankfactor.interpret import enrich, preranked, top_features
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import supported_loadings

GENES = [f"g{i}" for i in range(120)]


@pytest.fixture(scope="module")
def planted() -> Posterior:
    """Genes 0 to 9 rise and 10 to 19 fall with the one factor, which makes the label."""
    rng = np.random.default_rng(5)
    z = rng.standard_normal(80)
    loadings = np.zeros(120)
    loadings[:10], loadings[10:20] = 2.0, -1.5
    X = pd.DataFrame(np.outer(z, loadings) + rng.standard_normal((80, 120)), columns=GENES)
    y = np.where(z > 0, "sick", "well")
    return RankFactorClassifier("G-L-BSVM", n_factors=1, random_state=0).fit(X, y).posterior_


def random_sets(seed: int = 0, count: int = 40) -> dict[str, frozenset[str]]:
    """Every set has g0 and g10, so that each has an overlap with both lists."""
    rng = np.random.default_rng(seed)
    sets = {
        f"set{i}": frozenset([*rng.choice(GENES, rng.integers(6, 30), replace=False), "g0", "g10"])
        for i in range(count)
    }
    sets["up"] = frozenset([*GENES[:8], "not", "measured"])
    sets["down"] = frozenset([*GENES[12:20], GENES[50], GENES[0]])
    return sets


def slow_tail(overlap: int, size: int, selected: int, total: int) -> float:
    upper = range(overlap, min(size, selected) + 1)
    ways = sum(comb(size, x) * comb(total - size, selected - x) for x in upper)
    return ways / comb(total, selected)


def slow_q(p: list[float], n_tests: int) -> np.ndarray:
    p = np.append(p, np.ones(n_tests - len(p)))
    order = np.argsort(p)
    scaled = p[order] * n_tests / np.arange(1, n_tests + 1)
    q = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.empty(n_tests)
    result[order] = q
    return result


def test_by_hand() -> None:
    background = [f"b{i}" for i in range(30)]
    features = [f"b{i}" for i in range(6)]
    sets = {
        "a": frozenset([*background[:5], "other"]),
        "b": frozenset(background[4:12]),
        "none": frozenset(background[20:]),
    }
    found = enrich(features, sets, background).set_index("set")
    assert found.index.tolist() == ["a", "b"]  # without an overlap: tested, not listed
    assert found[["size", "overlap"]].to_numpy().tolist() == [[5, 5], [8, 2]]
    assert found["expected"].tolist() == [1.0, 1.6]
    p = [slow_tail(5, 5, 6, 30), slow_tail(2, 8, 6, 30)]
    np.testing.assert_allclose(found["p"], p, rtol=1e-10)
    np.testing.assert_allclose(found["q"], slow_q(p, 3)[:2], rtol=1e-10)
    assert found["odds"]["b"] == pytest.approx(2.5 * 18.5 / (6.5 * 4.5))
    assert found["features"]["b"] == "b4;b5"
    assert set(found["background"]) == {30}
    assert set(found["selected"]) == {6}
    assert set(found["factor"]) == set(found["direction"]) == {""}


def test_both_directions_of_a_factor(planted: Posterior) -> None:
    found = enrich(planted, random_sets(), n=12)
    assert set(found["background"]) == {120}
    best = found.groupby("direction")[["set", "p", "q"]].first()
    signs = top_features(planted, 20).set_index("feature")["sign"]
    up, down = ("up", "down") if signs["g0"] > 0 else ("down", "up")
    assert best["set"].to_dict() == {up: "up", down: "down"}
    assert (best["q"] < 1e-4).all()
    first = found[(found["direction"] == up) & (found["set"] == "up")].iloc[0]
    assert set(first["features"].split(";")) == set(GENES[:8])
    assert (first["size"], first["overlap"]) == (8, 8)
    sides = found.groupby("direction")["higher_in"].unique().to_dict()
    assert {side: words.tolist() for side, words in sides.items()} == {
        up: ["label: sick"],
        down: ["label: well"],
    }
    listed = top_features(planted, 120)
    names = planted.feature_names[planted.coding.columns]
    (used,) = np.flatnonzero(planted.active)
    supported = pd.Series(supported_loadings(planted)[:, used], names)
    for direction, part in found.groupby("direction"):
        own = listed[
            (listed["sign"] == (1 if direction == "up" else -1))
            & supported[listed["feature"]].to_numpy()
        ]
        members = own["feature"].tolist()[:12]
        assert set(part["selected"]) == {len(members)}
        assert set(";".join(part["features"]).split(";")) <= set(members)
        tests = 2 * len(random_sets())
        np.testing.assert_allclose(
            found["q"], slow_q(found["p"].tolist(), tests)[: len(found)], rtol=1e-9
        )


def test_the_default_list_is_a_tenth_of_the_background(
    planted: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    supported_loadings = "rankfactor.interpret.enrichment.supported_loadings"
    monkeypatch.setattr(supported_loadings, lambda one: np.ones((120, one.n_factors), bool))
    assert enrich(planted, random_sets())["selected"].unique().tolist() == [12]
    assert enrich(planted, random_sets(), n=5)["selected"].unique().tolist() == [5]


def test_the_rate_of_earlier_versions_has_no_effect(planted: Posterior) -> None:
    with pytest.warns(FutureWarning, match="lfsr is deprecated and has no effect"):
        found = enrich(planted, random_sets(), lfsr=0.5)
    pd.testing.assert_frame_equal(found, enrich(planted, random_sets()))


def test_gseapy_gives_the_same(planted: Posterior) -> None:
    gseapy = pytest.importorskip("gseapy", reason="gseapy is not installed")
    sets = random_sets()
    listed = top_features(planted, 20)
    features = listed["feature"].tolist()
    theirs = gseapy.enrich(
        gene_list=features,
        gene_sets={name: sorted(members) for name, members in sets.items()},
        background=set(GENES),
        outdir=None,
        no_plot=True,
    ).results.set_index("Term")
    ours = enrich(features, sets, GENES).set_index("set").loc[theirs.index]
    assert len(ours) == len(sets)  # all overlap, so that gseapy counts the same tests
    np.testing.assert_allclose(ours["p"], theirs["P-value"].astype(float), rtol=1e-10)
    np.testing.assert_allclose(ours["q"], theirs["Adjusted P-value"].astype(float), rtol=1e-10)
    np.testing.assert_allclose(ours["odds"], theirs["Odds Ratio"].astype(float), rtol=1e-10)
    assert (ours["overlap"].astype(str) + "/" + ours["size"].astype(str)).tolist() == theirs[
        "Overlap"
    ].tolist()
    for one, other in zip(ours["features"], theirs["Genes"], strict=True):
        assert set(one.split(";")) == set(other.split(";"))


def test_preranked_is_gseapys_own_answer(planted: Posterior) -> None:
    gseapy = pytest.importorskip("gseapy", reason="gseapy is not installed")
    sets = random_sets(count=8)
    found = preranked(planted, sets, "Factor 1", seed=3, n_permutations=100).set_index("set")
    loadings = pd.Series(planted.structure[:, 0], index=GENES)
    theirs = gseapy.prerank(
        rnk=loadings.sort_values(ascending=False),
        gene_sets={name: sorted(members & set(GENES)) for name, members in sets.items()},
        min_size=5,
        max_size=500,
        permutation_num=100,
        seed=3,
        threads=1,
        outdir=None,
        no_plot=True,
    ).res2d.set_index("Term")
    theirs = theirs.loc[found.index]
    for ours, name in (("es", "ES"), ("nes", "NES"), ("p", "NOM p-val"), ("q", "FDR q-val")):
        np.testing.assert_allclose(found[ours], theirs[name].astype(float), err_msg=name)
    rises = loadings["g0"] > 0
    assert found.loc["up", "direction"] == ("up" if rises else "down")
    assert found.loc["down", "direction"] == ("down" if rises else "up")
    assert (found.loc["up", "higher_in"], found.loc["down", "higher_in"]) == (
        "label: sick",
        "label: well",
    )
    assert set(found.index[:2]) == {"up", "down"}
    assert set(GENES[:8]) <= set(found.loc["up", "features"].split(";"))
    assert found.loc["up", "size"] == 8


def test_the_score_is_that_of_the_definition(planted: Posterior) -> None:
    pytest.importorskip("gseapy", reason="gseapy is not installed")
    members = frozenset(GENES[3:40:4])
    found = preranked(planted, {"one": members}, 0, n_permutations=10)
    loadings = pd.Series(planted.structure[:, 0], index=GENES)
    ranked = loadings.sort_values(ascending=False)
    inside = ranked.index.isin(members)
    weights = np.where(inside, ranked.abs(), 0.0)
    walk = np.cumsum(weights / weights.sum() - ~inside / (~inside).sum())
    expected = walk[np.abs(walk).argmax()]
    assert found["es"][0] == pytest.approx(expected)


def test_without_gseapy(planted: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("rankfactor.data.opening.import_module", absent)
    with pytest.raises(InputError, match=r"pip install 'rankfactor\[enrichment\]'"):
        preranked(planted, random_sets(), 0)


def test_names_that_come_twice_or_from_outside() -> None:
    sets = {"a": frozenset(GENES[:10])}
    with pytest.warns(UserWarning, match="the list of features has duplicate names"):
        found = enrich(["g1", "g2", "g1"], sets, GENES)
    assert found["selected"].tolist() == [2]
    with pytest.warns(UserWarning, match=r"not in the background were left out \(1, such as 'x'\)"):
        found = enrich(["g1", "g2", "x"], sets, GENES)
    assert found["selected"].tolist() == [2]


def test_a_background_of_your_own(planted: Posterior) -> None:
    wider = [*GENES, *(f"unseen{i}" for i in range(380))]
    found = enrich(planted, random_sets(), wider, n=12)
    assert set(found["background"]) == {500}
    row = found[found["set"].isin(["up", "down"])].iloc[0]
    expected = slow_tail(row["overlap"], row["size"], row["selected"], 500)
    assert row["p"] == pytest.approx(expected, rel=1e-9)


def test_covariates_that_are_features_are_no_background() -> None:
    rng = np.random.default_rng(2)
    z = rng.standard_normal(60)
    X = pd.DataFrame(np.outer(z, np.ones(12)) + rng.standard_normal((60, 12)), columns=GENES[:12])
    X["age"] = 3 * z + 0.1 * rng.standard_normal(60)
    model = RankFactorClassifier(
        "G-L-BSVM", n_factors=1, random_state=0, covariates=["age"], covariate_use="block"
    )
    posterior = model.fit(X, (z > 0).astype(int)).posterior_
    assert "age" in top_features(posterior, 3)["feature"].tolist()
    sets = {"a": frozenset([*GENES[:6], "age"])}
    found = enrich(posterior, sets, n=20)
    assert set(found["background"]) == {12}
    assert found["size"].tolist() == [6]
    assert "age" not in ";".join(found["features"]).split(";")
    pytest.importorskip("gseapy", reason="gseapy is not installed")
    ranked = preranked(posterior, sets, 0, n_permutations=10)
    assert ranked["size"].tolist() == [6]


def test_no_overlap_at_all() -> None:
    found = enrich(GENES[:5], {"a": frozenset(GENES[50:60])}, GENES)
    assert len(found) == 0
    assert {"factor", "direction", "set", "p", "q", "features"} <= set(found.columns)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["g1"], {"a": frozenset(GENES[:9])}), "a list of features needs a background"),
        (([], {"a": frozenset(GENES[:9])}, GENES), "the list of features is empty"),
        (
            ("g1", {"a": frozenset(GENES[:9])}, GENES),
            "must be a list of names, not a single string",
        ),
    ],
)
def test_bad_lists(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        enrich(*arguments)


def test_bad_numbers() -> None:
    sets = {"a": frozenset(["f4", "f5", "f6", "f7", "f8"])}
    with pytest.raises(InputError, match="n must be a whole number of at least 1, not 0"):
        enrich(two_tasks(), sets, n=0)
    with pytest.raises(InputError, match="n_permutations must be at least 1, not 0"):
        preranked(two_tasks(), sets, 0, n_permutations=0)
