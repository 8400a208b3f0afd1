"""Inputs for the reports of the tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def predictions():
    """Out-of-fold decisions as `Evaluation` has them: of each class where there are three."""
    rng = np.random.default_rng(1)
    labels, frames = models.table()[1], []
    for task, classes in (("group", ["control & co"]), ("stage", ["I", "II", "III"])):
        known = labels[task].dropna()
        every = sorted(known.unique())
        predicted = known.where(rng.random(len(known)) < 0.8, every[0])
        for positive in classes:
            hit = (predicted == positive).to_numpy()
            frame = pd.DataFrame({"sample": known.index, "label": known.to_numpy()})
            frame = frame.assign(
                task=task,
                model="R-L-BSVM",
                fold=1 + np.arange(len(known)) % 3,
                predicted=predicted.to_numpy(),
                positive=positive,
                decision=np.where(hit, 1.0, -1.0),
                probability=np.where(hit, 0.5, 0.0) + 0.4 * rng.random(len(known)),
            )
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)
