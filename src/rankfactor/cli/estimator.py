"""Estimator and data specified by the options of ``fit`` and ``stability``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from rankfactor.cli import settings
from rankfactor.cli.console import note
from rankfactor.cli.reading import read_labelled
from rankfactor.errors import AUTO
from rankfactor.presets import code_of

if TYPE_CHECKING:
    from rankfactor.data.streams import TableStream


class Asked(NamedTuple):
    """Estimator and data of a command."""

    name: str  # of the model
    estimator: Any  # PlainClassifier, or PlainAnalysis without labels
    numbers: list[Any]  # of factors, to choose from
    given: dict[str, Any]  # settings of the estimator
    data: Any  # Labelled, or Streamed if the table is read chunk by chunk

    @property
    def labels(self) -> Any:
        """The labels, None without any."""
        return self.data.labels if self.data.tasks else None

    @property
    def settings(self) -> dict[str, Any]:
        """Settings as stored in a model file and shown in a report."""
        several = len(self.numbers) > 1
        return {
            "model": self.name,
            "n_factors": self.estimator.n_factors,
            **({"n_factors_among": self.numbers} if several else {}),
            **settings.plain_settings(self.given),
            **self.data.choices,
            "random_state": self.estimator.random_state,
        }

    def choose_factors(self) -> None:
        """Set the number of factors by cross-validation, if several are given."""
        if len(self.numbers) == 1:
            return
        from rankfactor.evaluation import ChooseFactors

        seed = self.estimator.random_state
        chooser = ChooseFactors(self.estimator, self.numbers, random_state=seed)
        chosen = chooser.choose(self.data.values, self.data.labels, self.data.groups)
        areas = ", ".join(f"{number}: {auc:.3f}" for number, auc in chooser.aucs_.items())
        note(f"n_factors={chosen} was chosen by cross-validated AUC ({areas or 'none'}).")
        self.estimator.set_params(n_factors=chosen)

    def check_halves(self, folder: Path | None = None) -> None:
        """Refuse samples that cannot be split, and a checkpoint folder of another problem."""
        from rankfactor.evaluation.half_samples import check_halves

        data, seed = self.data, self.estimator.random_state
        given = {"groups": data.groups, "random_state": seed, "folder": folder}
        check_halves(self.estimator, data.values, self.labels, **given)


def asked_for(
    ctx: typer.Context, table: Path, *, divides: bool = False, stream: TableStream | None = None
) -> Asked:
    """Read the table of a command, and build the estimator of its options.

    ``divides`` means that the command splits the samples, so that groups matter even without
    labels. A ``stream`` of the table is opened, and read by the fit.
    """
    from rankfactor.estimators.analysis import PlainAnalysis
    from rankfactor.estimators.classifier import PlainClassifier

    options = ctx.params
    labels, model = options["labels"], code_of(options["model"])
    numbers = settings.numbers_of_factors(options["n_factors"])
    if not labels and not settings.is_given(ctx, "n_factors"):
        numbers = [AUTO]
    alone = {} if labels else settings.analysis_settings(ctx, divides=divides)
    data = _data(table, options, stream)
    given = alone or settings.classifier_settings(options, data.tasks)
    given |= data.settings
    kind: Any = partial(PlainClassifier, model) if labels else PlainAnalysis
    seed, n_threads = options["random_state"], options["n_threads"]
    estimator = kind(n_factors=numbers[0], random_state=seed, n_threads=n_threads, **given)
    if stream is not None:
        from rankfactor.estimators.large import refuse_unfit

        refuse_unfit(estimator, stream.about_n_rows)
    return Asked(model if labels else "Factor analysis", estimator, numbers, given, data)


def _data(table: Path, options: Mapping[str, Any], stream: TableStream | None) -> Any:
    if stream is None:
        return read_labelled(table, options)
    from rankfactor.cli.fit_streamed import open_labelled

    return open_labelled(stream, table, options)
