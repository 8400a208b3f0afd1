"""The page stays small however large the table is."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.plots.models import with_stability
from tests.report.page import read

from rankfactor.estimators import RankFactorClassifier
from rankfactor.report import write_report


@pytest.mark.slow
def test_300_samples_of_5000_features_are_below_five_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    n, d, k = 300, 5000, 20
    scores = rng.standard_normal((n, k))
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.2)
    table = pd.DataFrame(
        scores @ loadings.T + rng.standard_normal((n, d)),
        index=[f"patient_{i:04d}_visit_1" for i in range(n)],
        columns=[f"ENSG{i:011d}.{i % 17}_a_gene_of_some_name" for i in range(d)],
    )
    labels = pd.DataFrame(
        {name: np.where(scores[:, i] > 0, "high", "low") for i, name in enumerate("ab")},
        index=table.index,
    ).astype(object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankFactorClassifier("G-L-BSVM", n_factors=k, max_iter=3, random_state=0)
        posterior = model.fit(table, labels).posterior_
    models = ["R-L-BSVM", "G-L-BSVM", "Linear SVM"]
    decisions = pd.DataFrame(
        [
            (sample, task, name, i % 10, label, label, "low", rng.standard_normal(), rng.random())
            for task in "ab"
            for name in models
            for i, (sample, label) in enumerate(labels[task].items())
        ],
        columns=[
            *("sample", "task", "model", "fold", "label", "predicted", "positive"),
            *("decision", "probability"),
        ],
    )
    posterior = with_stability(posterior)
    sets = {f"set {i}": frozenset(table.columns[i : i + 50]) for i in range(0, 4900, 10)}
    path = write_report(
        tmp_path / "r.html",
        posterior,
        title="t",
        decisions=decisions,
        gene_sets=sets,
        table=table,
    )
    page = path.read_text("utf-8")
    assert 'id="fig-calibration-1"' in page
    assert 'id="fig-confusion-1"' in page
    # All features and all samples are there for the tables of the script.
    assert len(json.loads(read(path).one("script", id="effects-data").text)["features"]) == d
    found = json.loads(read(path).one("script", id="contributions-data").text)
    assert len(found["rows"][0]["value"]) == 10 * n
    assert 'id="enrichment"' in page
    assert table.index[-1] in page
    assert 100_000 < path.stat().st_size < 5_000_000
