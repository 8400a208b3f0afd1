import json
import subprocess
import sys
import zipfile

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
from rankfactor.estimators import PRESETS
from rankfactor.inference.chain import Gibbs
from rankfactor.inference.threads import Workers
from rankfactor.likelihoods import MarginRank

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table_and_labels():
    simulated = simulate(n=60, d=10)
    table = pd.DataFrame(simulated.X, columns=[f"g{i}" for i in range(10)])
    labels = pd.DataFrame({"y": simulated.y, "three": ["a", "b", "c"] * 20})
    return table, labels


@pytest.fixture(params=sorted(PRESETS))
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
    engine = Gibbs(n_draws=4, burn_in=2, n_predict=3)
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


def test_another_process_reads_it(fitted, tmp_path):
    save_model(fitted.posterior_, tmp_path / "model.rankfactor")
    code = (
        "import sys; from rankfactor import load_model;"
        "print(load_model(sys.argv[1]).loadings.sum().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.rankfactor")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == float(fitted.loadings_.sum()).hex()


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


def test_no_training_data_inside(fitted, tmp_path):
    """The file grows with features and scores, not with features times samples."""
    path = save_model(fitted.posterior_, tmp_path / "m")
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    shape = np.lib.format.read_array(member).shape
                assert shape[:2] not in [(60, 10), (10, 60)]


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
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
    with pytest.raises(InputError, match="no rankfactor model, or is damaged"):
        load_model(path)
    path.write_text("sample,gene\n1,2\n")
    with pytest.raises(InputError, match="no rankfactor model, or is damaged"):
        load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda header, members: header.update(version=99))
    with pytest.raises(InputError, match="has format version 99"):
        load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda header, members: header.update(format="other"))
    with pytest.raises(InputError, match="is no rankfactor model"):
        load_model(path)
    path.write_bytes(whole)
    rewrite(path, lambda header, members: members.pop("rows.mean.npy"))
    with pytest.raises(InputError, match="is damaged"):
        load_model(path)


def test_a_file_from_before_scales_were_kept(tmp_path):
    table, labels = table_and_labels()
    engine = Gibbs(n_draws=3, burn_in=1, n_predict=2)
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
    with pytest.raises(InputError, match="Mine is no part of rankfactor's own"):
        save_model(fitted.posterior_, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
