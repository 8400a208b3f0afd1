"""Mutated files of every format: a right answer or one sentence.

`make test-fuzz` runs 10,000 cases of a new seed; the slow tier some hundred of a fixed one.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz import run
from tests.fuzz.mutate import mutate

from rankfactor import InputError
from rankfactor.data import read_annotations, read_table
from rankfactor.interpret.genesets import read_gmt

CASES = int(os.environ.get("RANKFACTOR_CASES", "600"))

PACKAGES = ("anndata", "mudata", "openpyxl", "pyarrow", "xarray", "zarr", "zstandard")
MISSING = [package for package in PACKAGES if find_spec(package) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")


@pytest.mark.slow
def test_mutated_files_get_an_answer_or_one_sentence(tmp_path: Path) -> None:
    result = run.run(list(range(CASES)), 1, n_workers=2, kept=tmp_path / "failures")
    shown = "\n".join(f"case {number}: {found}" for number, found in result.failures[:3])
    assert not result.failures, f"seed 1; files are kept in {result.kept}\n{shown}"
    # Mutations must neither be harmless throughout nor end at the container.
    assert min(result.counts["value"], result.counts["sentence"]) > CASES / 5


CELL = st.one_of(
    st.text(max_size=8), st.sampled_from(["1", "2.5", "NA", "nan", "1e999", "<3", '"', "\r", "=1"])
)
TEXT = st.builds(
    lambda rows, separator, end: end.join(separator.join(row) for row in rows),
    st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=6),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@pytest.mark.slow
@settings(max_examples=max(100, CASES // 4))
@given(content=st.one_of(TEXT.map(lambda text: text.encode("utf-8", "ignore")), st.binary()))
def test_any_text_is_a_table_or_one_sentence(tmp_path_factory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("text", numbered=True)
    for name, read in (("t.csv", read_table), ("t.tsv", read_annotations), ("t.gmt", read_gmt)):
        path = folder / name
        path.write_bytes(content)
        sentence = ""
        try:
            read(path)
        except InputError as error:
            sentence = str(error)
        assert "\n" not in sentence


def test_a_case_is_its_seed_and_number(tmp_path: Path) -> None:
    """The same seed and number give the same bytes, other numbers others."""
    seeds = [(tmp_path / f"{n}.csv", "table") for n in range(3)]
    for path, _ in seeds:
        path.write_bytes(b"a,b\n1,2\n3,4\n" * 5)

    def content(number: int) -> bytes:
        rng, path, _ = run.draw(7, number, seeds)
        return mutate(path.read_bytes(), seeds[0][0].read_bytes(), rng)

    assert [content(n) for n in range(20)] == [content(n) for n in range(20)]
    assert len({content(n) for n in range(20)}) > 15


@pytest.mark.slow
def test_a_worker_that_dies_or_hangs_is_a_failure(tmp_path: Path, monkeypatch) -> None:
    """The runner itself: it tells an answer, a crash and a hang apart."""
    code = "import os, sys, time\nfor line in sys.stdin:\n    number = eval(line)[1]\n"
    code += "    if number == 1: os.abort()\n    if number == 2: time.sleep(60)\n"
    code += '    print(\'{"found": "value"}\', flush=True)'
    real = run.subprocess.Popen

    def start(arguments, **options):
        return real([arguments[0], "-c", code], **options)

    monkeypatch.setattr(run.subprocess, "Popen", start)
    monkeypatch.setattr(run, "SECONDS", 5.0)
    for number, expected in ((0, "value"), (1, "died (exit code -6"), (2, "no answer within 5 s")):
        worker = run.Worker(tmp_path, tmp_path)
        try:
            assert expected in worker.ask(1, number)["found"]
        finally:
            worker.close()
