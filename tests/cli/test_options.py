"""Options are derived from the estimator's docstring, and are complete."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from rankfactor import RankFactorClassifier
from rankfactor.cli import options as opt
from rankfactor.engine.chain import Gibbs
from rankfactor.estimators.classifier import CALIBRATION, TRAINING


def test_every_argument_has_an_option_or_is_excluded() -> None:
    arguments = set(inspect.signature(RankFactorClassifier).parameters)
    sampling = {field.name for field in fields(Gibbs)}
    assert set(opt.ESTIMATOR) == arguments - opt._EXCLUDED
    # One --checkpoint serves both engines.
    sampled = sampling - opt._EXCLUDED - {opt.CHECKPOINT}
    assert set(opt.GIBBS) == sampled | {opt.UNTIL_CONVERGED}
    assert arguments | sampling >= opt._EXCLUDED | set(opt._DIFFERENT) | set(opt._FIRST)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("training", TRAINING),
        ("calibration", CALIBRATION),
        ("covariate_use", ("regress", "block", "view")),
    ],
)
def test_choices_are_those_of_the_library(name: str, choices: tuple[str, ...]) -> None:
    kind, _ = opt.ESTIMATOR[name]
    assert tuple(map(str, kind.__origin__)) == choices


@pytest.mark.parametrize(
    ("words", "kind", "default", "told"),
    [
        ("int, default 3", int, 3, {"min": 1}),
        ("float, default 2e-4", float, 2e-4, {"min": 0.0}),
        ('float or "auto", default 3.0', str, "3.0", {"metavar": opt.AUTO}),
        ("str or None", str | None, None, {}),
        ('{"a", "b"} or Part, default "a"', str, "a", {"help": "Sets it: a or b."}),
    ],
)
def test_a_new_argument_is_an_option(
    words: str, kind: object, default: object, told: dict[str, object]
) -> None:
    option, found = opt._derived("new_one", words, "Sets it.", "Model")
    (info,) = option.__metadata__
    assert (option.__origin__, found) == (kind, default)
    assert info.default == "--new-one"  # where typer keeps the first name
    assert {name: getattr(info, name) for name in told} == told
    choices, found = opt._derived("new_one", '{"a", "b-c"}, default "b-c"', "Sets it.", "Model")
    assert [str(one) for one in choices.__origin__] == ["a", "b-c"]
    assert found == "b-c"


def test_the_first_sentence_is_the_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part.py").write_text(
        'class Other:\n    """No."""\n\n\nclass Part(Base[int]):\n    """A part.\n\n'
        "    Parameters\n    ----------\n    one, two : int, default 1\n        How `many`, and\n"
        '        "more" (docs/howto/models.md). Else none.\n\n    Attributes\n    ----------\n'
        '    three_ : int\n        Not an argument.\n    """\n'
    )
    monkeypatch.setattr(opt, "files", lambda package: tmp_path)
    expected = ("int, default 1", "How many, and more.")
    assert opt._documented("part.py", "Part") == {"one": expected, "two": expected}
