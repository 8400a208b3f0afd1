"""Names of a package that are imported on first use, so that the command line starts quickly."""

from collections.abc import Callable, Mapping
from importlib import import_module


def importer(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package whose public names live in other modules.

    Parameters
    ----------
    package : str
    homes : mapping from str to str
        Module of every name, within the package.
    """

    def find(name: str) -> object:
        """Import a public name from its home on first use."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        return value

    return find
