"""A table is described in the same way for every type of input."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array
from tests.plots import models

from rankfactor import plots
from rankfactor.estimators import RankFactorClassifier
from rankfactor.interpret import table_quality

NAN = np.nan


def table():
    """Six samples; each column tests a different case."""
    return pd.DataFrame(
        {
            "plain": [1.0, 2, 3, 4, 5, 6],
            "holes": [1.0, NAN, NAN, 4, NAN, 4],
            "zeros": [0, 0, 0, 0, 2, 1],
            "one": [7.0, 7, NAN, 7, 7, 7],
            "none": [NAN] * 6,
            "words": ["a", "b", None, "a", "a", "b"],
        },
        index=[f"s{i}" for i in range(6)],
    )


def test_columns_and_samples():
    found = table_quality(table())
    rows = found.features.set_index("feature")
    assert rows.index.tolist() == ["plain", "holes", "zeros", "one", "none", "words"]
    assert rows["n_missing"].tolist() == [0, 3, 0, 1, 6, 1]
    assert rows["missing"].tolist() == pytest.approx([0, 0.5, 0, 1 / 6, 1, 1 / 6])
    assert rows["distinct"].tolist() == [6, 2, 3, 1, 0, 2]
    expected = [1 / 6, 2 / 3, 4 / 6, 1, NAN, 3 / 5]
    np.testing.assert_allclose(rows["commonest_share"], expected)
    assert rows.index[rows["constant"]].tolist() == ["one", "none"]
    assert found.samples["sample"].tolist() == [f"s{i}" for i in range(6)]
    assert found.samples["n_missing"].tolist() == [1, 2, 4, 1, 2, 1]
    assert found.samples["missing"].iloc[2] == pytest.approx(4 / 6)
    assert found.missing == pytest.approx(11 / 36)
    assert (found.empty, found.constant) == (["none"], ["one"])
    assert found.tied == ["holes", "zeros", "words"]
    assert found.most_missing["feature"].tolist() == ["none", "holes", "one", "words"]
    assert found.leaks == ()


def test_sentences_name_what_was_found():
    said = table_quality(table()).sentences()
    assert said == [
        "31 % of the values are missing, in 4 of 6 features and 6 of 6 samples; most in none "
        "(100 %).",
        "1 feature has no value; the model leaves out none.",
        "1 feature has a single value; the model leaves out one.",
        "3 features have the same value in at least half of the samples: holes, zeros and words.",
    ]
    whole = table_quality(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    assert whole.sentences()[0] == "No value is missing (2 samples, 2 features)."
    many = table_quality(pd.DataFrame(np.ones((2, 7)), columns=list("abcdefg")))
    assert many.sentences()[1].endswith("leaves out a, b, c, d, e and 2 more.")


def random_table(seed=0):
    """Numbers with many zeros, some ties and some missing values."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (40, 30)) * (rng.random((40, 30)) < 0.4).astype(float)
    values[rng.random((40, 30)) < 0.1] = NAN
    values[:, 3], values[:, 4], values[:, 5] = 0.0, NAN, 2.0
    return values


def test_sparse_and_dense_tables_agree():
    values = random_table()
    dense = table_quality(values)
    stored = csc_array(np.where(values == 0, 1e300, values))
    stored.data[stored.data == 1e300] = 0.0  # zeros that are stored count as zeros, too
    for sparse in (csc_array(values), csr_array(values), stored):
        found = table_quality(sparse)
        pd.testing.assert_frame_equal(found.features, dense.features)
        pd.testing.assert_frame_equal(found.samples, dense.samples)
    nothing = table_quality(csc_array((3, 2)))
    assert nothing.features["distinct"].tolist() == [1, 1]


def test_every_column_against_pandas():
    frame = pd.DataFrame(random_table(1)).add_prefix("f")
    rows = table_quality(frame).features.set_index("feature")
    for name, column in frame.items():
        counts = column.value_counts()
        assert rows.loc[name, "distinct"] == len(counts)
        if len(counts):
            assert rows.loc[name, "commonest_share"] == pytest.approx(
                counts.iloc[0] / column.count()
            )
    # Nothing depends on how wide a block of columns is.
    wide = pd.concat([frame] * 70, axis=1).set_axis(range(2100), axis=1)
    found = table_quality(wide).features
    np.testing.assert_array_equal(found["distinct"], np.tile(rows["distinct"], 70))


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_annotated_tables(make):
    values = random_table()
    names = [f"g{i}" for i in range(30)]
    data = SimpleNamespace(
        X=make(values), obs=pd.DataFrame(index=[f"c{i}" for i in range(40)]), var_names=names
    )
    data.obs_names = data.obs.index
    found = table_quality(data)
    assert found.features["feature"].tolist() == names
    assert found.samples["sample"].tolist() == data.obs.index.tolist()
    expected = table_quality(values).features.drop(columns="feature")
    pd.testing.assert_frame_equal(found.features.drop(columns="feature"), expected)


def test_other_kinds_of_columns():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None, 2], "Int64"),
            "truth": [True, False, True],
            "kind": pd.Categorical(["x", None, "x"], ["x", "y"]),
        }
    )
    rows = table_quality(frame).features
    assert rows["n_missing"].tolist() == [1, 0, 1]
    assert rows["distinct"].tolist() == [2, 2, 1]
    assert rows["commonest_share"].tolist() == pytest.approx([0.5, 2 / 3, 1])


def test_with_a_model_its_columns_and_its_labels():
    X, labels = models.table()
    X = X.drop(columns="constant")
    leak = X.assign(leak=(labels["group"] == "case <b>") + 0.0, label=labels["group"])
    model = RankFactorClassifier(n_factors=2, max_iter=5, random_state=0, training="bayes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = model.fit(leak.drop(columns="label"), labels["group"]).posterior_
    # In another order and with a sample that the model has not seen.
    shuffled = leak.sample(frac=1, random_state=0)
    shuffled = pd.concat([shuffled, leak.iloc[:1].set_axis(["new"])])
    shuffled.loc["new", "leak"] = 0.5
    found = table_quality(shuffled, posterior)
    assert found.features["feature"].tolist() == [*X.columns, "leak"]
    (suspect,) = found.leaks
    assert suspect.columns == ["leak"]
    assert found.sentences()[-1].startswith("The column 'leak' separates 'control & co' from")
    assert table_quality(shuffled).leaks == ()
    assert table_quality(shuffled, posterior.without_training_samples()).leaks == ()


def test_the_figure_counts_features_and_samples():
    found = table_quality(random_table())
    upper, lower = plots.missing_figure(found).axes
    for axes, frame in ((upper, found.features), (lower, found.samples)):
        heights = [bar.get_height() for bar in axes.patches]
        none = (frame["missing"] == 0).sum()
        assert heights[-1] == none
        assert sum(heights) == len(frame)
        assert [text.get_text() for text in axes.texts] == [str(none)]
    whole = plots.missing_figure(table_quality(np.arange(6.0).reshape(3, 2)))
    assert [bar.get_height() for bar in whole.axes[0].patches][-1] == 2
