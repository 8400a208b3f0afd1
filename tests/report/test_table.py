"""The training table of a report: it must be the one that the model was fitted to."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.plots import models
from tests.report.page import read

from rankfactor import RankFactorClassifier
from rankfactor.errors import InputError
from rankfactor.report import write_report
from rankfactor.report.covariates import covariate_colours
from rankfactor.report.training_table import check_training_table


def test_the_training_table_is_known_by_its_values():
    posterior, table = models.two_tasks(), models.table()[0]
    check_training_table(posterior, table)
    check_training_table(posterior, table.rename(index=str.upper))
    with pytest.raises(InputError, match="not those that the model was fitted to"):
        check_training_table(posterior, table.iloc[::-1])
    with pytest.raises(InputError, match="59 samples and the model was fitted to 60"):
        check_training_table(posterior, table.iloc[1:])


def test_without_a_hash_the_names_count():
    posterior, table = replace(models.two_tasks(), codes_sha256=""), models.table()[0]
    check_training_table(posterior, table)
    with pytest.raises(InputError, match="in the same order"):
        check_training_table(posterior, table.rename(index=str.upper))


def test_another_table_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="training table"):
        write_report(
            tmp_path / "r.html", models.two_tasks(), title="t", table=models.table()[0].iloc[:50]
        )
    assert not list(tmp_path.iterdir())


def test_samples_are_coloured_by_covariates(tmp_path):
    table, labels = models.table()
    rng = np.random.default_rng(0)
    age = pd.Series(rng.permutation(60) + 20.0, table.index)
    age.iloc[3] = np.nan
    site = np.where(np.arange(60) % 3 == 0, "north <1>", "south")
    given = table.drop(columns="constant").assign(age=age, site=site)
    model = RankFactorClassifier(
        n_factors=2, max_iter=3, tol=1.0, covariates=["age", "site"], random_state=0
    )
    with pytest.warns(UserWarning, match="no value of the covariate 'age'"):
        posterior = model.fit(given, labels["group"]).posterior_
    ages, sites = covariate_colours(posterior, given, np.arange(60))
    assert ages["ordered"]
    assert len(ages["classes"]) == 5
    assert ages["codes"][3] == -1
    for code, values in age.groupby(np.array(ages["codes"])):
        if code >= 0:
            low, high = (float(end) for end in ages["classes"][code].split(" to "))
            assert low <= values.min()
            assert values.max() <= high
    assert sites["classes"] == ["north <1>", "south"]
    path = write_report(tmp_path / "r.html", posterior, title="t", table=given)
    data = json.loads(read(path).one("script", id="scores-data").text)
    assert [one["name"] for one in data["covariates"]] == ["age", "site"]
