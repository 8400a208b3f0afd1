"""Put what `rankfactor reproduce` wrote into docs/results.md.

``python docs/build_results.py FOLDER`` takes FOLDER/NAME/*.md, as written by ``rankfactor reproduce
... --out FOLDER/NAME``, for every mark ``<!-- NAME: begin -->`` of the page. A part whose folder is
not there stays as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "results.md"
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


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("give the folder that holds the folders of `rankfactor reproduce --out`.")
    PAGE.write_text(paste(PAGE.read_text(), Path(sys.argv[1])))


if __name__ == "__main__":
    main()
