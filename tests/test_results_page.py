"""docs/results/results.md is filled from the files of `rankfactor reproduce --out`."""

import importlib.util
import json
import re
from pathlib import Path

from benchmarks.simulation_calibration import LEVEL, MODELS, uniformity

DOCS = Path(__file__).parents[1] / "docs"


def builder():
    spec = importlib.util.spec_from_file_location("build_results", DOCS / "build_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_parts_are_pasted_and_others_stay(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "table.md").write_text("## A title\n\n| a |\n| --- |\n| 1 |\n")
    page = (
        "text\n<!-- one: begin -->\nold\n<!-- one: end -->\n"
        "<!-- two: begin -->\nkept\n<!-- two: end -->\n"
    )
    found = builder().paste(page, tmp_path)
    assert found == page.replace("old", "| a |\n| --- |\n| 1 |")


def test_figures_that_the_page_shows_are_copied(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "images").mkdir()
    for name in ("shown", "other"):
        (tmp_path / "one" / f"{name}.png").write_bytes(name.encode())
    page = "![A figure](../images/shown.png)\n<!-- one: begin -->\nold\n<!-- one: end -->\n"
    copied = builder().copy_figures(page, tmp_path, tmp_path / "images")
    assert copied == [tmp_path / "images" / "shown.png"]
    assert copied[0].read_bytes() == b"shown"
    assert len(list((tmp_path / "images").iterdir())) == 1


def test_pictures_of_the_page_exist():
    page = (DOCS / "results" / "results.md").read_text()
    shown = re.findall(r"\]\(\.\./(images/[^)]+)\)", page)
    assert shown
    assert [name for name in shown if not (DOCS / name).exists()] == []


def test_the_page_has_no_empty_part():
    page = (DOCS / "results" / "results.md").read_text()
    parts = builder().PART.findall(page)
    assert len(parts) >= 4
    for begin, name, _ in parts:
        body = page.split(begin)[1].split(f"<!-- {name}: end -->")[0]
        assert "| --- |" in body, f"{name} has no table"


def test_the_page_of_calibration_shows_the_stored_ranks():
    page = (DOCS / "results" / "calibration.md").read_text()
    stored = json.loads((DOCS / "results" / "calibration.json").read_text())
    assert set(stored) <= set(MODELS)
    for name, found in stored.items():
        lowest = min(map(uniformity, found["rank_counts"].values()))
        assert lowest > LEVEL, name
        assert all(sum(counts) == found["replications"] for counts in found["rank_counts"].values())
        row = next(line for line in page.splitlines() if line.startswith(f"| [{name}]"))
        assert f"| {found['replications']} | {len(found['rank_counts'])} | {lowest:.2g} |" in row
        shown = re.search(rf"Histograms of ranks, {name}\.\]\(\.\./(images/[^)]+)\)", page)
        assert (DOCS / shown[1]).exists()
