"""The peers' environment: made once, installed from pinned versions, asked what it holds."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".venv-bench"
PEERS = ("mofapy2", "smurff", "sklearn")


def python():
    """The environment's interpreter."""
    return FOLDER / "bin" / "python"


def requirements():
    lines = (HERE / "requirements.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def install():
    """Make the environment, unless it is as the requirements say.

    All at once so that versions agree; if that fails, one by one, so that a peer that cannot be had
    does not take the others with it.
    """
    stamp, wanted = FOLDER / ".installed", "\n".join(requirements())
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    pip = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", str(HERE / "requirements.txt")]).returncode:
        for line in requirements():
            subprocess.run([*pip, line])
    stamp.write_text(wanted, "utf-8")


def versions():
    """Version of each peer that can be imported; a peer that cannot is not in it."""
    found = {}
    if not python().exists():
        return found
    names = {"sklearn": "scikit-learn"}
    for peer in PEERS:
        code = (
            f"import {peer}; from importlib.metadata import version; "
            f"print('version', version({names.get(peer, peer)!r}))"
        )
        run = subprocess.run([str(python()), "-c", code], capture_output=True, text=True)
        last = run.stdout.split()[-2:]
        if run.returncode == 0 and last and last[0] == "version":
            found[peer] = last[1]
    return found
