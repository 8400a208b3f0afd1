"""What factors stand for: one line of evidence, and nothing without evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import works
from tests.plots import models
from tests.report.page import cells, read

from rankfactor import RankFactorAnalysis
from rankfactor.interpret import enrich, factor_meanings, factor_table
from rankfactor.interpret.meaning import leading_features
from rankfactor.interpret.sentences import EARLIER, explained
from rankfactor.interpret.wording import percent, plain, small
from rankfactor.posterior import Posterior
from rankfactor.posterior.variance_explained import VarianceExplained
from rankfactor.report import write_report
from rankfactor.storage.model_file import save_model

FIXTURES = Path(__file__).parents[1] / "fixtures"
NAMES = [plain(name) for name in (models.SCRIPT, models.QUOTES, models.LONG, models.CHINESE)]


def with_loadings(posterior: Posterior, structure, sd=0.01) -> Posterior:
    """The model with given correlations of its 12 features (12, 3), and loadings as large."""
    structure = np.asarray(structure, float)
    rows = posterior.rows.copy()
    rows.mean[:, :3] = structure
    rows.cov[:] = 0.0
    size = rows.order
    upper = np.triu_indices(size)
    spread = np.zeros((12, size))
    spread[:, :3] = np.broadcast_to(sd, (12, 3)) if np.ndim(sd) < 2 else sd
    rows.cov[:, upper[0] == upper[1]] = spread**2
    return replace(posterior, rows=rows, variance=VarianceExplained(structure, structure**2 / 3))


def loadings(first) -> np.ndarray:
    values = np.zeros((12, 3))
    values[: len(first), 0] = first
    values[11, 1:] = 0.5
    return values


def test_leaders_are_named_with_their_side() -> None:
    posterior = with_loadings(models.unsupervised(), loadings([0.9, -0.8, 0.6, -0.5]))
    a, b, c, d = NAMES
    expected = f"high {a} and {c} and low {b} and {d}"
    assert leading_features(posterior)[0] == expected
    assert factor_meanings(posterior)[0] == expected  # no labels, no blocks, no sets
    assert factor_meanings(posterior)[1] == "high f11"
    assert leading_features(posterior, 1)[0] == f"high {a}"


def test_at_most_five_and_none_that_is_much_weaker() -> None:
    many = with_loadings(models.unsupervised(), loadings(np.linspace(0.9, 0.8, 8)))
    said = leading_features(many)[0]
    assert said == "high " + ", ".join([*NAMES]) + " and f4"
    weak = with_loadings(models.unsupervised(), loadings([0.8, 0.41, 0.39]))
    assert leading_features(weak)[0] == f"high {NAMES[0]} and {NAMES[1]}"


def with_spread(posterior: Posterior, sd: np.ndarray) -> Posterior:
    stability = models.with_stability(models.unsupervised()).stability
    assert stability is not None
    return posterior.with_stability(replace(stability, loading_sd=sd))


def test_features_without_evidence_are_not_named() -> None:
    values, sd = loadings([0.9, 0.8, 0.7]), np.full((12, 3), 0.01)
    sd[0, 0] = 2.0  # the leading one
    posterior = with_loadings(models.unsupervised(), values)
    assert leading_features(posterior)[0] == f"high {', '.join(NAMES[:2])} and {NAMES[2]}"
    assert leading_features(with_spread(posterior, sd))[0] == f"high {NAMES[1]} and {NAMES[2]}"
    unsure = with_spread(posterior, np.full((12, 3), 2.0))
    assert factor_meanings(unsure) == ["no feature with a clear loading"] * 3
    nothing = with_loadings(models.unsupervised(), np.zeros((12, 3)))
    said = "no feature with a loading beyond chance"
    assert factor_meanings(nothing) == [said] * 3


def test_direction_by_class_where_it_is_clear() -> None:
    mean = np.zeros((4, 3))
    posterior = models.two_tasks()
    gap = posterior.samples.higher  # (rows, K)
    mean[0, 0], mean[3, 0] = 2.0 * gap[0, 0], 1.5 * gap[3, 0]
    one = models.with_coefficients(posterior, mean)
    said = factor_meanings(one)
    higher = "control & co" if gap[0, 0] > 0 else "case <b>"
    word = "higher" if gap[3, 0] > 0 else "lower"
    direction = f"higher in {higher} (group); {word} in III than in the other classes (stage)"
    assert said[0] == f"{leading_features(one)[0]}; {direction}"
    assert said[1:] == leading_features(one)[1:]
    assert factor_meanings(models.with_coefficients(posterior, mean, sd=10.0)) == leading_features(
        one
    )
    # Against the class means only "held fixed" is said.
    against = factor_meanings(models.with_coefficients(posterior, -mean))[0]
    assert "with the other factors held fixed" in against
    assert "higher in" not in against


@pytest.fixture(scope="module")
def blocks() -> Posterior:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((80, 2))
    weights = np.zeros((2, 16))
    weights[0, :8], weights[1, 4:12] = 2.0, 1.5
    X = pd.DataFrame(z @ weights + 0.5 * rng.standard_normal((80, 16)))
    X.columns = [f"x{i}" for i in range(16)]
    names = ["rna"] * 8 + ["protein"] * 8
    model = RankFactorAnalysis("gaussian", n_factors=2, blocks=names, random_state=0)
    return model.fit(X).posterior_


def test_the_block_that_most_lies_in(blocks: Posterior) -> None:
    structure, r2 = blocks.variance.structure, np.zeros((16, 2))
    r2[:8, 0], r2[8:, 0] = 0.3, 0.1
    r2[:8, 1], r2[8:, 1] = 0.2, 0.3
    given = replace(blocks, variance=VarianceExplained(structure, r2))
    said = factor_meanings(given)
    assert said[0].endswith("; 75 % of it in block rna")
    assert said[1].endswith("; 60 % of it in block protein")
    r2[:8, 1] = 0.25
    shared = replace(blocks, variance=VarianceExplained(structure, r2))
    assert factor_meanings(shared)[1].endswith("; shared by blocks protein and rna")
    nothing = replace(blocks, variance=VarianceExplained(structure, 0 * r2))
    assert all("block" not in line for line in factor_meanings(nothing))


def test_of_a_fit_with_blocks(blocks: Posterior) -> None:
    """The first factor is of the first block, the second of both."""
    said = factor_meanings(blocks)
    home = int(np.abs(blocks.structure[:4]).mean(axis=0).argmax())
    assert said[home].endswith("of it in block rna")
    sizes = blocks.r2_by_block[:, home]
    assert f"{percent(sizes[0] / sizes.sum())} of it" in said[home]
    assert "block" in said[1 - home]


def sets_found() -> pd.DataFrame:
    columns = ["factor", "direction", "set", "p", "q"]
    rows = [
        ("Factor 1", "up", "A WORSE", 0.002, 0.01),
        ("Factor 1", "up", "BEST <set>", 1e-9, 1e-7),
        ("Factor 1", "down", "FALLING", 0.001, 0.02),
        ("Factor 2", "up", "UNCLEAR", 0.04, 0.2),
    ]
    return pd.DataFrame(rows, columns=columns)


def test_the_best_set_of_each_direction_is_named() -> None:
    posterior = models.unsupervised()
    bare, said = factor_meanings(posterior), factor_meanings(posterior, sets_found())
    expected = f"up: BEST <set> (q = {small(1e-7)}); down: FALLING (q = 0.020)"
    assert said == [f"{bare[0]}; {expected}", bare[1], bare[2]]


def test_the_table_of_factors_has_the_lines() -> None:
    posterior = models.two_tasks()
    assert factor_table(posterior)["meaning"].tolist() == factor_meanings(posterior)
    with_sets = factor_table(posterior, sets_found())["meaning"].tolist()
    assert with_sets == factor_meanings(posterior, sets_found())
    assert "BEST <set>" in with_sets[0]


SETS = {"rising": frozenset([*(f"f{i}" for i in range(4, 9))])}


def test_the_command_says_and_writes_them(tmp_path: Path) -> None:
    posterior = models.two_tasks()
    model = save_model(posterior, tmp_path / "m.rankfactor")
    gmt = tmp_path / "sets.gmt"
    gmt.write_text("rising\t\t" + "\t".join(sorted(SETS["rising"])) + "\n")
    said = works("interpret", str(model), "--out", str(tmp_path / "o"), "--gmt", str(gmt)).stdout
    found = enrich(posterior, SETS)
    lines = factor_meanings(posterior, found)
    written = pd.read_csv(tmp_path / "o" / "factors.csv", keep_default_na=False)
    assert written["meaning"].tolist() == lines
    assert explained(posterior) in said
    assert EARLIER not in said
    for k in np.flatnonzero(posterior.active):
        share = percent(posterior.shares[k])
        assert f"Factor {k + 1} ({share} of the variance): {lines[k]}." in said


def test_the_command_says_that_a_model_is_of_an_earlier_version(tmp_path: Path) -> None:
    model = FIXTURES / "linear_v1.rankfactor"
    assert EARLIER in works("interpret", str(model), "--out", str(tmp_path / "o")).stdout


@pytest.mark.slow
def test_the_report_has_them(tmp_path: Path) -> None:
    posterior = models.two_tasks()
    page = read(write_report(tmp_path / "r.html", posterior, title="t", gene_sets=SETS))
    table = page.one("section", id="factors").all("table")[0]
    assert [head.text for head in table.one("thead").all("th")][1] == "What it stands for"
    rows = [cells(row) for row in table.one("tbody").all("tr")]
    lines = factor_meanings(posterior, enrich(posterior, SETS))
    shown = np.flatnonzero(posterior.active)
    assert [row[1] for row in rows] == [plain(lines[k]) for k in shown]
    assert explained(posterior) in page.text
    assert EARLIER not in page.text


@pytest.mark.slow
def test_the_report_of_an_earlier_model_says_so(tmp_path: Path) -> None:
    posterior = replace(models.unsupervised(), variance=None)
    page = read(write_report(tmp_path / "r.html", posterior, title="t"))
    assert EARLIER in page.one("div", class_="cautions").text
    assert "as the model expects it" in page.one("section", id="loadings").text


def test_how_much_is_explained() -> None:
    posterior = models.two_tasks()
    said = explained(posterior)
    start = f"The factors explain {percent(posterior.r2)} of the variance of the features' ranks."
    assert said.startswith(start)
    apart = np.triu(posterior.factor_correlations, 1)
    i, j = np.unravel_index(np.abs(apart).argmax(), apart.shape)
    assert said.endswith(f"(Factor {i + 1} and Factor {j + 1}).")
    assert "features' values" in explained(models.gaussian())
    assert explained(models.one_factor()).count(".") <= 2  # no correlation of a single factor
    z = posterior.scores.mean
    turn = np.linalg.inv(np.linalg.cholesky(np.cov(z.T))).T
    assert explained(posterior.transformed(turn)).endswith("Their scores do not correlate.")
