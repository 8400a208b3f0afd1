"""The model file: bits round-trip, only cuts of the table are stored, bad files are refused."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from tests.simulate import simulate

from rankfactor import (
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_model,
    save_model,
)
from rankfactor.engine.chain import Gibbs
from rankfactor.estimators import PRESETS
from rankfactor.interpret import sentences
from rankfactor.latent import InBasis
from rankfactor.likelihoods import MarginRank, NoParameters
from rankfactor.posterior.posterior import hash_of_codes
from rankfactor.steps.workers import Workers
from rankfactor.storage import model_file
from rankfactor.storage.archive import is_model_file
from rankfactor.storage.model_file import model_header

FIXTURES = Path(__file__).parents[1] / "fixtures"
# How near decisions must be to the stored ones. Those were computed in single precision, which
# rounds to 6e-8 of a number and differently on every processor: by the steps of then, a decision
# differs by up to 4e-7 of itself from that in double precision.
AS_THEN = {"rtol": 2e-6, "atol": 2e-6}
# The steps of then stopped up to 1e-3 short of the fixed point.
AS_NOW = {"rtol": 5e-4, "atol": 1e-4}


@pytest.fixture(params=[AS_THEN, AS_NOW], ids=["as then", "as now"])
def nearness(request, monkeypatch):
    """Tolerances against predictions of earlier versions, with their encoding or the new one."""
    if request.param is AS_THEN:
        monkeypatch.setattr(MarginRank, "has_curvature", False)
    return request.param


def assert_predictions(posterior, decision, expected, nearness):
    """Compare decisions, and probabilities in absolute terms.

    A small probability multiplies the relative error of its decision by the decision's size.
    """
    np.testing.assert_allclose(decision[0], expected["decisions"], **nearness)
    found = posterior.probabilities(decision)
    for one, other in zip(found, expected["probabilities"], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=nearness["atol"])


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table_and_labels():
    simulated = simulate(n=60, d=10)
    table = pd.DataFrame(simulated.X, columns=[f"g{i}" for i in range(10)])
    labels = pd.DataFrame({"y": simulated.y, "three": ["a", "b", "c"] * 20})
    return table, labels


@pytest.fixture(scope="module", params=sorted(PRESETS))
def fitted(request):
    return RankFactorClassifier(request.param, n_factors=2, max_iter=5, random_state=0).fit(
        *table_and_labels()
    )


def test_predictions_are_the_same_to_the_last_bit(fitted, tmp_path):
    table, _ = table_and_labels()
    path = save_model(fitted.posterior_, tmp_path / "model.rankfactor")
    loaded = load_model(path)
    decision = loaded.decide(table.to_numpy(), Workers())
    for one, other in zip(loaded.probabilities(decision), fitted.predict_proba(table), strict=True):
        assert_array_equal(one, other)
    assert loaded.model == fitted.posterior_.model
    assert_array_equal(loaded.loadings, fitted.loadings_)
    assert [list(task.classes) for task in loaded.classifiers.tasks] == [[0, 1], ["a", "b", "c"]]
    assert loaded.named_features


@pytest.mark.parametrize("labelled", [True, False])
def test_draws_are_kept(labelled, tmp_path):
    table, labels = table_and_labels()
    engine = Gibbs(n_draws=4, burn_in=2, n_predict=3, n_chains=2)
    settings = {"engine": engine, "n_factors": 2, "max_iter": 5, "random_state": 0}
    if labelled:
        fitted = RankFactorClassifier(**settings).fit(table, labels)
    else:
        fitted = RankFactorAnalysis(**settings).fit(table)
    loaded = load_model(save_model(fitted.posterior_, tmp_path / "m"))
    assert_array_equal(loaded.draws.loadings, fitted.posterior_.draws.loadings)
    assert_array_equal(loaded.draws.chain, [0] * 4 + [1] * 4)
    scales, expected = loaded.draws.scales, fitted.posterior_.draws.scales
    assert scales.dims == expected.dims
    assert scales.values.keys() == expected.values.keys()
    assert ("coefficient_xi" in scales.values) == labelled
    for name, values in expected.values.items():
        assert_array_equal(scales.values[name], values)
    if labelled:
        mean, variance = loaded.decide(table.to_numpy(), Workers())
        expected = fitted.posterior_.decide(table.to_numpy(), Workers())
        assert_array_equal(mean, expected[0])
        assert_array_equal(variance, expected[1])
    else:
        assert_array_equal(loaded.scores.mean, fitted.scores_)


def test_draws_of_a_likelihood_without_parameters(monkeypatch):
    """No array has their number as its length."""
    engine = Gibbs(n_draws=4, burn_in=2, n_predict=3, n_chains=2)
    model = RankFactorClassifier(engine=engine, n_factors=2, max_iter=5, random_state=0)
    posterior = model.fit(*table_and_labels()).posterior_
    nothing = (NoParameters(),) * 8
    posterior = replace(posterior, draws=replace(posterior.draws, params=nothing))
    arrays = model_file._disassemble(posterior)[1]
    assert not [name for name in arrays if name.startswith("draws.params")]
    parts = model_file._nested(arrays)
    monkeypatch.setattr(MarginRank, "parameters", NoParameters)
    draws = model_file._drawn(posterior.model, parts["draws"], parts["basis"])
    assert_array_equal(draws.basis, posterior.draws.basis)
    assert draws.params == nothing
    assert_array_equal(draws.loadings, posterior.draws.loadings)


@pytest.mark.quick_cases("R-L-BSVM")
def test_another_process_predicts_the_same_bits(fitted, tmp_path):
    table, _ = table_and_labels()
    path = save_model(fitted.posterior_, tmp_path / "model.rankfactor")
    table.to_csv(tmp_path / "table.csv", index=False)
    code = (
        "import sys; import pandas as pd; from rankfactor import load_model;"
        "from rankfactor.data.textblocks import EXACT;"
        "from rankfactor.steps.workers import Workers; model = load_model(sys.argv[1]);"
        "table = pd.read_csv(sys.argv[2], **EXACT).to_numpy();"
        "sys.stdout.buffer.write(b''.join(one.tobytes() for one in"
        " model.probabilities(model.decide(table, Workers()))))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path), str(tmp_path / "table.csv")],
        capture_output=True,
        check=True,
    )
    assert run.stdout == b"".join(one.tobytes() for one in fitted.predict_proba(table))


def test_unsupervised_model(tmp_path):
    table, _ = table_and_labels()
    fitted = RankFactorAnalysis(n_factors=2, max_iter=5, random_state=0).fit(table.to_numpy())
    loaded = load_model(save_model(fitted.posterior_, tmp_path / "m"))
    assert loaded.classifiers is None
    assert not loaded.named_features
    assert_array_equal(loaded.scores.mean, fitted.scores_)


def test_the_same_model_gives_the_same_bytes(fitted, tmp_path):
    one = save_model(fitted.posterior_, tmp_path / "one")
    two = save_model(fitted.posterior_, tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()


def test_the_table_is_not_inside(fitted, tmp_path):
    """The file grows with features and scores, not with features times samples."""
    path = save_model(fitted.posterior_, tmp_path / "m")
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    shape = np.lib.format.read_array(member).shape
                assert shape[:2] not in [(60, 10), (10, 60)]


def rewrite(path, change):
    """Change a file into one from before there were checksums."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    members.pop("checksum.txt", None)
    header.pop("checksum", None)
    change(header, members)
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_bad_files_get_one_sentence(fitted, tmp_path):
    path = save_model(fitted.posterior_, tmp_path / "model.rankfactor")
    whole = path.read_bytes()
    with pytest.raises(InputError, match="there is no model file"):
        load_model(tmp_path / "absent")
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is damaged, its end is missing"):
        load_model(path)
    path.write_text("sample,gene\n1,2\n")
    with pytest.raises(InputError, match="is not a rankfactor model"):
        load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda header, members: header.update(version=99))
    with pytest.raises(InputError, match="has format version 99"):
        load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda header, members: header.update(format="other"))
    with pytest.raises(InputError, match="is not a rankfactor model"):
        load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda header, members: members.pop("rows.mean.npy"))
    with pytest.raises(InputError, match="is damaged"):
        load_model(path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small file, and the posterior in it."""
    fitted = RankFactorClassifier(n_factors=2, margin=0.05, max_iter=5, random_state=0)
    fitted.fit(*table_and_labels())
    path = tmp_path_factory.mktemp("small") / "small.rankfactor"
    return save_model(fitted.posterior_, path).read_bytes(), fitted.posterior_


def edited(content, path, change):
    """Rewrite a zip as an editor would: members changed, everything else in order."""
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, one in members.items():
            archive.writestr(name, one)
    return path


def test_an_edited_file_is_told(small, tmp_path):
    content, posterior = small
    path = tmp_path / "m"

    def same(members):
        pass

    def number(members):
        members["rows.mean.npy"] = members["rows.mean.npy"][:-1] + b"\x00"

    def header(members):
        members["header.json"] = members["header.json"].replace(b"0.05", b"0.06")

    def swapped(members):
        members["rows.mean.npy"], members["sd_w.npy"] = (
            members["sd_w.npy"],
            members["rows.mean.npy"],
        )

    def unchecked(members):
        del members["checksum.txt"]

    assert_array_equal(load_model(edited(content, path, same)).loadings, posterior.loadings)
    for change in (number, header, swapped, unchecked):
        with pytest.raises(InputError, match="has been changed since it was written"):
            load_model(edited(content, path, change))


def test_a_file_cut_off_anywhere_is_told(small, tmp_path):
    content, _ = small
    path = tmp_path / "m"
    for length in (0, 3, 4, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"is damaged|is not a rankfactor model"):
            load_model(path)


def test_a_flipped_byte_is_told_or_harmless(small, tmp_path):
    content, posterior = small
    path = tmp_path / "m"
    told = 0
    for place in range(0, len(content), 37):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            loaded = load_model(path)
        except InputError:
            told += 1
        else:  # a byte of the zip that says nothing, such as a date
            assert_array_equal(loaded.loadings, posterior.loadings)
    assert told > 0.8 * len(range(0, len(content), 37))


def test_a_newer_file_is_told_before_its_content_is_looked_at(small, tmp_path):
    def newer(members):
        members["header.json"] = members["header.json"].replace(b'"version": 1', b'"version": 2')

    path = edited(small[0], tmp_path / "m", newer)
    for read in (load_model, model_header):
        with pytest.raises(InputError, match=r"format version 2, .* which reads versions up to 1"):
            read(path)


def test_other_zips_and_folders_are_no_models(tmp_path):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", "<nothing/>")
    with pytest.raises(InputError, match=r"other.zip is not a rankfactor model\.$"):
        load_model(path)
    assert not is_model_file(path)
    with pytest.raises(InputError, match="is a folder"):
        load_model(tmp_path)


def test_the_header_tells_what_is_inside(tmp_path):
    table, labels = table_and_labels()
    labels = labels.astype(object)
    labels.loc[0, "three"] = np.nan
    fitted = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0).fit(table, labels)
    path = save_model(fitted.posterior_, tmp_path / "m", provenance={"table": "t.csv", "x": np.nan})
    assert is_model_file(path)
    header = model_header(path)
    assert (header["format"], header["version"]) == ("rankfactor model", 1)
    assert header["model"]["data"]["part"] == "margin_rank"
    assert header["provenance"] == {"table": "t.csv", "x": None}
    summary = header["summary"]
    assert (summary["n_samples"], summary["n_features"], summary["n_factors"]) == (60, 10, 2)
    assert summary["tasks"]["three"] == {"classes": {"a": 19, "b": 20, "c": 20}, "missing": 1}
    assert summary["elbo"] == fitted.elbo_
    assert header["arrays"]["feature_names"]["shape"] == [10]
    with zipfile.ZipFile(path) as archive:
        json.loads(archive.read("header.json"), parse_constant=pytest.fail)  # no NaN


def codes_hash(posterior, values):
    return hash_of_codes(posterior.coding.observe(values))


def test_the_hash_is_of_the_codes(small):
    _, posterior = small
    values = table_and_labels()[0].to_numpy()
    first = codes_hash(posterior, values)
    assert len(first) == 64
    assert codes_hash(posterior, np.where(values == values.max(), values + 1, values)) == first
    other = values.copy()
    other[0, 0] = np.nan
    assert codes_hash(posterior, other) != first


def test_the_hash_comes_with_every_model(small, tmp_path):
    _, posterior = small
    values = table_and_labels()[0].to_numpy()
    assert posterior.codes_sha256 == codes_hash(posterior, values)
    path = save_model(posterior, tmp_path / "m")
    assert model_header(path)["codes_sha256"] == posterior.codes_sha256
    assert load_model(path).codes_sha256 == posterior.codes_sha256


def test_what_a_file_needs_of_its_reader(small, tmp_path, monkeypatch):
    table, labels = table_and_labels()
    mixed = table.assign(sex=["f", "m"] * 30, batch=["x", "y", "z"] * 20)
    model = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0, covariates=["batch"])
    path = save_model(model.fit(mixed, labels).posterior_, tmp_path / "m")
    assert model_header(path)["needs"] == ["basis", "covariates", "indicators"]
    assert model_header(save_model(small[1], tmp_path / "plain"))["needs"] == ["basis"]
    # A reader from before there were indicators would predict something else, and must not.
    monkeypatch.setattr("rankfactor.storage.model_file.KNOWN", ("basis", "covariates"))
    for read in (load_model, model_header):
        with pytest.raises(InputError, match=r"needs indicators, written by rankfactor .* install"):
            read(path)


@pytest.mark.parametrize("suffix", ["v1_without_checksum", "v1"])
@pytest.mark.parametrize("name", ["linear", "gaussian", "nonlinear", "mixture", "gibbs"])
def test_files_of_format_1_are_read_for_ever(name, suffix, nearness):
    """Written by earlier versions; never to be written again."""
    expected = json.loads((FIXTURES / "predictions_v1.json").read_text("utf-8"))
    values = np.array(expected["values"], dtype=float)
    posterior = load_model(FIXTURES / f"{name}_{suffix}.rankfactor")
    assert posterior.feature_names.tolist() == expected["features"]
    assert [task.name for task in posterior.classifiers.tasks] == ["status", "three"]
    decision = posterior.decide(values, Workers())
    assert_predictions(posterior, decision, expected["models"][name], nearness)


def test_a_file_from_before_scales_were_kept(tmp_path):
    table, labels = table_and_labels()
    engine = Gibbs(n_draws=3, burn_in=1, n_predict=2, n_chains=2)
    fitted = RankFactorClassifier(engine=engine, n_factors=2, max_iter=5, random_state=0)
    fitted.fit(table, labels)
    path = save_model(fitted.posterior_, tmp_path / "m")

    def without_scales(header, members):
        for name in [name for name in members if name.startswith("draws.scales.")]:
            del members[name]

    rewrite(path, without_scales)
    loaded = load_model(path)
    assert loaded.draws.scales.values == {}
    expected = fitted.posterior_.decide(table.to_numpy(), Workers())
    assert_array_equal(loaded.decide(table.to_numpy(), Workers())[0], expected[0])
    assert "loading_xi" not in loaded.to_arviz()["posterior"]


def test_a_file_from_before_probabilities_were_calibrated(tmp_path):
    table, labels = table_and_labels()
    fitted = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0).fit(table, labels)
    path = save_model(fitted.posterior_, tmp_path / "m")
    scale = fitted.posterior_.classifiers.scale
    assert (scale != 1).all()
    assert_array_equal(load_model(path).classifiers.scale, scale)
    rewrite(path, lambda header, members: members.pop("probability_scale.npy"))
    loaded = load_model(path)
    assert_array_equal(loaded.classifiers.scale, [1.0, 1.0])
    plain = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0, calibration="none")
    decision = loaded.decide(table.to_numpy(), Workers())
    expected = plain.fit(table, labels).predict_proba(table)
    for one, other in zip(loaded.probabilities(decision), expected, strict=True):
        assert_array_equal(one, other)


def test_a_file_from_before_there_were_other_scores_and_experts(tmp_path):
    table, labels = table_and_labels()
    fitted = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0).fit(table, labels)
    path = save_model(fitted.posterior_, tmp_path / "m")

    def without(header, members):
        del header["model"]["latent"], header["model"]["experts"]

    rewrite(path, without)
    loaded = load_model(path)
    assert loaded.model == fitted.posterior_.model
    expected = fitted.posterior_.decide(table.to_numpy(), Workers())
    assert_array_equal(loaded.decide(table.to_numpy(), Workers())[0], expected[0])


def test_nothing_is_half_written(fitted, tmp_path, monkeypatch):
    target = tmp_path / "model.rankfactor"
    target.write_text("what was there before")

    def fail(*arguments, **settings):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(InputError, match=r"cannot be written \(disk full\)"):
        save_model(fitted.posterior_, target)
    assert [path.name for path in tmp_path.iterdir()] == ["model.rankfactor"]
    assert target.read_text() == "what was there before"
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        save_model(fitted.posterior_, tmp_path / "nowhere" / "m")


def test_a_part_of_ones_own_cannot_be_saved(tmp_path):
    class Mine(MarginRank):
        pass

    table, labels = table_and_labels()
    fitted = RankFactorClassifier(likelihood=Mine(), n_factors=2, max_iter=5, random_state=0)
    fitted.fit(table, labels)
    with pytest.raises(InputError, match="Mine has no name of its own"):
        save_model(fitted.posterior_, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_mixed_table_of_format_1_is_read_for_ever(nearness):
    """With covariates and columns of words; never to be written again."""
    expected = json.loads((FIXTURES / "mixed_v1.json").read_text("utf-8"))
    posterior = load_model(FIXTURES / "mixed_v1.rankfactor")
    assert posterior.feature_names.tolist() == expected["features"]
    assert posterior.word_columns == ["sex", "grade"]
    assert posterior.covariate_names == ["age", "site"]
    values = posterior.match(pd.DataFrame(expected["table"]), "error")
    assert_predictions(posterior, posterior.decide(values, Workers()), expected, nearness)


def test_a_chosen_number_of_factors_is_kept(tmp_path):
    table = pd.DataFrame(simulate(n=80, d=12, k=2, noise=0.2).X)
    blocks = ["a"] * 8 + ["b"] * 4
    model = RankFactorAnalysis(n_factors="auto", blocks=blocks, max_iter=5, random_state=0)
    expected = model.fit(table).posterior_.factor_count
    path = save_model(model, tmp_path / "m", training_samples=False)
    found = load_model(path).factor_count
    assert (found.n_factors, found.common) == (expected.n_factors, expected.common)
    assert found.n_samples == 80
    assert type(found.n_factors) is int
    assert found.blocks.tolist() == ["a", "b"]
    for name in ("eigenvalues", "chance", "added"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
    assert model_header(path)["summary"]["n_factors_by"] == "parallel analysis"


def test_a_given_number_and_older_files_have_no_count(tmp_path):
    table, labels = table_and_labels()
    model = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0).fit(table, labels)
    path = save_model(model, tmp_path / "m")
    assert load_model(path).factor_count is None
    assert model_header(path)["summary"]["n_factors_by"] is None
    assert load_model(FIXTURES / "linear_v1.rankfactor").factor_count is None


@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_the_form_of_the_factors_is_kept(training, tmp_path):
    table, labels = table_and_labels()
    settings = {"n_factors": 2, "max_iter": 5, "random_state": 0, "training": training}
    posterior = RankFactorClassifier(**settings).fit(table, labels).posterior_
    for training_samples in (True, False):
        path = save_model(posterior, tmp_path / "m", training_samples=training_samples)
        loaded = load_model(path)
        assert isinstance(loaded.prior, InBasis)
        assert loaded.prior.inner == posterior.prior.inner
        assert_array_equal(loaded.prior.basis, posterior.prior.basis)
        assert_array_equal(loaded.variance.structure, posterior.variance.structure)
        assert_array_equal(loaded.variance.r2, posterior.variance.r2)
        assert loaded.has_standard_form
        assert loaded.r2 == posterior.r2
        decision = loaded.decide(table.to_numpy(), Workers())[0]
        assert_array_equal(decision, posterior.decide(table.to_numpy(), Workers())[0])


def test_a_mixture_and_draws_keep_their_coordinates(tmp_path):
    table, labels = table_and_labels()
    posterior = RankFactorClassifier(
        "G-NL-BSVM",
        experts="per_component",
        n_components=2,
        engine=Gibbs(n_draws=3, burn_in=2, n_chains=1, n_predict=2),
        n_factors=2,
        max_iter=5,
        random_state=0,
    )
    posterior = posterior.fit(table, labels).posterior_
    assert np.abs(posterior.draws.basis - np.eye(2)).max() > 1e-3
    loaded = load_model(save_model(posterior, tmp_path / "m"))
    assert_array_equal(loaded.prior.basis, posterior.prior.basis)
    assert_array_equal(loaded.draws.basis, posterior.draws.basis)
    gates, expected = (one.classifiers.experts.gates for one in (loaded, posterior))
    assert_array_equal(gates.basis, expected.basis)
    for one, other in zip(loaded.draws.experts, posterior.draws.experts, strict=True):
        assert_array_equal(one.gates.basis, other.gates.basis)
    decision = loaded.decide(table.to_numpy(), Workers())[0]
    assert_array_equal(decision, posterior.decide(table.to_numpy(), Workers())[0])


def test_a_reader_that_does_not_know_other_coordinates_refuses_the_file(
    small, tmp_path, monkeypatch
):
    path = save_model(small[1], tmp_path / "m")
    known = tuple(one for one in model_file.KNOWN if one != model_file.BASIS)
    monkeypatch.setattr("rankfactor.storage.model_file.KNOWN", known)
    for read in (load_model, model_header):
        with pytest.raises(InputError, match=r"needs basis, written by rankfactor .* install"):
            read(path)


@pytest.mark.parametrize("name", ["linear", "gaussian", "nonlinear", "mixture", "gibbs", "mixed"])
def test_files_of_earlier_versions_say_so(name):
    """Loadings and shares are then what the model expects."""
    posterior = load_model(FIXTURES / f"{name}_v1.rankfactor")
    assert not posterior.has_standard_form
    assert not isinstance(posterior.prior, InBasis)
    assert sentences.cautions(posterior, []).count(sentences.EARLIER) == 1
    assert np.abs(posterior.structure).max() <= 1 + 1e-12
    assert (posterior.structure[posterior.coding.columns] != 0).any()
    assert posterior.shares.sum() == pytest.approx(posterior.r2)
    assert 0 < posterior.r2 < 1
    scores, loadings = posterior.scores.mean, posterior.rows.mean[:, : posterior.n_factors]
    w = ((scores @ loadings.T) ** 2).mean(axis=0)
    assert posterior.r2 == pytest.approx((w / (w + posterior.noise_variance)).mean())


def test_files_of_this_version_do_not(small):
    assert sentences.EARLIER not in sentences.cautions(small[1], [])
