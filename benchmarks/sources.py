"""Where the scripts beside this one find their data sets."""

import sys
from pathlib import Path

from rankfactor.data import data_directory


def data_folder(content: str = "the data sets") -> Path:
    """The folder of the data sets; without one the script ends."""
    folder = data_directory()
    if folder is None:
        sys.exit(f"set RANKFACTOR_DATA to the folder that holds {content}.")
    return folder
