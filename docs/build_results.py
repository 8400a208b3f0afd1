"""Put what `rankfactor reproduce` wrote into docs/results/results.md.

``python docs/build_results.py FOLDER`` takes FOLDER/NAME/*.md, as written by ``rankfactor reproduce
... --out FOLDER/NAME``, for every mark ``<!-- NAME: begin -->`` of the page. A part whose folder is
not there stays as it is. Figures in FOLDER/NAME that the page shows are copied to docs/images.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "results" / "results.md"
PART = re.compile(r"(<!-- (\S+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)


def paste(page: str, folder: Path) -> str:
    """The page with the parts that are in the folder."""

    def part(found: re.Match[str]) -> str:
        written = sorted((folder / found[2]).glob("*.md"))
        if not written:
            return found[0]
        # The page has headings of its own.
        text = "\n".join(
            line for line in written[0].read_text().splitlines() if not line.startswith("## ")
        )
        return f"{found[1]}{text.strip()}\n{found[3]}"

    return PART.sub(part, page)


def copy_figures(page: str, folder: Path, images: Path) -> list[Path]:
    """Copy the figures of the parts in the folder that the page shows; give their new paths."""
    copied = []
    for found in PART.finditer(page):
        for figure in sorted((folder / found[2]).glob("*.png")):
            if f"](../images/{figure.name})" in page:
                copied.append(Path(shutil.copyfile(figure, images / figure.name)))
    return copied


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("give the folder that holds the folders of `rankfactor reproduce --out`.")
    folder, page = Path(sys.argv[1]), PAGE.read_text()
    PAGE.write_text(paste(page, folder))
    copy_figures(page, folder, PAGE.parents[1] / "images")


if __name__ == "__main__":
    main()
