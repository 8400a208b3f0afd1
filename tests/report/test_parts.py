"""Parts of the page with their own script or section: data, tooltips, further figures."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.plots import models
from tests.report.page import cells, read

from rankfactor import RankFactorAnalysis
from rankfactor.errors import InputError
from rankfactor.interpret import enrich
from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.wording import plain
from rankfactor.laws.normal import Normal
from rankfactor.posterior.diagnostics import convergence
from rankfactor.report import write_report
from rankfactor.report.explorer import MOST_SAMPLES, explorer_data
from rankfactor.report.sections import scree_overview


def test_the_explorer_has_the_scores_the_names_and_the_classes(full):
    posterior, page = models.two_tasks(), read(full)
    block = page.one("script", id="scores-data")
    (text,) = block.children
    # Nothing in it can end the block, whatever the names.
    assert "<" not in text
    data = json.loads(text)
    assert data["samples"] == posterior.sample_names.tolist()
    used = np.flatnonzero(posterior.active)
    np.testing.assert_allclose(
        np.array(data["scores"]).T, posterior.scores.mean[:, used], atol=6e-4
    )
    assert [task["classes"] for task in data["tasks"]] == [
        ["case <b>", "control & co"],
        ["I", "II", "III"],
    ]
    for number, task in enumerate(data["tasks"]):
        assert task["codes"] == posterior.classifiers.class_index[:, number].tolist()
        strongest = [list(used).index(e.factor) for e in directions_on(posterior, number)[:2]]
        assert data["start"][number] == strongest


def test_the_heat_map_says_its_cells(full):
    posterior, page = models.two_tasks(), read(full)
    (grid,) = json.loads(page.one("script", id="grids").text).values()
    assert page.one("image", id="fig-loadings-cells")
    names = [plain(name) for name in posterior.feature_names]
    rows = [names.index(name) for name in grid["rows"]]
    columns = [posterior.factor_names.index(name) for name in grid["columns"]]
    expected = posterior.structure[np.ix_(rows, columns)]
    np.testing.assert_allclose(grid["values"], expected, atol=6e-3)


def test_points_have_hints(full):
    page = read(full)

    def hints(name):
        return [
            e.attributes["data-tip"]
            for e in page.one("svg", id=name).all()
            if "data-tip" in e.attributes
        ]

    posterior = models.two_tasks()
    assert hints("fig-comparison")[1] == "linear <SVM>\nAUC 0.930 ± 0.030"
    assert len(hints("fig-coefficients-0")) == posterior.active.sum()
    assert len(hints("fig-coefficients-1")) == 3 * posterior.active.sum()
    mean = posterior.classifiers.rows.mean[0, 0] * posterior.scores.mean[:, 0].std()
    said = f"Factor 1, for control & co\n{mean:.2f}".replace("-", "−")
    assert hints("fig-coefficients-0")[0] == said  # without limits: they were not assessed
    nodes = hints("fig-network")
    linked = {cells(row)[0] for row in page.one("section", id="network").one("tbody").all("tr")}
    linked |= {cells(row)[1] for row in page.one("section", id="network").one("tbody").all("tr")}
    assert {hint.split("\n")[0] for hint in nodes} == linked


def test_data_tables_have_numbers_to_sort_by(full):
    posterior, page = models.two_tasks(), read(full)
    table = page.one("section", id="factors").all("table")[0]
    rows = table.one("tbody").all("tr")
    assert len(rows) == posterior.active.sum()
    for k, row in zip(np.flatnonzero(posterior.active), rows, strict=True):
        value = row.all("td")[2].attributes["data-value"]
        assert float(value) == pytest.approx(100 * posterior.shares[k], rel=1e-5)


@pytest.mark.slow
def test_no_calibration_without_probabilities(full, folder):
    assert "fig-calibration-0" not in [svg.attributes["id"] for svg in read(full).all("svg")]
    frame = models.decisions()
    frame["probability"] = 1 / (1 + np.exp(-frame["decision"]))
    # A model without probabilities has no curve; the others keep theirs.
    frame.loc[frame["model"] == "linear <SVM>", "probability"] = np.nan
    page = read(write_report(folder / "c.html", models.two_tasks(), title="t", decisions=frame))
    figure = page.one("svg", id="fig-calibration-0")
    assert "linear" not in figure.text
    assert "Probability of control & co" in figure.text
    assert not page.all("svg", id="fig-calibration-1")  # three classes


@pytest.mark.slow
def test_chains_and_local_classifiers_have_their_figures(folder, full):
    sampled = read(write_report(folder / "sampled.html", models.sampled(), title="t"))
    fit = sampled.one("section", id="fit")
    assert fit.one("svg", id="fig-trace")
    facts = dict(
        zip((one.text for one in fit.all("dt")), (one.text for one in fit.all("dd")), strict=True)
    )
    stages = ["variational inference", "Gibbs sampling"]
    assert [one for one in facts["Stages"].split(", ") if one != "predictive training"] == stages
    posterior = models.sampled()
    largest = convergence(posterior)["r_hat"].max()
    assert float(facts["Largest R-hat"]) == pytest.approx(largest, abs=5.01e-4)
    assert facts["Interrupted"] == "no"
    # Draws say what is clear, but no feature was selected by half-sample fits.
    assert "clear by the draws" in sampled.one("section", id="summary").text
    assert "half-sample" not in sampled.one("main").text
    effects = json.loads(sampled.one("script", id="effects-data").text)
    assert effects["assessed"]
    assert not effects["selected"]
    nonlinear = read(write_report(folder / "nonlinear.html", models.nonlinear(), title="t"))
    section = nonlinear.one("section", id="components")
    assert [svg.attributes["id"] for svg in section.all("svg")] == [
        "fig-components-0",
        "fig-components-1",
    ]
    assert not read(full).all("svg", id="fig-trace")
    assert not read(full).all("section", id="components")


@pytest.mark.slow
def test_gene_sets_are_tested(folder):
    posterior = models.two_tasks()
    awkward = frozenset(str(name) for name in posterior.feature_names[:4])
    sets = {
        "first <four>": awkward | {"f4", "f5"},
        "others": frozenset(f"f{i}" for i in range(6, 12)),
    }
    page = read(write_report(folder / "g.html", posterior, title="t", gene_sets=sets))
    section = page.one("section", id="enrichment")
    assert "2 sets were given" in section.text
    rows = [cells(row) for row in section.one("tbody").all("tr")]
    assert {row[2] for row in rows} <= set(sets)
    expected = enrich(posterior, sets)
    assert len(rows) == len(expected)
    kept = [
        float(row.all("td")[8].attributes["data-value"]) for row in section.one("tbody").all("tr")
    ]
    np.testing.assert_allclose(kept, sorted(expected["q"]), rtol=1e-5)


def test_gene_sets_without_any_feature_are_refused(tmp_path):
    with pytest.raises(InputError, match="set"):
        write_report(tmp_path / "g.html", models.two_tasks(), title="t", gene_sets={"a": {"b"}})
    assert not list(tmp_path.iterdir())


def test_many_samples_are_thinned_and_it_is_said(folder):
    posterior = models.unsupervised()
    many = replace(
        posterior,
        scores=Normal.isotropic(np.random.default_rng(0).standard_normal((5000, 3)), 1.0),
        sample_names=np.array([f"s{i}" for i in range(5000)]),
    )
    data = explorer_data(many)
    assert len(data["samples"]) == len(data["scores"][0]) == MOST_SAMPLES
    assert [data["samples"][0], data["samples"][-1]] == ["s0", "s4999"]


def test_a_number_that_was_chosen_has_its_figure_and_its_words(folder, full):
    page = read(write_report(folder / "counted.html", models.counted(), title="t"))
    assert page.one("section", id="fit").one("svg", id="fig-scree")
    assert (
        "2 leading eigenvalues exceed chance"
        in page.one("svg", id="fig-scree").attributes["aria-label"]
    )
    assert "2 of 2 factors (parallel analysis) in use" in page.one("header").text
    assert "The model has 2 factors (parallel analysis)." in page.one("section", id="methods").text
    assert "60 samples" in page.one("section", id="fit").text
    assert "No factor exceeds chance" not in page.text
    assert not read(full).all("svg", id="fig-scree")
    assert "parallel analysis" not in read(full).text


def test_the_caption_names_blocks_whose_factors_are_not_shown():
    assert scree_overview(models.unsupervised()) is None
    assert "Not shown" not in scree_overview(models.counted()).caption
    name = plain(models.SCRIPT)
    caption = scree_overview(models.of_blocks()).caption
    assert f"Not shown: factors found in a single block (1 in {name})." in caption


def test_variance_is_told_by_block(folder):
    X = models.table()[0].drop(columns="constant")
    blocks = ["genes"] * 4 + [models.SCRIPT] * 8
    fitted = RankFactorAnalysis(n_factors=2, blocks=blocks, max_iter=3, tol=1.0, random_state=0)
    posterior = fitted.fit(X).posterior_
    page = read(write_report(folder / "blocks.html", posterior, title="t"))
    (table,) = (one for one in page.all("table") if "R² by block" in one.one("caption").text)
    rows = [cells(row) for row in table.one("tbody").all("tr")]
    assert [row[0] for row in rows] == ["genes", plain(models.SCRIPT)]
    used = np.flatnonzero(posterior.active)
    expected = 100 * posterior.r2_by_block
    for row, own in zip(rows, expected, strict=True):
        values = [float(text.replace("−", "-")) for text in row[1:]]
        assert values == pytest.approx([own.sum(), *own[used]], abs=0.0501)
