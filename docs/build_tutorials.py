"""Run tutorials as they stand and keep their pictures.

``make tutorials`` runs every page of docs/tutorials, each in an empty folder, and copies the
pictures that it shows to docs/images; ``python docs/build_tutorials.py PAGE ...`` runs some. A page
saves a picture under the name that it shows it by, but for ``stress.png``, which the command names.
"""

import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from rankfactor.cli import app

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAVED_AS = {"stress_alzheimer.png": "stress.png"}


def build(page):
    text = page.read_text("utf-8")
    names = {}
    for language, code in BLOCK.findall(text):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        for line in code.replace("\\\n", "").splitlines():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            if result.exit_code:
                sys.exit(f"{page.name}: {line}\n{result.output}")
    for name in re.findall(r"\]\(\.\./images/([\w-]+\.png)\)", text):
        shutil.copy(SAVED_AS.get(name, name), DOCS / "images" / name)


if __name__ == "__main__":
    pages = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.stem != "index")
    for page in pages:
        if not sys.argv[1:] or page.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                build(page)
                os.chdir(DOCS)
