"""Models by their codes and by their plain names."""

import re

import numpy as np
import pytest

from rankfactor import InputError, RankFactorClassifier, load_model, save_model, write_report
from rankfactor.evaluation.pinned import pinned
from rankfactor.model import Model
from rankfactor.presets import PRESETS, code_of, full_name, heading, name_of_parts
from rankfactor.storage.model_file import model_header


def test_every_model_has_a_plain_name_of_its_own():
    plain = [preset.plain for preset in PRESETS.values()]
    assert len(set(plain) | set(PRESETS)) == 2 * len(PRESETS)
    for code, preset in PRESETS.items():
        assert code_of(code) == code_of(preset.plain) == code
        assert name_of_parts(preset.data, preset.label, preset.linear) == full_name(code)


def test_a_heading_names_a_likelihood_that_is_not_the_models_own():
    assert heading("R-L-BSVM", "margin_rank") == "R-L-BSVM"
    assert heading("R-L-BSVM", "ordinal_probit") == "R-L-BSVM with ordinal probit"
    assert heading("R-L-BSVM", "by_block") == "R-L-BSVM with likelihoods by block"
    assert heading("Factor analysis", "ordinal_probit") == "Factor analysis"


@pytest.mark.parametrize("code", PRESETS)
def test_a_built_model_knows_its_name(code):
    built = RankFactorClassifier(PRESETS[code].plain, n_factors=2)._build_model()
    assert isinstance(built, Model)
    assert built.name == full_name(code)


def test_other_parts_have_no_name():
    parts = {"likelihood": "ordinal_probit", "n_factors": 2}
    assert RankFactorClassifier("rank", **parts)._build_model().name == ""


@pytest.mark.parametrize("name", ["rnak", "Rank", None, ["rank"]])
def test_a_bad_name_gets_both_kinds_of_names(name):
    with pytest.raises(InputError, match=r"R-L-BSVM \(rank\), .*R-NL-BSVM \(rank-nonlinear\)"):
        code_of(name)


def test_near_names_are_suggested():
    with pytest.raises(InputError, match=r"Did you mean 'rank'\?"):
        code_of("rnak")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 6))
    labels = np.where(table[:, 0] + table[:, 1] > 0, "yes", "no")
    settings = {"n_factors": 2, "calibration": "none", "n_threads": 1, "random_state": 0}
    names = ("rank", "R-L-BSVM")
    return table, [RankFactorClassifier(name, **settings).fit(table, labels) for name in names]


def test_both_names_are_one_model(fitted):
    table, (plain, code) = fitted
    assert np.array_equal(plain.decision_function(table), code.decision_function(table))
    assert pinned(plain, plain.posterior_)["model"] == pinned(code, code.posterior_)["model"]


def test_saved_models_and_reports_show_both_names(fitted, tmp_path):
    _, (plain, _) = fitted
    save_model(plain, tmp_path / "model.rankfactor")
    assert model_header(tmp_path / "model.rankfactor")["summary"]["model"] == "R-L-BSVM (rank)"
    loaded = load_model(tmp_path / "model.rankfactor")
    assert "R-L-BSVM (rank)" in repr(loaded)
    assert "R-L-BSVM (rank)" in loaded._repr_html_()
    write_report(tmp_path / "report.html", loaded, title="Model")
    words = re.sub("<[^>]*>", "", (tmp_path / "report.html").read_text("utf-8"))
    assert "The model is R-L-BSVM (rank)." in words
