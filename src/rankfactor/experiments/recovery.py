"""Recovery of known factors: simulated tables in several forms, our models and other programs.

Each method gets a table and the true number of factors. Its loadings are compared with the true
ones by their mean absolute cosine, factors matched one to one. Methods that choose the number of
factors are then fitted again without it.

Programs that are not installed, or that fail, are left out and named in a note. Fits run one after
another. Every method is run once before it is timed, so that compilation and imports do not count.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from rankfactor.errors import InputError, counted, did_you_mean
from rankfactor.experiments.factor_methods import METHODS, How, Method
from rankfactor.experiments.outcome import Keep, Outcome, Progress, in_turn
from rankfactor.experiments.pictures import Pictures
from rankfactor.experiments.simulated import FORMS, Simulated, Size, cosine, simulate
from rankfactor.plots import recovery_figure

NAME = "recovery"
TITLE = "Recovery of known factors: mean cosine of found and true loadings"
BASE = "base"
CASES = {
    BASE: Size(),
    "n100": Size(n=100),
    "n1000": Size(n=1000),
    "d30": Size(d=30),
    "d400": Size(d=400),
    "k2": Size(n_factors=2),
    "k8": Size(n_factors=8),
    "noise2": Size(noise=2.0),
}
FORMS_OF_CASES = ("values", "raw", "mixture")  # forms in all cases but the first
MODELS = tuple(METHODS)


class Part(NamedTuple):
    """Tables of one case in one form."""

    case: str
    form: str

    @property
    def name(self) -> str:
        """Name for progress and notes."""
        return f"{self.case}, {FORMS[self.form].label}"


class Recovery(Outcome):
    """Outcome whose tables have methods in rows, and forms or cases in columns."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """Cosines, numbers of factors and seconds: the first case by form, then all by case."""
        rows = self.rows
        first, several = rows["case"].iloc[0], len(set(rows["case"])) > 1
        main, shared = rows[rows["case"] == first], _shared(rows)
        size = CASES[first]
        tables = {self.title: _wide(main, "cosine", "form", 3)}
        if several:
            tables["Cosine by case"] = _wide(shared, "cosine", "case", 3, "form")
        if main["factors"].notna().any():
            title = f"Number of factors found where {size.n_factors} are true"
            tables[title] = _wide(main, "factors", "form", 1)
            if several:
                title = "Number of factors found by case, mean over forms of the data"
                tables[title] = _wide(shared, "factors", "case", 1)
        part, over = (shared, "case") if several else (main, "form")
        tables["Seconds of a fit"] = _wide(part, "seconds", over, 2)
        return tables


def run(
    models: Sequence[str] = MODELS,
    *,
    cases: Sequence[str] = (),
    seen_as: Sequence[str] = (),
    n_repeats: int = 5,
    random_state: int = 0,
    n_threads: int | None = 1,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Outcome:
    """Simulate tables, fit all methods and compare.

    Parameters
    ----------
    models : sequence of str
        Names of `rankfactor.experiments.factor_methods.METHODS`.
    cases : sequence of str
        Names of `CASES`; by default all.
    seen_as : sequence of str
        Names of `rankfactor.experiments.simulated.FORMS`; by default all in the first case, and
        `FORMS_OF_CASES` in the others.
    n_repeats : int
        Tables per case and form.
    random_state : int
    n_threads : int or None
        Threads of a fit, linear algebra included; None for all cores.
    progress, keep : callable, optional
        As for `rankfactor.experiments.crossvalidated.run_folds`, by case and form.

    Raises
    ------
    InputError
        If a name is unknown, or no method is installed.
    """
    methods, absent = _installed(check_models(models))
    parts = _parts(_known("cases", cases, CASES) or list(CASES), _known("seen_as", seen_as, FORMS))
    fits: list[dict[str, Any]] = []
    failed: dict[str, str] = {}  # reason by label

    def run_part(part: Part) -> bool:
        found = []
        total = n_repeats * len(methods)
        for repeat in range(n_repeats):
            table = simulate(CASES[part.case], part.form, random_state, repeat)
            how = How(random_state + repeat, n_threads)
            for number, method in enumerate(methods):
                if progress is not None:
                    progress(part.name, repeat * len(methods) + number, total)
                if method.label in failed:
                    continue
                try:
                    measured = _measure(method, table, how, warm=repeat == 0)
                except (Exception, SystemExit) as error:
                    if method.ours:
                        raise
                    failed[method.label] = f"{type(error).__name__}: {error}"
                    continue
                found.append({**part._asdict(), "table": repeat + 1, **measured})
        if progress is not None:
            progress(part.name, total, total)
        fits.extend(found)
        return True

    def outcome(*missing: str) -> Outcome:
        # A method that fails once is left out everywhere, so that means are over the same tables.
        kept = pd.DataFrame([one for one in fits if one["model"] not in failed])
        if kept.empty:
            raise InputError(f"no method could be run: {'; '.join(failed.values())}")
        notes = (
            f"The first table has {CASES[parts[0].case]}. "
            f"Means over {counted(n_repeats, 'simulated table')} of each kind. All methods are "
            "given the true number of factors, except where the number found is shown. Seconds are "
            f"the wall-clock time of a fit, {_threads(n_threads)}. {_versions(methods)}",
            *absent,
            *(f"{label} is left out: it failed with {why}." for label, why in failed.items()),
            *missing,
        )
        told = {"repeats": n_repeats, "seed": random_state}
        return Recovery(NAME, TITLE, _rows(kept), kept, told, notes, complete=not missing)

    return in_turn(parts, run_part, outcome, keep)


def drawn(found: Outcome) -> Pictures:
    """Figure of the first case: cosines by form and method."""
    first = found.rows["case"].iloc[0]
    rows = found.rows[found.rows["case"] == first]
    figure = recovery_figure(
        rows.assign(label=[FORMS[form].label for form in rows["form"]]),
        title=f"Mean cosine of found and true loadings ({CASES[first]})",
        own=[one.label for one in METHODS.values() if one.ours],
    )
    return Pictures(figures={NAME: figure})


def check_models(names: Sequence[str]) -> list[str]:
    """Unique names of methods; unknown names are refused."""
    return _known("models", names, METHODS)


def _known(argument: str, names: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    for name in names:
        if name not in known:
            raise InputError(
                f"{argument} must be among {', '.join(known)}, not {name!r}."
                f"{did_you_mean(name, known)}"
            )
    return list(dict.fromkeys(names))


def _installed(names: Sequence[str]) -> tuple[list[Method], list[str]]:
    """Methods that can be run, and a note for every package that is not installed."""
    methods = [METHODS[name] for name in names]
    absent: dict[str, list[str]] = {}
    for one in methods:
        if not one.installed:
            absent.setdefault(one.package, []).append(one.label)
    notes = [
        f"Left out, as {package} is not installed (pip install {package}): {'; '.join(labels)}."
        for package, labels in absent.items()
    ]
    found = [one for one in methods if one.installed]
    if not found:
        raise InputError(f"no method to compare. {' '.join(notes)}")
    return found, notes


def _parts(cases: Sequence[str], forms: Sequence[str]) -> list[Part]:
    """Cases and forms to run; without forms given, all in the first case and some in the others."""
    return [
        Part(case, form)
        for number, case in enumerate(cases)
        for form in (forms or (FORMS_OF_CASES if number else FORMS))
    ]


def _measure(method: Method, table: Simulated, how: How, *, warm: bool) -> dict[str, Any]:
    """Cosine, number of factors found and seconds of a method on a table."""
    n_factors = table.loadings.shape[1]
    # Multithreaded linear algebra is slower on small tables if cores are shared.
    with threadpool_limits(how.n_threads):
        if warm:
            method.loadings(table.X, n_factors, how)
        started = time.perf_counter()
        loadings = method.loadings(table.X, n_factors, how)
        seconds = time.perf_counter() - started
        most = max(10, 2 * n_factors)
        count = np.nan if method.count is None else method.count(table.X, most, how)
    return {
        "model": method.label,
        "cosine": cosine(loadings, table.loadings),
        "factors": float(count),
        "seconds": seconds,
    }


def _rows(fits: pd.DataFrame) -> pd.DataFrame:
    """Means over tables, one row per case, form and method."""
    rows = (
        fits.groupby(["case", "form", "model"], sort=False)
        .agg(
            cosine=("cosine", "mean"),
            cosine_sd=("cosine", "std"),
            factors=("factors", "mean"),
            factors_sd=("factors", "std"),
            seconds=("seconds", "mean"),
        )
        .reset_index()
    )
    sizes = pd.DataFrame([CASES[case]._asdict() for case in rows["case"]])
    return pd.concat([rows[["case"]], sizes, rows.drop(columns="case")], axis=1)


def _wide(rows: pd.DataFrame, measure: str, over: str, digits: int, *beside: str) -> pd.DataFrame:
    """Table of text with a row per method and a column per form or case.

    Parameters
    ----------
    rows : DataFrame
        As from `_rows`; rows of the same cell are averaged.
    measure : str
        Methods that lack it everywhere are left out.
    over : {"form", "case"}
        Meaning of the columns.
    digits : int
    beside : str
        ``"form"`` for a row per form and method.
    """
    known = rows[rows[measure].notna()]
    labelled = known.assign(
        form=[FORMS[form].label for form in known["form"]],
        case=[_heading(case) for case in known["case"]],
    )
    keys = [*beside, "model"]
    order = {name: list(dict.fromkeys(labelled[name])) for name in (*keys, over)}
    table = labelled.pivot_table(measure, keys, over, sort=False)
    lines = []
    for at in product(*(order[name] for name in keys)):
        place = at if beside else at[0]
        cells = [float(table[one].get(place, np.nan)) for one in order[over]]
        lines.append([*at, *("" if np.isnan(one) else f"{one:.{digits}f}" for one in cells)])
    names = {"form": "seen as", "model": "method"}
    return pd.DataFrame(lines, columns=[*(names[name] for name in keys), *order[over]])


def _heading(case: str) -> str:
    """Difference between a case and the first."""
    base, size = CASES[BASE], CASES[case]
    signs = {"n": "n = ", "d": "d = ", "n_factors": "K = ", "noise": "noise "}
    changed = [
        f"{signs[name]}{value:g}"
        for name, value in size._asdict().items()
        if value != getattr(base, name)
    ]
    return ", ".join(changed) or BASE


def _shared(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the forms that all cases have."""
    n_cases = rows.groupby("form")["case"].nunique()
    return rows[rows["form"].map(n_cases) == rows["case"].nunique()]


def _versions(methods: Sequence[Method]) -> str:
    """Sentence with the versions of the other programs."""
    packages = dict.fromkeys(["scikit-learn", *(one.package for one in methods if one.package)])
    return f"Versions: {', '.join(f'{one} {version(one)}' for one in packages)}."


def _threads(n_threads: int | None) -> str:
    return "on all cores" if n_threads is None else f"on {counted(n_threads, 'thread')}"
