"""Many fits: one after another in one process, side by side in several, and interrupted ones."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.clusters import two_workers
from tests.faults import soaking
from tests.faults.children import SOURCE
from tests.faults.commands import COMMANDS, prepare
from tests.faults.conftest import MOMENTS
from tests.simulate import simulate

from rankfactor import RankFactorClassifier
from rankfactor.engine import vb

pytestmark = pytest.mark.slow

SIMULATED = simulate(60, 12, k=2)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}
FITS, PREDICTIONS = min(5 * MOMENTS, 500), min(100 * MOMENTS, 10_000)


def fitted(seed: int) -> Any:
    model = RankFactorClassifier(n_factors=2, random_state=seed, n_threads=1)
    return model.fit(SIMULATED.X, SIMULATED.y).predict_proba(SIMULATED.X)


def test_memory_threads_and_files_stay_flat(tmp_path: Path, figures: Counter[str]) -> None:
    run = subprocess.run(
        [sys.executable, soaking.__file__, str(FITS), str(PREDICTIONS)],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    states = json.loads(run.stdout)
    for name, done in states.items():
        # Until then, caches fill and the allocator finds its size.
        begun, ended = done[len(done) // 2], done[-1]
        assert ended["objects"] - begun["objects"] < 0.1, (name, done)
        assert ended["process"] - begun["process"] < 8, (name, done)
        for what in ("threads", "system threads", "files"):
            assert ended[what] == begun[what], (name, done)
        for what in ("process", "objects"):
            figures[f"kB of {what} at half of {name}"] = round(1000 * begun[what])
            figures[f"kB of {what} after {name}"] = round(1000 * ended[what])
    figures["fits"], figures["predictions"] = FITS, PREDICTIONS


def test_eight_processes_at_once_write_one_model(tmp_path: Path) -> None:
    prepare(tmp_path)
    given = [*COMMANDS["fit"].arguments[:-2], "--out"]
    program = [sys.executable, "-m", "rankfactor", *given]
    names = ["shared.rankfactor"] * 4 + [f"own{number}.rankfactor" for number in range(4)]
    runs = [
        subprocess.Popen(
            [*program, name],
            env=ENVIRONMENT,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for run in runs:
        _, said = run.communicate(timeout=600)
        assert run.returncode == 0, said
    found = {hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names}
    assert len(found) == 1
    assert list(tmp_path.glob(".*")) == []


def test_joblib_and_dask_give_the_same() -> None:
    import joblib

    expected = [fitted(seed) for seed in range(3)]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(fitted)(seed) for seed in range(3))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    with two_workers(2, processes=True) as client:
        for one, other in zip(client.gather(client.map(fitted, range(3))), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_threads_of_one_process_fit_side_by_side() -> None:
    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda seed=seed: found.update({seed: fitted(seed)}))
        for seed in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(3):
        np.testing.assert_array_equal(found[seed], fitted(seed))


def check_interrupt_in_an_event_loop() -> None:
    """Interrupt a fit within a coroutine, and fit again in the same loop."""
    record, calls = vb.record, 0

    def interrupted(fit: Any, elbo: float) -> None:
        nonlocal calls
        record(fit, elbo)
        calls += 1
        if calls == 3:
            os.kill(os.getpid(), signal.SIGINT)

    async def cell() -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found = fitted(0)
        return found, [str(one.message) for one in heard]

    vb.record = interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    loop = asyncio.new_event_loop()
    try:
        found, said = loop.run_until_complete(cell())
        assert any(text.startswith("interrupted after ") for text in said)
        assert np.isfinite(found).all()
        whole, said = loop.run_until_complete(cell())  # the next cell is as if nothing had been
        assert not any(text.startswith("interrupted") for text in said)
    finally:
        loop.close()
    np.testing.assert_array_equal(whole, fitted(0))


def test_an_interrupt_in_an_event_loop_keeps_the_fit() -> None:
    """As in the kernel of a notebook, which runs cells in the event loop of its main thread.

    It has a process of its own: the loop of another test may be running here.
    """
    code = f"from {__name__} import check_interrupt_in_an_event_loop as check; check()"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        cwd=SOURCE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


CELL = """
import os, pathlib, warnings
import numpy as np
from rankfactor import RankFactorClassifier
def begun(iteration, elbo, change):
    pathlib.Path("begun").touch()
rng = np.random.default_rng(0)
X = rng.standard_normal((400, 60)); y = X[:, 0] > 0
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    model = RankFactorClassifier(
        n_factors=20, tol=1e-12, max_iter=100000, training="bayes", progress=begun, n_threads=1
    ).fit(X, y)
print(model.convergence_.state, any("interrupted" in str(one.message) for one in heard))
"""


def test_the_kernel_of_a_notebook_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = pytest.importorskip("jupyter_client.manager")
    pytest.importorskip("ipykernel")
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    kernel, client = manager.start_new_kernel(env={**ENVIRONMENT, "PYTHONPATH": path})
    try:
        said: list[str] = []
        client.execute(CELL)
        until = time.monotonic() + 120
        while not Path("begun").exists() and time.monotonic() < until:
            time.sleep(0.05)
        kernel.interrupt_kernel()
        for _ in range(200):
            message = client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream":
                said.append(message["content"]["text"])
            if message["content"].get("execution_state") == "idle":
                break
        assert "interrupted True" in "".join(said)
        answer = client.execute_interactive("model.predict(X[:2])", timeout=60, output_hook=str)
        assert answer["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
