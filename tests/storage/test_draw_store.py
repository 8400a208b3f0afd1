"""Draws on disk: all of them, under their names, also after an interrupted run."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.test_checkpoint import Watch
from tests.simulate import simulate

from rankfactor import (
    Gibbs,
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    open_draws,
)
from rankfactor.engine import on_disk
from rankfactor.likelihoods import DATA_LIKELIHOODS
from rankfactor.storage import draw_store

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SIMULATED = simulate(n=40, d=7)
X = pd.DataFrame(SIMULATED.X, columns=[f"gene{i}" for i in range(7)])
X["constant"] = 1.0
Y = pd.DataFrame({"sick": SIMULATED.y})
SHORT = {"n_draws": 11, "burn_in": 4, "n_chains": 2, "n_predict": 3, "align": "permute"}


def fitted(store, *, supervised=True, progress=None, engine=None, **arguments):
    settings = {"n_factors": 3, "max_iter": 3, "random_state": 0, "n_threads": 1} | arguments
    engine = Gibbs(**SHORT | (engine or {}), store=store)
    kind = RankFactorClassifier if supervised else RankFactorAnalysis
    model = kind(engine=engine, progress=progress, **settings)
    with pytest.warns(UserWarning, match="constant"):
        return model.fit(X, Y) if supervised else model.fit(X)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Four draws in a chunk, so that a chain ends within one."""
    monkeypatch.setattr(draw_store, "MOST_DRAWS", 4)


def assert_same_tree(one, other):
    for group in ("posterior", "sample_stats"):
        assert one[group].to_dataset().load().equals(other[group].to_dataset().load())


@pytest.mark.parametrize("likelihood", DATA_LIKELIHOODS)
def test_the_tree_is_that_of_the_draws_in_memory(likelihood, tmp_path):
    path = tmp_path / "draws.zarr"
    model = fitted(path, likelihood=likelihood)
    expected, found = model.posterior_.to_arviz(), open_draws(path)
    assert set(expected["posterior"].data_vars) <= set(found["posterior"].data_vars)
    for group in ("posterior", "sample_stats"):
        for name, values in expected[group].data_vars.items():
            one = found[group][name]
            assert one.dims == values.dims
            assert_allclose(one.values, values.values, rtol=1e-6, err_msg=name)
            for dim in set(values.dims) & {"feature", "factor", "row"}:
                assert_array_equal(one[dim].values, values[dim].values)


@pytest.mark.parametrize("shrinkage", ["tpbn", "normal", "multiplicative_gamma"])
def test_scales_have_the_unit_of_their_factors(shrinkage, tmp_path):
    path = tmp_path / "draws.zarr"
    model = fitted(path, shrinkage=shrinkage, blocks=["a"] * 4 + ["b"] * 4)
    expected, found = model.posterior_.to_arviz()["posterior"], open_draws(path)["posterior"]
    names = [name for name in expected.data_vars if name.startswith(("loading_", "coefficient_"))]
    assert len(names) > 3
    units = open_group(path).attrs["unit"]
    assert max(abs(one - 1) for one in units) > 0.01
    for name in names:
        assert_allclose(found[name].values, expected[name].values, rtol=1e-5, err_msg=name)


def open_group(path):
    import zarr

    return zarr.open_group(path, mode="r+")


def test_units_orders_and_signs_are_undone_as_they_are_read(tmp_path):
    """``finish`` says how the scores of the model follow from those of the chains."""
    path = tmp_path / "d.zarr"
    fitted(path)
    group = open_group(path)
    raw = {name: np.array(group[f"posterior/{name}"]) for name in ("loadings", "loading_xi")}
    order, sign, unit = np.array([1, 2, 0]), np.array([1.0, -1.0, 1.0]), np.array([0.5, 2.0, 4.0])
    store = draw_store.DrawStore(
        path, group.attrs["problem"], 2, SHORT["n_draws"], group.attrs["features"]
    )
    store.finish(np.eye(3)[:, order] * sign / unit)
    found = open_draws(path)["posterior"]
    assert_allclose(found["loadings"], raw["loadings"][..., order] * sign * unit, rtol=1e-6)
    assert_allclose(found["loading_xi"], raw["loading_xi"][..., order] * unit**2, rtol=1e-6)


def test_a_store_of_an_earlier_version_has_no_units(tmp_path):
    path = tmp_path / "d.zarr"
    fitted(path)
    group = open_group(path)
    units = np.array(group.attrs["unit"])
    del group.attrs["unit"]
    expected = open_draws(path)["posterior"]["loadings"].values
    group.attrs["unit"] = units.tolist()
    assert_allclose(open_draws(path)["posterior"]["loadings"], expected * units, rtol=1e-6)
    del group.attrs["unit"]
    for name in ("loadings", "loading_xi"):
        array = group[f"posterior/{name}"]
        del array.attrs["power"]
    assert_array_equal(open_draws(path)["posterior"]["loadings"], expected)


def test_without_labels(tmp_path):
    model = fitted(tmp_path / "d.zarr", supervised=False)
    expected, found = model.posterior_.to_arviz(), open_draws(tmp_path / "d.zarr")
    assert "coefficients" not in found["posterior"]
    assert_same_loadings(found, expected)


def assert_same_loadings(found, expected):
    """Up to rounding: a store multiplies by the unit in single precision, memory in double."""
    one, other = (tree["posterior"]["loadings"] for tree in (found, expected))
    assert_allclose(one, other, rtol=1e-6)


def test_all_draws_are_there_where_memory_keeps_two(tmp_path):
    model = fitted(tmp_path / "d.zarr", engine={"memory": 1e-6})
    every = fitted(None)
    found = open_draws(tmp_path / "d.zarr")["posterior"]["loadings"]
    assert len(model.posterior_.draws.chain) < 2 * SHORT["n_draws"]
    # Units are those of the means of the draws in memory, so that the two fits differ in them.
    expected = every.posterior_.to_arviz()["posterior"]["loadings"]
    assert_allclose(of_chains(model, found), of_chains(every, expected), rtol=2e-6)


def of_chains(model, loadings):
    """Loadings in the order, sign and unit of the chains."""
    return np.asarray(loadings, float) @ np.linalg.inv(model.posterior_.draws.basis).T


def test_nothing_is_read_before_it_is_used(tmp_path):
    path = tmp_path / "d.zarr"
    expected = fitted(path).posterior_.to_arviz()["posterior"]
    loadings = open_draws(path)["posterior"]["loadings"]
    part = loadings.sel(feature=["gene3", "gene1"], factor="Factor 2").isel(draw=slice(2, 9, 3))
    same = expected["loadings"].sel(feature=["gene3", "gene1"], factor="Factor 2")
    assert_allclose(part, same.isel(draw=slice(2, 9, 3)), rtol=1e-6)
    backwards = loadings[:, ::-2, :, ::-1]
    assert_allclose(backwards, expected["loadings"][:, ::-2, :, ::-1], rtol=1e-6)
    later = open_draws(path)["posterior"]["loadings"]
    shutil.rmtree(path / "posterior" / "loadings" / "c")
    assert np.isnan(later.values).all()


def test_a_run_that_dies_leaves_what_it_counted(tmp_path):
    """Without a final flush, full chunks are on disk."""
    path = tmp_path / "d.zarr"
    whole = fitted(tmp_path / "whole.zarr", engine={"n_chains": 1})
    with pytest.raises(MemoryError):
        fitted(path, progress=Watch(14, MemoryError), engine={"n_chains": 1})
    found = open_draws(path)["posterior"]
    assert found.sizes["draw"] == 8
    # No end, so no form of the model's factors: they are those of the chain.
    every = open_draws(tmp_path / "whole.zarr")["posterior"]["loadings"].values[:, :8]
    assert_allclose(found["loadings"].values, of_chains(whole, every), rtol=1e-6)
    assert whole.posterior_.draws is not None
    again = fitted(path, engine={"n_chains": 1})
    assert_same_tree(open_draws(path), open_draws(tmp_path / "whole.zarr"))
    assert_array_equal(again.loadings_, whole.loadings_)


def test_a_table_is_hashed_once_for_checkpoint_and_store(tmp_path, monkeypatch):
    hashed = []
    monkeypatch.setattr(on_disk, "_digest", lambda one: hashed.append(one.shape) or "")
    fitted(tmp_path / "d.zarr", engine={"checkpoint": tmp_path / "chains"})
    assert len(hashed) == 2  # the table and the labels


@pytest.mark.parametrize("after", [3, 13, 20])
@pytest.mark.slow
def test_a_checkpoint_goes_on_behind_its_draws(after, tmp_path):
    whole = tmp_path / "whole.zarr"
    fitted(whole)
    engine = {"checkpoint": tmp_path / "chains", "checkpoint_every": 3}
    with pytest.raises(MemoryError):
        fitted(tmp_path / "d.zarr", progress=Watch(after, MemoryError), engine=engine)
    fitted(tmp_path / "d.zarr", engine=engine)
    assert_same_tree(open_draws(tmp_path / "d.zarr"), open_draws(whole))
    more = engine | {"n_draws": 15}
    fitted(tmp_path / "d.zarr", engine=more)
    fitted(tmp_path / "longer.zarr", engine={"n_draws": 15})
    assert_same_tree(open_draws(tmp_path / "d.zarr"), open_draws(tmp_path / "longer.zarr"))


def test_a_checkpoint_whose_draws_are_not_there_is_refused(tmp_path):
    engine = {"checkpoint": tmp_path / "chains"}
    fitted(None, engine=engine)
    with pytest.raises(InputError, match="does not have all draws that the checkpoint counts"):
        fitted(tmp_path / "d.zarr", engine=engine)


def test_what_is_not_ours_is_refused(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "thesis.txt").write_text("do not touch")
    with pytest.raises(InputError, match=r"folder is not a group of draws: choose another path"):
        fitted(folder)
    assert [one.name for one in folder.iterdir()] == ["thesis.txt"]
    import zarr

    zarr.open_group(tmp_path / "other.zarr", mode="w")
    with pytest.raises(InputError, match="contains no draws of rankfactor"):
        fitted(tmp_path / "other.zarr")
    fitted(tmp_path / "d.zarr")
    before = open_draws(tmp_path / "d.zarr")["posterior"]["loadings"].values
    with pytest.raises(InputError, match=r"draws of another problem \(random_state differs\)"):
        fitted(tmp_path / "d.zarr", random_state=1)
    assert_array_equal(open_draws(tmp_path / "d.zarr")["posterior"]["loadings"], before)
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        fitted(tmp_path / "nowhere" / "d.zarr")
    with pytest.raises(InputError, match="there are no draws at"):
        open_draws(tmp_path / "absent.zarr")
    with pytest.raises(InputError, match="store must be the path of a Zarr group or None, not 3"):
        Gibbs(store=3, n_chains=2)


def test_a_full_disk_is_said_and_leaves_what_was_counted(tmp_path, monkeypatch):
    from zarr.storage import _local

    put = _local._put

    def full(path, *rest, **named):
        if "loadings/c/0/1/" in path.as_posix():
            raise OSError(28, "No space left on device")
        return put(path, *rest, **named)

    monkeypatch.setattr(_local, "_put", full)
    with pytest.raises(InputError, match=r"cannot be written to \(No space left on device\)"):
        fitted(tmp_path / "d.zarr", engine={"n_chains": 1})
    found = open_draws(tmp_path / "d.zarr")["posterior"]
    assert found.sizes["draw"] == 4
    assert np.isfinite(found["loadings"].values).all()


def test_a_group_without_draws(tmp_path):
    with pytest.raises(MemoryError):
        fitted(tmp_path / "d.zarr", progress=Watch(2, MemoryError))
    with pytest.raises(InputError, match="has no draws yet"):
        open_draws(tmp_path / "d.zarr")


def test_without_zarr(tmp_path, monkeypatch):
    fitted(tmp_path / "d.zarr")
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"package xarray: pip install rankfactor\[zarr\]"):
        open_draws(tmp_path / "d.zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(InputError, match=r"package zarr: pip install rankfactor\[zarr\]"):
        fitted(tmp_path / "other.zarr")
    with pytest.raises(InputError, match=r"package zarr: pip install rankfactor\[zarr\]"):
        open_draws(tmp_path / "d.zarr")


def test_a_store_that_cannot_be_begun_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "draws.zarr"

    def full(*arguments, **settings):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("zarr.Group.create_array", full)
        with pytest.raises(InputError, match=r"draws.zarr cannot be written \(No space left"):
            draw_store.DrawStore(path, {"seed": 1}, 2, 5, ["a"])
    assert list(tmp_path.iterdir()) == []
    store = draw_store.DrawStore(path, {"seed": 1}, 2, 5, ["a"])
    for name, call in (
        ("zarr.Group.require_group", lambda: store.prepare({"x": draw_store.Quantity(X, ())})),
        ("zarr.Array.__setitem__", lambda: store.records[0].begin(0)),
        ("zarr.core.attributes.Attributes.update", lambda: store.finish(np.eye(2))),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(name, full)
            with pytest.raises(InputError, match=r"draws.zarr cannot be written to \(No space"):
                call()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"zarr_format": 3, "node_type": "x"}'])
def test_a_damaged_array_is_told(tmp_path, text):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "draws.zarr", mode="w", zarr_format=3)
    group.create_array("count", shape=(1,), dtype="int64", fill_value=0)
    group.attrs.update({"format": "rankfactor draws 1", "features": []})
    (tmp_path / "draws.zarr" / "count" / "zarr.json").write_text(text)
    with pytest.raises(InputError, match=r"draws\.zarr is damaged"):
        open_draws(tmp_path / "draws.zarr")
