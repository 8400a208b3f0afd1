"""Versions of rankfactor, Python and the packages that results depend on."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from rankfactor.__about__ import __version__

REQUIRED = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pandas",
    "joblib",
    "threadpoolctl",
    "typer",
    "rich",
    "jinja2",
    "matplotlib",
    "networkx",
)
OPTIONAL = (
    "anndata",
    "mudata",
    "arviz-base",
    "arviz-stats",
    "dask",
    "distributed",
    "pooch",
    "gseapy",
    "openpyxl",
    "pyarrow",
    "zarr",
    "xarray",
    "zstandard",
)


def versions() -> dict[str, str]:
    """Versions of rankfactor, Python, the system and the packages, by name."""
    found = {
        "rankfactor": __version__,
        "python": platform.python_version(),
        "system": f"{platform.platform()}, {os.cpu_count()} cores",
    }
    for name in REQUIRED + OPTIONAL:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Print the versions of rankfactor, Python, the system and the packages, one per line."""
    found = versions()
    width = max(map(len, found))
    for name, value in found.items():
        sys.stdout.write(f"{name:{width}}  {value}\n")
