"""Tables of many samples: fitted by shards, from memory, files and streams."""

import errno
import os
import signal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from rankfactor import RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.data.streams import open_stream, with_labels
from rankfactor.engine.large import fit, held_out, placement
from rankfactor.errors import InputError
from rankfactor.estimators import large

N, D = 900, 24


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Fit tables of more than 300 samples by shards of 64."""
    monkeypatch.setattr(placement, "SHARD", 64)
    monkeypatch.setattr(large, "LARGE", 300)
    monkeypatch.setattr(large, "SAMPLE", 400)
    monkeypatch.setattr(large, "CORE", 256)
    monkeypatch.setattr(fit, "CORE", 256)
    monkeypatch.setattr(held_out, "WITHHELD", 100)
    monkeypatch.setattr(held_out, "ENOUGH", 50)


def simulated(seed, n=N):
    rng = np.random.default_rng(seed)
    a = np.random.default_rng(0).standard_normal((D, 3))
    z = rng.standard_normal((n, 3))
    X = rng.poisson(np.exp(1.0 + 0.5 * z @ a.T)).astype(float)
    X[rng.random(X.shape) < 0.03] = np.nan
    two = np.where(z[:, 0] - z[:, 1] + 0.5 * rng.standard_normal(n) > 0, "case", "control")
    three = np.digitize(z[:, 2] + 0.3 * rng.standard_normal(n), [-0.5, 0.5])
    index = [f"s{i}" for i in range(n)]
    table = pd.DataFrame(X, index, [f"gene{i}" for i in range(D)])
    labels = pd.DataFrame({"status": two, "grade": three.astype(str)}, index)
    labels.loc[rng.random(n) < 0.1, "status"] = None
    return table, labels


TABLE, LABELS = simulated(1)
NEW, ANSWERS = simulated(2, 400)


def fitted(X=TABLE, y=LABELS, **arguments):
    return RankFactorClassifier(n_factors=5, random_state=0, **arguments).fit(X, y)


def area(model, task=0):
    known = ANSWERS["status"].notna()
    return roc_auc_score(
        ANSWERS["status"][known] == "control", model.predict_proba(NEW)[task][known, 1]
    )


@pytest.fixture
def little_memory(monkeypatch):
    """An amount of memory that no codes fit into."""
    monkeypatch.setattr(large, "bytes_of", lambda _: 2**14)


@pytest.mark.slow
@pytest.mark.parametrize("training", ["predictive", "bayes", "label-free"])
@pytest.mark.parametrize("likelihood", ["margin_rank", "gaussian", "ordinal_probit"])
def test_shards_are_as_accurate_as_the_whole_table(likelihood, training, monkeypatch):
    model = fitted(likelihood=likelihood, training=training)
    assert "all samples" in str(model.convergence_) or "pass" in str(model.convergence_)
    monkeypatch.setattr(large, "LARGE", N)
    other = fitted(likelihood=likelihood, training=training, residual=False)
    assert area(model) > area(other) - 0.02
    for one, two in zip(model.decision_function(NEW), other.decision_function(NEW), strict=True):
        assert np.corrcoef(one.ravel(), two.ravel())[0, 1] > 0.97
    assert model.scores_.shape == (N, 5)
    np.testing.assert_allclose(model.transform(TABLE.iloc[:80]), model.scores_[:80], atol=2e-3)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same table in other forms."""
    folder = tmp_path_factory.mktemp("tables")
    values = TABLE.to_numpy()
    np.save(folder / "x.npy", values)
    TABLE.join(LABELS).to_csv(folder / "x.csv")
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("little_memory")
def test_memory_files_and_threads_do_not_change_a_bit(sources, tmp_path):
    model = fitted()
    wanted = model.decision_function(NEW)
    others = [
        fitted(memory="1MB", scratch=str(tmp_path)),
        fitted(n_threads=1),
        fitted(open_stream(TABLE)),
        fitted(str(sources / "x.csv"), ["status", "grade"]),
    ]
    for other in others:
        for one, two in zip(wanted, other.decision_function(NEW), strict=True):
            np.testing.assert_array_equal(one, two)
    assert not list(tmp_path.iterdir())
    assert others[0].posterior_.samples.n_samples == N
    assert (
        others[0].posterior_.samples.counts[0].tolist()
        == model.posterior_.samples.counts[0].tolist()
    )
    with pytest.raises(InputError, match="without its training samples"):
        others[0].posterior_.check_samples("scores")


@pytest.mark.slow
def test_arrays_without_names_and_sparse_tables_agree():
    zeros = TABLE.fillna(0.0)
    dense = fitted(zeros.to_numpy(), LABELS.to_numpy())
    sparse = fitted(csr_array(zeros.to_numpy()), LABELS.to_numpy())
    new = NEW.fillna(0.0).to_numpy()
    for one, two in zip(dense.decision_function(new), sparse.decision_function(new), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_increasing_transforms_change_nothing():
    curved = np.exp(TABLE / 4.0) - 7.0
    for one, two in zip(
        fitted().decision_function(NEW),
        fitted(curved).decision_function(np.exp(NEW / 4.0) - 7.0),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_labels_that_calibrate_are_not_seen_by_the_factors(monkeypatch):
    seen = []
    withhold = fit.withhold
    monkeypatch.setattr(held_out, "ENOUGH", 1000)  # nor do they end training

    def watched(*arguments):
        seen.append(withhold(*arguments))
        return seen[-1]

    monkeypatch.setattr(fit, "withhold", watched)
    first = fitted(y=LABELS["grade"])
    other = LABELS["grade"].copy()
    # Another order of the labels among these samples: the classes keep their number.
    other[seen[0]] = np.roll(other[seen[0]].to_numpy(), 1)
    second = fitted(y=other)
    assert seen[0].sum() == 100
    np.testing.assert_array_equal(first.loadings_, second.loadings_)
    assert not np.array_equal(first.coef_, second.coef_)
    assert not np.array_equal(
        first.posterior_.classifiers.scale, second.posterior_.classifiers.scale
    )


def test_groups_are_withheld_whole():
    groups = np.arange(N) // 5
    sampled = np.random.default_rng(0).permutation(N)[:400]
    withheld = held_out.withhold(N, sampled, groups)
    by_group = withheld.reshape(-1, 5)
    assert (by_group.all(axis=1) == by_group.any(axis=1)).all()
    assert 0 < by_group.all(axis=1).sum() <= N // 5 // 10
    assert fitted(y=LABELS["grade"]).posterior_.classifiers.scale != 1


def test_a_rare_value_of_a_feature_with_few_has_a_cut_of_its_own():
    table = TABLE.copy()
    rare = np.zeros(N)
    rare[N // 2 :] = 1.0
    rare[[5, 17]] = 3.0
    table["rare"] = rare
    model = fitted(table)
    coding = model.posterior_.coding
    place = coding.columns.tolist().index(D)
    assert coding.values[place, : coding.n_cuts[place]].tolist() == [0.0, 1.0]


def test_factors_without_labels():
    model = RankFactorAnalysis(random_state=0).fit(TABLE)
    assert model.scores_.shape[0] == N
    assert model.posterior_.factor_count is not None
    bounded = RankFactorAnalysis(random_state=0, memory="1MB").fit(TABLE)
    np.testing.assert_array_equal(model.loadings_, bounded.loadings_)


def test_a_model_file_of_a_large_fit(tmp_path):
    model = fitted(memory="1MB")
    save_model(model, tmp_path / "model.rankfactor")
    loaded = load_model(tmp_path / "model.rankfactor")
    for one, two in zip(model.decision_function(NEW), loaded.decision_function(NEW), strict=True):
        np.testing.assert_array_equal(one, two)
    assert loaded.feature_effects().shape[0] == D


def test_small_tables_in_files_are_fitted_whole(tmp_path):
    some = TABLE.iloc[:200]
    some.to_csv(tmp_path / "small.csv")
    stream = with_labels(open_stream(some.join(LABELS)), ["status", "grade"])
    for one, two in zip(
        fitted(some, LABELS.iloc[:200]).decision_function(NEW),
        fitted(stream, None).decision_function(NEW),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"engine": "gibbs"}, "Gibbs sampling needs the table in memory"),
        ({"model": "OR-L-BSVM"}, "ordinary_rank.*must be in memory"),
        ({"model": "R-NL-BSVM"}, "nonlinear classifiers need the table in memory"),
        ({"residual": True}, "decisions of two parts need the table in memory"),
    ],
)
def test_models_without_a_fit_by_shards_say_so(arguments, words):
    with pytest.raises(InputError, match=words):
        fitted(memory="1MB", **arguments)


@pytest.mark.parametrize("memory", ["much", "0GB", -3, "2 apples", True])
def test_what_is_no_amount_of_memory_is_refused(memory):
    with pytest.raises(InputError, match=r"memory must be an amount"):
        fitted(memory=memory)


@pytest.mark.usefixtures("little_memory")
def test_scratch_folders_that_cannot_be_used(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="does not exist"):
        fitted(memory="1MB", scratch=str(tmp_path / "nowhere"))
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="does not exist"):
        fitted(memory="1MB", scratch=str(file))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match="has no room for another"):
        fitted(memory="1MB", scratch=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_of_every_stage(threads):
    told, passes = {}, []

    def progress(iteration, elbo, change):
        passes.append(iteration)

    def stage(name, done, total):
        told.setdefault(name, []).append((done, total))

    progress.stage = stage
    plain = fitted()
    model = fitted(progress=progress, n_threads=threads)
    np.testing.assert_array_equal(model.loadings_, plain.loadings_)
    assert passes
    assert list(told)[:3] == ["Reading the table", "Coding samples", "Finding scores"]
    assert {"Pass over all samples", "Fitting classifiers", "Encoding samples"} <= set(told)
    for seen in told.values():
        assert seen[-1] == (N, N)
        done = [one for one, _ in seen]
        # Every pass goes up to the last sample.
        assert all(two > one or one == N for one, two in pairwise(done))


def test_ctrl_c_keeps_what_there_is():
    def progress(iteration, elbo, change):
        if iteration == 2 and abs(change) < 1:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        model = fitted(progress=progress, training="bayes")
    assert model.convergence_.interrupted
    assert area(model) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("training", ["predictive", "bayes"])
def test_a_fit_that_was_stopped_is_resumed(training, tmp_path):
    passes = []

    def stop(iteration, elbo, change):
        passes.append(iteration)
        if len(passes) == stop.after:
            raise KeyboardInterrupt

    arguments = {"training": training, "checkpoint": str(tmp_path), "tol": 1e-6}
    stop.after = -1
    whole = fitted(training=training, tol=1e-6, progress=stop)
    stop.after, n_whole = len(passes) - 1, len(passes)
    passes.clear()
    with pytest.warns(UserWarning, match="interrupted"):
        fitted(progress=stop, **arguments)
    passes.clear()
    stop.after = -1
    resumed = fitted(progress=stop, **arguments)
    assert 0 < len(passes) < n_whole / 2
    assert resumed.elbo_ == pytest.approx(whole.elbo_, rel=5e-3)
    for one, two in zip(whole.decision_function(NEW), resumed.decision_function(NEW), strict=True):
        assert np.corrcoef(one.ravel(), two.ravel())[0, 1] > 0.999
    passes.clear()
    again = fitted(progress=stop, **arguments)
    assert not passes
    assert again.elbo_ == resumed.elbo_


def test_ctrl_c_after_resuming_keeps_the_best_step(tmp_path):
    steps = []

    def train(iteration, elbo, change):
        if train.began:
            steps.append(iteration)
        if len(steps) == 4:
            raise KeyboardInterrupt

    def note(name, done, total):
        train.began |= name == "Settling scores"

    train.began, train.stage = False, note
    arguments = {"training": "predictive", "checkpoint": str(tmp_path), "n_threads": 1}
    with pytest.warns(UserWarning, match="interrupted"):
        first = fitted(progress=train, **arguments)

    def resume(iteration, elbo, change):
        pass

    def interrupt(name, done, total):
        if name == "Finding scores" and done == N:
            signal.raise_signal(signal.SIGINT)

    resume.stage = interrupt
    with pytest.warns(UserWarning, match="interrupted") as said:
        second = fitted(progress=resume, **arguments)
    assert "samples were used" not in str(said[0].message)
    np.testing.assert_array_equal(second.loadings_, first.loadings_)
    assert second.elbo_ == first.elbo_


def test_calibration_does_not_change_the_factors():
    calibrated, plain = (
        fitted(training="predictive", calibration=how) for how in ("refit", "none")
    )
    np.testing.assert_array_equal(calibrated.loadings_, plain.loadings_)
    assert (plain.posterior_.classifiers.scale == 1.0).all()
    assert (calibrated.posterior_.classifiers.scale != 1.0).any()


def test_a_checkpoint_of_another_table_is_refused(tmp_path):
    fitted(checkpoint=str(tmp_path))
    with pytest.raises(InputError, match="folder"):
        fitted(TABLE.iloc[: N - 50], LABELS.iloc[: N - 50], checkpoint=str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_annotated_data_with_labels_and_covariates_in_obs(sparse):
    anndata = pytest.importorskip("anndata")
    values = TABLE.fillna(0.0)
    obs = LABELS.assign(age=np.arange(N) % 60, grade=LABELS["grade"].astype(int))
    X = csr_array(values.to_numpy()) if sparse else values.to_numpy()
    data = anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=TABLE.columns))
    frame = values.assign(age=obs["age"])
    arguments = {"covariates": ["age"]}
    found = fitted(data, "grade", **arguments)
    assert found.classes_.tolist() == [0, 1, 2]
    wanted = fitted(frame, obs["grade"], **arguments)
    np.testing.assert_allclose(
        found.decision_function(frame.iloc[:50]),
        wanted.decision_function(frame.iloc[:50]),
        atol=1e-6,
    )
