"""Print the lowest version of every requirement in pyproject.toml as a pin, one per line.

Tools of development and documentation are left out: only what a user installs has to be right.
"""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
asked = [*project["dependencies"]]
for name, requirements in extras.items():
    if name not in ("all", "dev", "docs"):
        asked += requirements
for one in asked:
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:,<[\w.]+)?", one)
    if found is None:
        sys.exit(f"pyproject.toml: {one!r} does not name a lowest version.")
    sys.stdout.write(f"{found[1]}=={found[2]}\n")
