"""Contestants side by side: a process each, asked in turn, so that noise meets all alike."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.bench import peers
from benchmarks.bench.contestants import CONTESTANTS
from benchmarks.bench.tables import write_table

HERE = Path(__file__).parent
LONGEST = 200  # iterations of a stretch, at most


class ChildError(RuntimeError):
    """A contestant ended before it answered."""


class Child:
    """One contestant in a process of its own."""

    def __init__(self, name, folder, threads, arguments=None):
        peer = CONTESTANTS[name][2]
        self.name = name
        count = str(threads)
        # Limits come from the environment, before any library is loaded; ours sets its own inside.
        limits = ("OMP", "OPENBLAS", "MKL", "NUMBA")
        environment = {**os.environ, **{f"{limit}_NUM_THREADS": count for limit in limits}}
        python = sys.executable if peer is None else str(peers.python())
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            [python, str(HERE / "child.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=environment,
        )
        self._send(
            contestant=name,
            X=str(folder / "X.npy"),
            y=str(folder / "y.npy"),
            threads=threads,
            arguments=arguments or {},
        )

    def _send(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def ask(self, **order):
        try:
            self._send(**order)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.log.seek(0)
            last = (self.log.read().strip().splitlines() or ["no message"])[-1]
            raise ChildError(f"{self.name}: {last}")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.log.close()


def race(names, folder, threads, *, repeats, budget, limit, tell):
    """All measurements of the named contestants on one table: ``{name: {...}}``.

    Seconds an iteration are the least of the repeats, which go round the contestants; a repeat
    takes as many iterations as fit into ``budget`` seconds. A whole fit is given up after
    ``limit`` seconds. A contestant that fails is reported with its message, and left out.
    """
    results = {name: {} for name in names}
    children = {name: Child(name, folder, threads) for name in names}

    def ask(name, key, **order):
        if "failed" in results[name]:
            return
        try:
            reply = children[name].ask(**order)
        except ChildError as error:
            results[name]["failed"] = str(error)
            return
        if key == "stretch":
            results[name].setdefault(key, []).append(reply["seconds"])
        else:
            results[name][key] = reply

    def measuring(what):
        return [name for name in names if what in CONTESTANTS[name][3]]

    try:
        for name in measuring("stretch"):  # compiles, and finds the length of a stretch
            ask(name, "stretch", do="stretch", n=1)
        length = {
            name: int(np.clip(budget / results[name]["stretch"][0], 1, LONGEST))
            for name in measuring("stretch")
            if "stretch" in results[name]
        }
        for _ in range(repeats):
            for name in length:
                ask(name, "stretch", do="stretch", n=length[name])
        tell("stretches")
        for name in measuring("fit"):
            for _ in range(repeats):
                before = results[name].get("fit")
                ask(name, "fit", do="fit", limit=limit)
                after = results[name].get("fit")
                if before and after and before["seconds"] < after["seconds"]:
                    results[name]["fit"] = before
                if not after or after["seconds"] > limit / 5:
                    break  # long enough to be steady
        tell("whole fits")
        if "rankfactor VB" in names and threads == 1:
            ask("rankfactor VB", "elbo", do="elbo", n=length.get("rankfactor VB", 3))
    finally:
        for child in children.values():
            child.__exit__()
    for name in measuring("memory"):  # in a fresh process, with all compiled code on disk by now
        if "failed" in results[name]:
            continue
        with Child(name, folder, threads) as child:
            children[name] = child
            ask(name, "memory", do="memory")
    tell("memory")
    return {name: _summary(result) for name, result in results.items()}


def _summary(result):
    """Least of the stretches; the rest as it is."""
    if "failed" in result:
        return {"failed": result["failed"]}
    summary = dict(result.get("fit", {}))
    if "seconds" in summary:
        summary["fit_seconds"] = summary.pop("seconds")
    if "stretch" in result:
        summary["iteration_seconds"] = min(result["stretch"])
        summary["stretches"] = result["stretch"]
    if "memory" in result:
        summary["peak_bytes"] = result["memory"]["bytes"]
    if "elbo" in result:
        summary["elbo_share"] = result["elbo"]["share"]
    return summary


def measure_shape(shape, names, threads, tell, **settings):
    """One shape at every number of threads: where the table is from, and the results."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        origin = write_table(shape, folder)
        runs = {}
        for count in threads:
            runs[str(count)] = race(
                names,
                folder,
                count,
                tell=lambda what, count=count: tell(f"{shape.name}, {count} thread(s): {what}"),
                **settings,
            )
    return {
        "n": shape.n,
        "d": shape.d,
        "table": origin,
        "repeats": settings["repeats"],
        "load": os.getloadavg()[0],
        "threads": runs,
    }
