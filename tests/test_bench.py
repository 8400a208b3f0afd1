"""The benchmark runs from end to end on a tiny table, and its page can be written."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks import scale
from benchmarks.bench import report, roofline, waiting
from benchmarks.bench.contestants import Clock, Enough

from rankfactor.data.streams import open_stream

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_quick_run_measures_what_the_tables_show(tmp_path):
    command = [sys.executable, "-m", "benchmarks.bench", "--quick", "--no-peers"]
    run = subprocess.run(
        [*command, "--results", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    results = json.loads((tmp_path / "bench.json").read_text("utf-8"))
    measured = results["shapes"]["60 x 40"]["threads"]["1"]
    assert not [name for name, one in measured.items() if "failed" in one]
    variational = measured["rankfactor VB"]
    assert 0 < variational["iteration_seconds"] < variational["fit_seconds"]
    assert variational["converged"]
    # Of an absent figure the table would show a dash: the functions timed for it have moved.
    assert variational["elbo_share"] is not None
    assert variational["peak_bytes"] > 0
    assert measured["rankfactor Gibbs"]["iteration_seconds"] > 0
    assert measured["LinearSVC"]["fit_seconds"] > 0
    assert set(results["skipped"]) == {"mofapy2", "smurff", "sklearn"}
    text = (tmp_path / "bench.md").read_text("utf-8")
    assert "| 60 x 40 | simulated | 1 |" in text
    assert "mofapy2" in text.splitlines()[0]  # skipped by name
    wait = {what: one["wall"] for what, one in results["waiting"].items()}
    assert all(value > 0 for value in wait.values())
    assert all(f"| {what} |" in text for what in wait)
    assert {*waiting.FIT, "scikit-learn, LinearSVC"} <= set(wait)


def test_clock_leaves_out_what_comes_before_the_first_tick():
    clock = Clock(first=2, last=4)
    for pause in (0.2, 0.2, 0.0):
        time.sleep(pause)
        clock.tick()
    with pytest.raises(Enough):
        clock.tick()
    assert clock.count == 4
    assert clock.seconds < 0.1


def test_clock_gives_up_at_its_limit():
    clock = Clock(first=1, last=10, limit=-1.0)
    with pytest.raises(Enough):
        clock.tick()


def test_text_goes_between_the_marks_of_the_page():
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    once = report.include(page, "new\n")
    assert once == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"
    assert report.include(once, "new\n") == once


def test_the_page_has_the_marks():
    page = (ROOT / "docs" / "results" / "performance.md").read_text("utf-8")
    assert page.count(report.BEGIN) == page.count(report.END) == 1


@pytest.mark.parametrize(
    ("value", "text"), [(0.02468, "0.0247"), (12.34, "12.3"), (1234.5, "1234"), (None, "-")]
)
def test_numbers_have_three_digits(value, text):
    assert report.number(value) == text


def test_ratio_takes_a_peer_at_its_best_number_of_threads():
    runs = {
        "1": {"rankfactor VB": {"iteration_seconds": 1.0}, "peer": {"iteration_seconds": 4.0}},
        "2": {"rankfactor VB": {"iteration_seconds": 1.0}, "peer": {"iteration_seconds": 9.0}},
    }
    assert report._best({"threads": runs}, "peer", "2") == 4.0
    runs["2"]["peer"]["iteration_seconds"] = 3.0
    assert report._best({"threads": runs}, "peer", "1") == 4.0
    assert report._best({"threads": runs}, "peer", "2") == 3.0
    assert report._best({"threads": runs}, "absent", "2") is None


def test_work_of_an_iteration_by_hand():
    # K = 2, so P = 3. w 4, its variance 12, sums for the rows 6 + 4, sums for the scores 6 + 4.
    assert roofline.work(1, 1, n_factors=2, cuts=1)["gemm_flops"] == 36
    assert roofline.work(1, 1, n_factors=2, cuts=1, gibbs=True)["gemm_flops"] == 24
    assert roofline.work(3, 5)["bytes"] == 15


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("kind", ["npy", "memory"])
def test_scale_measures_and_leaves_nothing(kind, tmp_path, monkeypatch):
    monkeypatch.setitem(scale.ROWS, "tiny", (2500, 30, kind))
    found = scale.measured("tiny", "2GB", str(tmp_path))
    assert found["auc"] > 0.6
    assert found["peak"] > 0
    assert sum(found["stages"].values()) == pytest.approx(found["seconds"], rel=0.2)
    assert not list(tmp_path.iterdir())


def test_scale_writes_the_sparse_counts(tmp_path):
    pytest.importorskip("anndata")
    n, n_features = scale.CHUNK + 300, 40
    path, labels = scale.written(tmp_path, n, n_features, "h5ad")
    simulated = scale.Simulated(n_features, True)
    counts, answers = zip(simulated.chunk(0, scale.CHUNK), simulated.chunk(1, 300), strict=True)
    found = [chunk.table.matrix.toarray() for chunk in open_stream(path).chunks(700)]
    np.testing.assert_array_equal(np.vstack(found), np.vstack(counts))
    np.testing.assert_array_equal(labels, np.concatenate(answers))
    assert 0.03 < (np.vstack(counts) > 0).mean() < 0.08
