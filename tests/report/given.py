"""What the reports of the tests are made from."""

from __future__ import annotations

from tests.plots import models

TITLE = 'Cells <of> "type" & kind'


def arguments():
    return {
        "title": TITLE,
        "description": "<em>described</em>",
        "source": "somewhere & <elsewhere>",
        "comparison": models.comparison(),
        "decisions": models.decisions(),
        "warnings": ["<u>beware</u>"],
        "settings": {"<seed>": "a & b", "random_state": 5, "tol": 1e-4},
    }
