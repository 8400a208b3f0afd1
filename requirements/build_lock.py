"""Write ci.lock: every package of the development environment with its version and licence.

    python requirements/build_lock.py

lists what `rankfactor[dev,docs]` needs, directly or not, as it is installed beside this Python.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).with_name("ci.lock")
HEAD = f"""\
# Versions that continuous integration tests, with their licences: `make venv-locked` installs them.
# Written by requirements/build_lock.py with Python {sys.version_info[0]}.{sys.version_info[1]}; other Pythons may need other versions.
"""


def closure(name: str, extras: frozenset[str]) -> dict[str, Distribution]:
    """All packages that a package needs with some of its extras, itself left out."""
    found: dict[str, Distribution] = {}
    waiting, done = [(name, extras)], set()
    while waiting:
        one = waiting.pop()
        if one in done:
            continue
        done.add(one)
        package = distribution(one[0])
        found[canonicalize_name(one[0])] = package
        for line in package.requires or ():
            need = Requirement(line)
            wanted = [{"extra": extra} for extra in ("", *one[1])]
            if need.marker is None or any(need.marker.evaluate(given) for given in wanted):
                try:
                    distribution(need.name)
                except PackageNotFoundError:
                    continue  # of another system
                waiting.append((need.name, frozenset(need.extras)))
    found.pop(canonicalize_name(name))
    return found


def licence(package: Distribution) -> str:
    """Licence as a package states it, on one line."""
    about = package.metadata
    stated = about.get("License-Expression") or ""
    if not stated:
        kinds = [
            one.split(" :: ")[-1] for one in about.get_all("Classifier") or () if "License" in one
        ]
        stated = " and ".join(one for one in kinds if one != "OSI Approved")
    if not stated:
        stated = (about.get("License") or "not stated").strip().splitlines()[0][:60]
    return re.sub(r"\s+", " ", stated)


def lock() -> str:
    """Text of the lock."""
    packages = closure("rankfactor", frozenset({"dev", "docs"}))
    lines = [f"{name}=={one.version}  # {licence(one)}" for name, one in sorted(packages.items())]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    LOCK.write_text(lock(), "utf-8")
