"""Give mutated files to rankfactor, in processes that may crash, hang or run out of memory.

    python -m tests.fuzz.run --cases 10000 --seed 1

A case is the seed and its number: ``--seed 1 --only 4711`` repeats one. Workers are processes with
an address space of `ADDRESS_SPACE`, reused from case to case; one that does not answer within
`SECONDS` is killed, and that is a failure, and so is one that dies. The files of a case that fails
are kept in a folder whose name is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

ADDRESS_SPACE = 6 * 10**9
PEAK = 2 * 10**9  # resident memory of a worker, in bytes
SECONDS = 60.0  # for a case; machines are shared
HELPERS = ("both.csv", "model.rankfactor")
# How often a kind of file is taken, out of all cases.
WEIGHTS = {"table": 70, "model": 12, "cv": 4, "stability": 3, "draws": 3, "gmt": 3}
OTHERS = 2  # those that take a fit each
COMMAND_EVERY = 8  # cases in which a command reads the file


def draw(seed: int, number: int, seeds: list[tuple[Path, str]]) -> tuple[Random, Path, str]:
    """The chance of a case, the file that it changes and what reads that."""
    rng = Random(f"{seed}-{number}")
    kinds = sorted({target for _, target in seeds})
    kind = rng.choices(kinds, [WEIGHTS.get(one, OTHERS) for one in kinds])[0]
    path = rng.choice([path for path, target in seeds if target == kind])
    return rng, path, kind


def write_case(rng: Random, path: Path, seeds: list[tuple[Path, str]], folder: Path) -> Path:
    """Write the mutated copy of a file or folder into an empty folder."""
    from tests.fuzz.mutate import mutate

    target = folder / path.name
    other = rng.choice([one for one, _ in seeds if one.is_file()]).read_bytes()
    if path.is_file():
        target.write_bytes(mutate(path.read_bytes(), other, rng))
        if rng.random() < 0.03:  # a file under the name of another kind
            suffix = rng.choice([".csv", ".npz", ".npy", ".xlsx", ".parquet", ".h5ad", ".h5mu"])
            target = target.rename(target.with_name("named" + suffix))
        return target
    shutil.copytree(path, target)
    files = sorted(one for one in target.rglob("*") if one.is_file())
    chosen = rng.choice(files)
    if rng.random() < 0.1:
        chosen.unlink()
    else:
        chosen.write_bytes(mutate(chosen.read_bytes(), other, rng))
    return target


def work(corpus: Path, folder: Path, address_space: int) -> None:
    """Answer the cases on stdin, ``[seed, number]`` a line, on stdout."""
    import resource

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write there
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from tests.fuzz.targets import COMMANDS, READERS, outcome

    import rankfactor.cli.program  # noqa: F401

    seeds = listed(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    for name in HELPERS:
        shutil.copy(corpus / name, folder / name)
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    for line in sys.stdin:
        seed, number = json.loads(line)
        case = folder / "case"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir()
        rng, path, kind = draw(seed, number, seeds)
        begun = time.monotonic()
        mutated = write_case(rng, path, seeds, case)
        command = kind in COMMANDS and rng.randrange(COMMAND_EVERY) == 0
        found = outcome((COMMANDS if command else READERS)[kind], mutated, rng)
        answer = {
            "found": found,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "seconds": time.monotonic() - begun,
            "name": path.name,
        }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def listed(corpus: Path) -> list[tuple[Path, str]]:
    """Files of a corpus and what reads them."""
    return [(Path(path), target) for path, target in json.loads((corpus / "seeds").read_text())]


def make_corpus(corpus: Path) -> None:
    """Write the corpus and its list, in a process of its own."""
    code = (
        "import json, sys; from pathlib import Path; from tests.fuzz.corpus import build\n"
        "folder = Path(sys.argv[1]); seeds = build(folder)\n"
        "text = json.dumps([(str(one.path), one.target) for one in seeds])\n"
        "(folder / 'seeds').write_text(text)"
    )
    subprocess.run([sys.executable, "-c", code, str(corpus)], check=True, env=environment())


def environment() -> dict[str, str]:
    root = Path(__file__).parents[2]
    paths = [str(root / "src"), str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return {**os.environ, **single, "PYTHONPATH": os.pathsep.join(paths)}


class Worker:
    """A process that works through cases."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        self.folder = folder
        code = "from tests.fuzz.run import work; from pathlib import Path; import sys\n"
        code += "work(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))"
        arguments = [str(corpus), str(folder), str(ADDRESS_SPACE)]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        self._done: list[int] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, seed: int, number: int) -> dict[str, Any]:
        """The answer to a case; "found" says what is wrong if there is none."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"[{seed}, {number}]\n")
            self._process.stdin.flush()
        try:
            line = self._answers.get(timeout=SECONDS)
        except queue.Empty:
            return {"found": f"no answer within {SECONDS:.0f} s"}
        if line:
            self._done.append(number)
            return dict(json.loads(line))
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read()[-2000:]
        # Memory that one case has damaged may show in the next ones only.
        before = f"the cases before it were {self._done[-5:]}"
        return {"found": f"the process died (exit code {code}; {before}): {said}"}

    def close(self) -> None:
        """End the process, and those that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._errors.close()


@dataclass
class Outcome:
    """What became of the cases."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    peak: int = 0
    longest: tuple[float, int] = (0.0, -1)
    kept: Path | None = None


def run(cases: list[int], seed: int, *, n_workers: int, kept: Path, tell: Any = None) -> Outcome:
    """Work through cases; the files of those that fail are kept in a folder."""
    result = Outcome(kept=kept)
    lock = threading.Lock()
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in cases:
        waiting.put(number)

    def loop(folder: Path, corpus: Path) -> None:
        worker = Worker(corpus, folder)
        try:
            while True:
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    return
                answer = worker.ask(seed, number)
                found, peak = str(answer["found"]), int(answer.get("peak", 0))
                if found in ("value", "sentence") and peak > PEAK:
                    found = f"{peak / 1e9:.1f} GB of memory"
                with lock:
                    result.peak = max(result.peak, peak)
                    result.longest = max(result.longest, (answer.get("seconds", 0.0), number))
                    if found in ("value", "sentence"):
                        result.counts[found] += 1
                    else:
                        result.counts["failure"] += 1
                        result.failures.append((number, found))
                        shutil.copytree(folder / "case", kept / f"{seed}-{number}")
                        (kept / f"{seed}-{number}" / "what.txt").write_text(found)
                    if tell is not None:
                        tell(result, number, found)
                if "peak" not in answer or peak > PEAK:
                    worker.close()
                    worker = Worker(corpus, folder)
        finally:
            worker.close()

    with tempfile.TemporaryDirectory(prefix="rankfactor-fuzz-") as temporary:
        place = Path(temporary)
        make_corpus(place / "corpus")
        kept.mkdir(parents=True, exist_ok=True)
        threads = [
            threading.Thread(target=loop, args=(place / f"w{n}", place / "corpus"))
            for n in range(n_workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return result


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="by default a new one, printed")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of cases to repeat")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, default=None, help="folder for cases that fail")
    given = parser.parse_args()
    seed = int.from_bytes(os.urandom(3)) if given.seed is None else given.seed
    kept = given.kept or Path(tempfile.mkdtemp(prefix="rankfactor-fuzz-failures-"))
    print(f"seed {seed}; files of cases that fail are kept in {kept}", flush=True)

    def tell(result: Outcome, number: int, found: str) -> None:
        done = sum(result.counts.values())
        if found not in ("value", "sentence"):
            print(f"case {number} failed: {found.strip().splitlines()[-1][:300]}", flush=True)
        if done % 500 == 0:
            print(f"{done} cases: {dict(result.counts)}", flush=True)

    cases = list(range(given.cases)) if given.only is None else given.only
    begun = time.monotonic()
    result = run(cases, seed, n_workers=given.workers, kept=kept, tell=tell)
    print(
        f"{len(cases)} cases in {time.monotonic() - begun:.0f} s: {dict(result.counts)}; most "
        f"memory {result.peak / 1e6:.0f} MB; longest case {result.longest[0]:.1f} s "
        f"(number {result.longest[1]})"
    )
    sys.exit(bool(result.failures))


if __name__ == "__main__":
    main()
