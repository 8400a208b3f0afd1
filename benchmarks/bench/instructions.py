"""Instructions of one small fit under callgrind: a number that a busy machine leaves alone.

    make bench-instructions

Valgrind knows no AVX-512, so compiled code is for a plain processor (NUMBA_CPU_NAME=generic) and
kept in a cache of its own; the linear algebra library chooses by what valgrind says it has. The
count is therefore that of other instructions than a real fit's, to be compared with itself only.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ITERATIONS = 10
RESULT = Path(__file__).parents[1] / "results" / "instructions.txt"
SCRIPT = Path(__file__).parent / "small_fit.py"


def count():
    """Instructions of the second of two equal fits, or None where there is no valgrind."""
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(Path(folder) / "numba"),
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        command = [sys.executable, str(SCRIPT), str(ITERATIONS)]
        subprocess.run(command, env=environment, check=True)  # compiles, at full speed
        out = Path(folder) / "callgrind.out"
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
        run = subprocess.run(
            [*tool, f"--callgrind-out-file={out}", *command, "control"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    found = re.search(r"Collected : (\d+)", run.stderr)
    if found is None:
        raise RuntimeError(f"callgrind gave no count: {run.stderr[-500:]}")
    return int(found.group(1))


def main():
    instructions = count()
    if instructions is None:
        print("skipped: valgrind (with callgrind_control) is not installed.")
        return
    before = int(RESULT.read_text("utf-8")) if RESULT.exists() else None
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(f"{instructions}\n", "utf-8")
    print(f"{instructions} instructions.")
    if before is not None:
        print(f"{100 * (instructions / before - 1):+.2f} % since the last count.")


if __name__ == "__main__":
    main()
