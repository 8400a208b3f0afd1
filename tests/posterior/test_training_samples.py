"""A model without its training samples: the same predictions, and no data of any sample."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.plots import models

from rankfactor import interpret, plots
from rankfactor.errors import InputError
from rankfactor.interpret.correlation import score_moment
from rankfactor.posterior.diagnostics import convergence
from rankfactor.report import write_report
from rankfactor.steps.workers import Workers
from rankfactor.storage.model_file import load_model, model_header, save_model

KINDS = {
    "two_tasks": models.two_tasks,
    "gibbs": models.sampled,
    "nonlinear": models.nonlinear,
    "unsupervised": models.unsupervised,
}
NAMES = [f"person {chr(65 + i % 26)}{i} of the ward" for i in range(60)]


@cache
def whole(kind):
    """A posterior whose samples have names that nothing else has."""
    return replace(KINDS[kind](), sample_names=np.array(NAMES))


@pytest.fixture(params=list(KINDS))
def both(request, tmp_path):
    """A posterior, the file without its samples, and what is read from that."""
    posterior = whole(request.param)
    path = save_model(posterior, tmp_path / "m.rankfactor", training_samples=False)
    return posterior, path, load_model(path)


def test_no_sample_is_in_the_file(both):
    posterior, path, _ = both
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in ("sample_names.npy", "scores.mean.npy", "scores.cov.npy", "label_codes.npy"):
        assert name not in members
    content = b"".join(members.values())
    for name in NAMES:
        assert name.encode() not in content
        assert name.encode("utf-32-le") not in content
    for score in posterior.scores.mean.ravel():
        assert score.tobytes() not in content
    if posterior.classifiers is not None:
        for class_index in posterior.classifiers.class_index.T:
            for kind in (np.int8, np.int32, np.int64):
                assert class_index.astype(kind).tobytes() not in content
    # No array has a length of the samples, and the file with samples has all of this.
    arrays = json.loads(members["header.json"])["arrays"]
    history = {"elbo", "sd_w", "n_active"}
    assert all(60 not in one["shape"] for name, one in arrays.items() if name not in history)
    full = save_model(posterior, path.with_suffix(".whole"))
    with zipfile.ZipFile(full) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert NAMES[7].encode("utf-32-le") in content
    assert posterior.scores.mean[7, 0].tobytes() in content


def test_it_is_the_same_model(both):
    posterior, _, loaded = both
    values = models.table()[0].to_numpy()
    # The fit encoded before the standard form, and loadings are multiplied by the basis and back
    # here. Rounding goes through the steps of the encoder.
    assert_allclose(loaded.encode(values, Workers()).mean, posterior.scores.mean, atol=1e-8)
    again = posterior.encode(values, Workers()).mean
    assert_array_equal(loaded.encode(values, Workers()).mean, again)
    for name in (
        "loadings",
        "structure",
        "standardised_loadings",
        "standardised_loadings_sd",
        "shares",
        "factor_correlations",
    ):
        assert_array_equal(getattr(loaded, name), getattr(posterior, name))
    assert_array_equal(loaded.active, posterior.active)
    assert_array_equal(score_moment(loaded), score_moment(posterior))
    assert loaded.samples.n_samples == 60
    assert interpret.factor_table(loaded).equals(interpret.factor_table(posterior))
    assert interpret.top_features(loaded).equals(interpret.top_features(posterior))
    edges = [interpret.edge_table(interpret.feature_network(one)) for one in (loaded, posterior)]
    assert edges[0].equals(edges[1])
    if posterior.classifiers is None:
        return
    found, expected = (one.decide(values, Workers()) for one in (loaded, posterior))
    assert_array_equal(found[0], expected[0])
    pairs = zip(loaded.probabilities(found), posterior.probabilities(expected), strict=True)
    for one, other in pairs:
        assert_array_equal(one, other)
    assert interpret.coefficient_table(loaded).equals(interpret.coefficient_table(posterior))
    for one, other in zip(loaded.samples.counts, posterior.samples.counts, strict=True):
        assert_array_equal(one, other)


def test_saving_it_again_keeps_it(both, tmp_path):
    _, path, loaded = both
    for training_samples in (True, False):  # what is not there cannot be kept
        again = save_model(loaded, tmp_path / "again", training_samples=training_samples)
        assert again.read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_its_report_says_so_and_names_no_sample(both, tmp_path):
    posterior, _, loaded = both
    page = write_report(tmp_path / "r.html", loaded, title="t").read_text("utf-8")
    assert "saved without its training samples, so their scores are not shown" in page
    assert "<li>60 samples</li>" in page
    assert "scores shown here" not in page
    assert not any(name in page for name in NAMES)
    assert "Colour by" in page  # of the script, which has no data to draw
    assert '<script type="application/json" id="scores-data">null</script>' in page
    with_them = write_report(tmp_path / "w.html", posterior, title="t").read_text("utf-8")
    assert NAMES[3] in with_them
    if posterior.classifiers is not None:
        cards = [one.split('<p class="muted">')[1].split("</p>")[0] for one in (page, with_them)]
        assert cards[0] == cards[1]


def test_figures_of_samples_are_refused_and_others_drawn():
    posterior = whole("nonlinear").without_training_samples()
    values = models.table()[0]["f4"]
    sentence = "was saved without its training samples, so it has no"
    with pytest.raises(InputError, match=sentence):
        plots.score_figure(posterior)
    with pytest.raises(InputError, match=sentence):
        plots.score_figure(posterior, 0)
    with pytest.raises(InputError, match=sentence):
        plots.responsibility_figure(posterior)
    with pytest.raises(InputError, match=sentence):
        plots.rank_figure(posterior, values, "f4")
    assert plots.coefficient_figure(posterior).axes
    assert plots.loading_figure(posterior).axes
    assert posterior.n_components_used == whole("nonlinear").n_components_used
    assert posterior.without_training_samples() is posterior


def test_how_well_the_chains_mixed_is_kept(tmp_path):
    posterior = whole("gibbs")
    loaded = load_model(save_model(posterior, tmp_path / "m", training_samples=False))
    before, after = convergence(posterior), convergence(loaded)
    numbers = ["quantities", "r_hat", "ess_bulk", "ess_tail", "mcse"]
    assert after[numbers].equals(before[numbers])
    assert before.loc["decision function", "r_hat_at"].startswith("group: control & co, person")
    assert after.loc["decision function", "r_hat_at"] == "group: control & co"
    assert plots.trace_figure(loaded).axes


def test_a_reader_that_does_not_know_it_refuses_it(tmp_path, monkeypatch):
    path = save_model(whole("two_tasks"), tmp_path / "m", training_samples=False)
    assert model_header(path)["needs"] == ["basis", "sample_summary"]
    monkeypatch.setattr(
        "rankfactor.storage.model_file.KNOWN", ("basis", "covariates", "indicators")
    )
    with pytest.raises(InputError, match="needs sample_summary, written by rankfactor"):
        load_model(path)
