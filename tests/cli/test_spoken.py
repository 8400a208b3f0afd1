"""Messages of the command line name its options, not the library's arguments."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.running import LABELS, call, fails, fit, works
from tests.report.page import read
from typer.main import get_command

from rankfactor import RankFactorClassifier
from rankfactor.cli import app
from rankfactor.cli.console import OPTIONS, in_options
from rankfactor.data import read_table
from rankfactor.engine.chain import Gibbs
from rankfactor.evaluation import cross_validate

# Arguments that no option sets.
WITHOUT = {
    *("blocks", "views", "progress", "store", "memory", "block", "checkpoint_every", "align"),
    *("path", "text_columns", "sample_names", "table", "labels", "X", "y", "folder", "resume"),
}


def arguments() -> set[str]:
    found = {field.name for field in fields(Gibbs)}
    for function in (RankFactorClassifier, cross_validate, read_table):
        found |= set(inspect.signature(function).parameters)
    return found - WITHOUT


def options() -> set[str]:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    return {
        name
        for one in ("fit", "cv", "predict")
        for parameter in commands[one].params
        for name in parameter.opts
    }


@pytest.mark.parametrize("name", sorted(arguments()))
def test_every_argument_is_said_as_an_option(name: str) -> None:
    option = OPTIONS[name]
    assert option in options()
    assert in_options(f"{name}=3 is too much.") == f"{option} 3 is too much."
    assert in_options(f"use {name}='a.b'.") == f"use {option} a.b."
    assert in_options(f"{name} must be a number.") == f"{option} must be a number."
    assert in_options(f"too much: lower {name}.") == f"too much: lower {option}."


@pytest.mark.parametrize(
    ("said", "spoken"),
    [
        ("set Gibbs(n_draws=500).", "set --n-draws 500."),
        ("engine=Gibbs(n_draws=50, thin=2)", "--n-draws 50 --thin 2"),
        ('fit it with engine="gibbs".', "fit it with --engine gibbs."),
        ("the model's margin and training", "the model's margin and training"),
        ("column 'n_factors' of max_iter.csv", "column 'n_factors' of max_iter.csv"),
        ("data/n_factors/a.csv has no rows", "data/n_factors/a.csv has no rows"),
        ("(tol=0.0002): raise max_iter, or", "(--tol 0.0002): raise --max-iter, or"),
    ],
)
def test_only_arguments_are_options(said: str, spoken: str) -> None:
    assert in_options(said) == spoken


def test_errors_warnings_and_notes_speak_of_options() -> None:
    fails("--n-factors 50 needs at least", "fit", "table.csv", *LABELS, "--n-factors", "50")
    fails("lower --folds to", "cv", "table.csv", "--labels", "labels.csv:kind", "--folds", "20")
    result = works(
        "fit", "table.csv", *LABELS, "--n-factors", "3,4", "--max-iter", "2", "--tol", "0"
    )
    assert "note: --n-factors" in result.stderr
    assert "raise --max-iter" in result.stderr
    assert "max_iter" not in result.stderr + works("inspect", "model.rankfactor").stdout


@pytest.mark.slow
def test_a_copy_of_the_label_is_told_at_fit_in_the_report_and_by_inspect() -> None:
    table, labels = (pd.read_csv(f"{name}.csv", index_col=0) for name in ("table", "labels"))
    table["a"] = 0.5 - table["b"]  # separates as it is
    table.assign(code=(labels["status"] == "ill") * 1, status=labels["status"]).to_csv("both.csv")
    result = fit("both.csv", "--labels", "status", "--report", "page.html")
    sentence = "the column 'code' separates 'well' from 'ill' ('status') perfectly, by itself"
    assert f"warning: {sentence}" in result.stderr
    assert "exclude it with --exclude" in result.stderr
    assert "exclude it with --exclude" in read(Path("page.html").absolute()).text
    works("report", "model.rankfactor", "--out", "again.html")
    assert "exclude it with --exclude" in read(Path("again.html").absolute()).text
    cv = works("cv", "both.csv", "--labels", "status", "--models", "L-SVM", "--folds", "3")
    assert cv.stderr.count("perfectly") == 1
    for options in ((), ("--labels", "labels.csv:status")):
        assert "separates" in works("inspect", "both.csv", *options).stdout
    table.to_csv("table.csv")
    assert "separates" not in works("inspect", "table.csv", *LABELS).stdout


def test_classes_that_differ_in_case_are_told() -> None:
    labels = pd.read_csv("labels.csv", index_col=0)
    labels.iloc[0, 0] = "Well"
    labels.to_csv("labels.csv")
    result = fit("table.csv", *LABELS)
    assert "'Well' (1 sample), 'well' (11 samples)" in result.stderr
    assert "'Well' (1 sample)" in call("inspect", "table.csv", *LABELS).stdout


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("--labels labels.csv is a file", ("fit", "table.csv", "--labels", "labels.csv")),
        ("'labels.csv:status', 'labels.csv:kind'", ("fit", "table.csv", "--labels", "labels.csv")),
        ("Did you mean 'status'?", ("fit", "both.csv", "--labels", "statis")),
        ("Did you mean 'status'?", ("fit", "table.csv", "--labels", "labels.csv:Staus")),
        ("Did you mean 'patient'?", ("fit", "table.csv", *LABELS, "--groups", "labels.csv:patien")),
        ("Did you mean 'age'?", ("fit", "table.csv", *LABELS, "--covariates", "labels.csv:agee")),
        ("Did you mean 'sample'?", ("inspect", "table.csv", "--id-column", "smaple")),
        ("Did you mean 'status'?", ("inspect", "both.csv", "--exclude", "statusx")),
        ("Did you mean 'G-L-BSVM'", ("fit", "table.csv", *LABELS, "--model", "GL-BSVM")),
        ("Did you mean 'L-SVM'", ("cv", "table.csv", *LABELS, "--models", "LSVM")),
        ("Did you mean 'hinge'?", ("fit", "table.csv", *LABELS, "--classifier", "hing")),
        ("Did you mean 'well'?", ("fit", "table.csv", *LABELS, "--class-weight", "wel=2")),
        ("Did you mean 'golub'", ("datasets", "fetch", "golubb")),
    ],
)
def test_mistyped_names(sentence: str, arguments: tuple[str, ...]) -> None:
    fails(sentence, *arguments)


def test_one_is_singular() -> None:
    table = pd.read_csv("table.csv", index_col=0)
    fit("table.csv", *LABELS)
    table.iloc[:1].to_csv("one.csv")
    assert "1 sample predicted" in works("predict", "model.rankfactor", "one.csv").stdout
    assert "one.csv: 1 sample, 5 features" in works("inspect", "one.csv").stdout
    table[["a"]].to_csv("a.csv")
    assert "24 samples, 1 feature\n" in works("inspect", "a.csv").stdout
