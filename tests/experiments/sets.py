"""Small tables of the form that the experiments read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from rankfactor.data import Dataset


def signal(
    n: int = 48, d: int = 8, seed: int = 0, size: float = 1.2
) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, d) and classes "a" and "b" that shift half of the features."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    values = rng.standard_normal((n, d)) + size * np.outer(2 * y - 1, np.arange(d) % 2)
    return values, np.where(y, "b", "a")


def archives(folder: Path) -> Path:
    """A folder of three archives; one has groups, one has counts with missing values."""
    folder.mkdir()
    X, y = signal()
    np.savez(folder / "plain.npz", X=X, y=y)
    np.savez(
        folder / "grouped.npz",
        X=signal(seed=1)[0],
        y=y,
        lab_patient=np.repeat([f"p{i}" for i in range(12)], 4),
    )
    counts = np.rint(np.exp(signal(seed=2)[0] + 3))
    counts[0, 0] = np.nan
    np.savez(folder / "counts.npz", X=counts, y=y)
    return folder


def split() -> Dataset:
    """A data set with a given split."""
    X, y = signal(60)
    index = pd.Index([f"s{i}" for i in range(60)])
    part = np.where(np.arange(60) < 40, "train", "test")
    labels = pd.DataFrame({"y": y, "part": part}, index=index, dtype=object)
    table = pd.DataFrame(X, index=index, columns=[f"g{i}" for i in range(8)])
    return Dataset("toy", table, labels)


def series(path: Path, phenotype: dict[str, list[str]], values: np.ndarray | None) -> Path:
    """A GEO series matrix with characteristics; values are (samples, features), or none."""
    n = len(next(iter(phenotype.values())))
    names = [f"GSM{i}" for i in range(n)]
    quoted = "\t".join(f'"{name}"' for name in names)
    lines = ['!Series_title\t"A series"', f"!Sample_geo_accession\t{quoted}"]
    for key, cells in phenotype.items():
        row = "\t".join(f'"{key}: {cell}"' for cell in cells)
        lines.append(f"!Sample_characteristics_ch1\t{row}")
    lines += ["!series_matrix_table_begin", f'"ID_REF"\t{quoted}']
    if values is not None:
        for i, column in enumerate(values.T):
            lines.append(f'"gene{i}"\t' + "\t".join(f"{value:.4f}" for value in column))
    lines.append("!series_matrix_table_end")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
