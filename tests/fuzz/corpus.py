"""Small valid files of every format that rankfactor reads, written by code.

`build` fills a folder and lists what is in it. A seed that is a folder (checkpoints, results, Zarr,
parts of Parquet) is mutated in one of its files.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

FIXTURES = Path(__file__).parents[1] / "fixtures"
N = 16  # samples
LABELS = ("--labels", "status")
QUICK = ("--n-factors", "2", "--tol", "1e-2", "--threads", "1")
DRAWS = ("--engine", "gibbs", "--n-draws", "6", "--burn-in", "4", "--n-chains", "1")


@dataclass(frozen=True)
class Seed:
    """A valid file or folder, and what reads it (`tests.fuzz.targets`)."""

    path: Path
    target: str


def table() -> tuple[pd.DataFrame, pd.Series]:
    """Values and a label of every sample."""
    rng = np.random.default_rng(0)
    names = pd.Index([f"s{i}" for i in range(N)], name="sample")
    second = np.arange(N) % 2
    values = rng.standard_normal((N, 5)) + np.outer(2 * second - 1, [1, 1, 1, 0, 0])
    status = pd.Series(np.where(second, "ill", "well"), names, name="status")
    return pd.DataFrame(values.round(3), names, list("abcde")), status


def build(folder: Path) -> list[Seed]:
    """Write the corpus into an empty folder, which becomes the working folder, and list it."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = [*_text(), *_binary(), *_annotated(), *_zarr()]
        own = _own()
    seeds = [Seed(folder / name, "table") for name in tables]
    seeds += [Seed(folder / name, "gmt") for name in _gene_sets()]
    seeds += [Seed(folder / name, target) for name, target in own]
    seeds += [Seed(path, "model") for path in sorted(FIXTURES.glob("*.rankfactor"))]
    return seeds


def _text() -> list[str]:
    values, status = table()
    both = values.assign(status=status)
    both.to_csv("both.csv")
    both.to_csv("both.tsv", sep="\t")
    both.to_csv("semicolon.csv", sep=";", decimal=",")
    values.T.to_csv("turned.csv")
    both.to_csv("wide.txt", sep="\t", encoding="utf-16")
    both.rename(columns={"a": "größe"}).to_csv("old.csv", encoding="cp1252")
    content = Path("both.csv").read_bytes()
    Path("both.csv.gz").write_bytes(gzip.compress(content, mtime=0))
    Path("both.csv.xz").write_bytes(lzma.compress(content))
    Path("both.csv.bz2").write_bytes(bz2.compress(content))
    import zstandard

    Path("both.csv.zst").write_bytes(zstandard.ZstdCompressor().compress(content))
    Path("GSE1_series_matrix.txt").write_text(_series(values, status))
    Path("GSE1_series_matrix.txt.gz").write_bytes(
        gzip.compress(_series(values, status).encode(), mtime=0)
    )
    packed = [f"both.csv.{end}" for end in ("gz", "xz", "bz2", "zst")]
    plain = ["both.csv", "both.tsv", "semicolon.csv", "turned.csv", "wide.txt", "old.csv"]
    return [*plain, *packed, "GSE1_series_matrix.txt", "GSE1_series_matrix.txt.gz"]


def _series(values: pd.DataFrame, status: pd.Series) -> str:
    """A GEO series matrix."""
    lines = [
        '!Series_title\t"A series"',
        "!Sample_title\t" + "\t".join(f'"{name}"' for name in values.index),
        "!Sample_geo_accession\t" + "\t".join(f'"GSM{i}"' for i in range(N)),
        "!Sample_characteristics_ch1\t" + "\t".join(f'"status: {one}"' for one in status),
        "!series_matrix_table_begin",
        '"ID_REF"\t' + "\t".join(f'"GSM{i}"' for i in range(N)),
        *(f'"{name}"\t' + "\t".join(map(str, values[name])) for name in values),
        "!series_matrix_table_end",
    ]
    return "\n".join(lines) + "\n"


def _binary() -> list[str]:
    from scipy import sparse

    values, status = table()
    both = values.assign(status=status)
    both.to_excel("both.xlsx")
    both.to_parquet("both.parquet")
    Path("parts").mkdir()
    both[:8].to_parquet("parts/part.0.parquet")
    both[8:].to_parquet("parts/part.1.parquet")
    X = values.to_numpy()
    np.save("plain.npy", X)
    named = {"feature_names": np.array(list("abcde")), "sample_ids": np.array(values.index, str)}
    np.savez("both.npz", X=X, y=status.to_numpy(str), lab_kind=np.arange(N) % 3, **named)
    np.savez_compressed("packed.npz", X=X, y=status.to_numpy(str))
    np.savez("split.npz", X_train=X[:9], y_train=status[:9].to_numpy(str), X_test=X[9:],
             y_test=status[9:].to_numpy(str))  # fmt: skip
    sparse.save_npz("sparse.npz", sparse.csr_matrix(np.where(X > 0, X, 0)))
    single = ["both.xlsx", "both.parquet", "parts", "plain.npy", "both.npz", "packed.npz"]
    return [*single, "split.npz", "sparse.npz"]


def _annotated() -> list[str]:
    import anndata
    import mudata
    from scipy import sparse

    values, status = table()
    obs = pd.DataFrame({"status": status.astype("category"), "age": np.arange(N)}, values.index)
    whole = anndata.AnnData(values.to_numpy(), obs, pd.DataFrame(index=values.columns))
    whole.layers["twice"] = 2 * values.to_numpy()
    whole.uns["note"] = {"by": "nobody", "numbers": np.arange(3)}
    whole.write_h5ad("both.h5ad")
    whole.write_h5ad("packed.h5ad", compression="gzip")
    sparsely = anndata.AnnData(sparse.csr_matrix(np.where(values > 0, values, 0)), obs)
    sparsely.write_h5ad("sparse.h5ad")
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({"rna": whole, "protein": sparsely}).write("both.h5mu")
    return ["both.h5ad", "packed.h5ad", "sparse.h5ad", "both.h5mu"]


def _zarr() -> list[str]:
    import zarr

    values, _ = table()
    for version in (2, 3):
        zarr.save_array(f"v{version}.zarr", values.to_numpy(), zarr_format=version)
    return ["v2.zarr", "v3.zarr"]


def _gene_sets() -> list[str]:
    text = "first\tof letters\ta\tb\tc\nsecond\tno link\tc\td\te\n"
    Path("sets.gmt").write_text(text)
    Path("sets.gmt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return ["sets.gmt", "sets.gmt.gz"]


def _own() -> list[tuple[str, str]]:
    """What rankfactor writes itself."""
    from typer.testing import CliRunner

    from rankfactor import Gibbs, RankFactorClassifier
    from rankfactor.cli import app

    def run(*arguments: str) -> None:
        result = CliRunner().invoke(app, [*arguments, *LABELS, *QUICK])
        assert result.exit_code == 0, result.output

    run("fit", "both.csv", "--out", "model.rankfactor", "--checkpoint", "ascent")
    run("fit", "both.csv", "--out", "drawn.rankfactor", "--checkpoint", "chains", *DRAWS)
    run("cv", "both.csv", "--models", "R-L-BSVM", "--folds", "2", "--out", "cv")
    run("stability", "both.csv", "--repeats", "4", "--out", "stability")
    values, status = table()
    engine = Gibbs(n_draws=6, burn_in=4, n_chains=1, store="draws.zarr")
    RankFactorClassifier(n_factors=2, tol=1e-2, engine=engine, n_threads=1).fit(values, status)
    shutil.copytree("stability", "pairs")
    folders = ("ascent", "chains", "cv", "stability", "pairs", "draws.zarr")
    names = {"draws.zarr": "draws"}
    models = [("model.rankfactor", "model"), ("drawn.rankfactor", "model")]
    return [*models, *((one, names.get(one, one)) for one in folders)]
