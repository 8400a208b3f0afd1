"""The cache of compiled kernels on a disk that is full, and after a power loss."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

import rankfactor.kernels  # noqa: F401 (which changes the cache)


def twice(values):
    return 2 * values


def compiled(folder, monkeypatch, module):
    """What a function of a module returns, and how often it was loaded from its own cache."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(folder))
    monkeypatch.setattr(twice, "__module__", module)
    function = njit(cache=True)(twice)
    assert isinstance(function._cache, FunctionCache)
    return function(np.arange(3.0)).tolist(), sum(function.stats.cache_hits.values())


def full(*arguments):
    raise OSError(28, "No space left on device")


def test_a_full_disk_costs_no_kernel(tmp_path, monkeypatch):
    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert compiled(tmp_path, monkeypatch, "rankfactor.kernels.any") == ([0, 2, 4], 0)
    with pytest.raises(OSError, match="No space left on device"):
        compiled(tmp_path, monkeypatch, "elsewhere")


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_file_that_was_cut_short_is_compiled_again(suffix, tmp_path, monkeypatch):
    ours = "rankfactor.kernels.any"
    assert compiled(tmp_path, monkeypatch, ours) == ([0, 2, 4], 0)
    (file,) = tmp_path.rglob(f"*.{suffix}")
    for length in (0, 10):
        file.write_bytes(file.read_bytes()[:length])
        assert compiled(tmp_path, monkeypatch, ours) == ([0, 2, 4], 0)
        assert compiled(tmp_path, monkeypatch, ours) == ([0, 2, 4], 1)  # it was written again
