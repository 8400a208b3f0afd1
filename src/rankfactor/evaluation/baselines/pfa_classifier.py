"""PFA-L-BSVM: Poisson factor analysis, then the Bayesian SVM on its scores, in two steps.

The first step does not use labels. Scores are standardised over the training samples, since the
shrinkage prior of the coefficients assumes factors of equal scale, and are treated as known. The
second step is the library's own label view, hinge with TPBN shrinkage, for all label columns at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfactor.classifiers.linear import fit_linear
from rankfactor.errors import check_count
from rankfactor.evaluation.baselines.columns import ColumnClassifier, Tasks
from rankfactor.evaluation.baselines.counting import CountScale
from rankfactor.evaluation.baselines.poisson import PoissonFactorAnalysis
from rankfactor.likelihoods import Gaussian, Hinge, ObservedArray
from rankfactor.model import Model
from rankfactor.posterior.draws import certain
from rankfactor.steps.workers import workers
from rankfactor.tasks import signed_labels
from rankfactor.typing import Floats, Integers

# A sweep divides every count among all factors. Large tables, whose posteriors are narrow, get
# fewer sweeps.
MOST_SWEEPS, FEWEST_SWEEPS = 100, 25
DIVISIONS = 1e8


@dataclass(eq=False, repr=False)
class PFAClassifier(ColumnClassifier):
    """Poisson factor analysis with Bayesian SVMs on its scores (PFA-L-BSVM).

    Parameters
    ----------
    n_factors : int, default 20
    burn_in, n_draws : int or None, default None
        Of the sampler of `PoissonFactorAnalysis`. None is 100 each; with more than a million
        values times factors, fewer in proportion, down to 25.
    scale : {"auto", "counts", "round", "range"}, default "auto"
        How values become counts: `rankfactor.evaluation.baselines.counting`.
    random_state : int, RandomState or None, default 0
    n_threads : int or None
        Threads, None for all cores; results do not depend on it.

    Attributes
    ----------
    analysis_ : PoissonFactorAnalysis
    scale_ : CountScale
        The rule chosen for the table.
    coef_, intercept_ : array, shape (n_rows, n_factors) and (n_rows,)
        Of standardised scores, one row for two classes and else one per class.
    """

    n_factors: int = 20
    burn_in: int | None = None
    n_draws: int | None = None
    scale: str = "auto"
    random_state: Any = 0
    n_threads: int | None = None

    def _learn(
        self, values: Floats, tasks: Tasks, class_index: Integers, groups: Integers | None
    ) -> None:
        self.scale_ = CountScale.learn(values, self.scale)
        counts = self.scale_.apply(values)
        usual = sweeps(counts.size * check_count("n_factors", self.n_factors))
        self.analysis_ = PoissonFactorAnalysis(
            self.n_factors,
            burn_in=usual if self.burn_in is None else self.burn_in,
            n_draws=usual if self.n_draws is None else self.n_draws,
            random_state=self.random_state,
            n_threads=self.n_threads,
        ).fit(counts)
        scores = self.analysis_.transform(counts)
        self._centre, spread = scores.mean(axis=0), scores.std(axis=0)
        # A factor without spread is left out: its scores are rounding errors.
        self._spread = np.where(spread > 1e-9 * np.abs(self._centre), spread, np.inf)
        model = Model(self.n_factors, Gaussian(), Hinge())
        signed = ObservedArray(signed_labels(tasks, class_index, None))
        with workers(self.n_threads) as pool:
            state = fit_linear(model, signed, certain(self._standard(scores)), pool)
        self.coef_, self.intercept_ = state.rows.mean[:, :-1], state.rows.mean[:, -1]
        self._ends = np.cumsum([task.n_rows for task in tasks])[:-1]

    def _standard(self, scores: Floats) -> Floats:
        return np.asarray((scores - self._centre) / self._spread)

    def _decisions(self, values: Floats) -> list[Floats]:
        scores = self._standard(self.analysis_.transform(self.scale_.apply(values)))
        rows = scores @ self.coef_.T + self.intercept_  # (N, rows)
        parts = np.split(rows, self._ends, axis=1)
        return [part[:, 0] if part.shape[1] == 1 else part for part in parts]


def sweeps(divisions: int) -> int:
    """Sweeps of the burn-in, and as many draws, for a number of values times factors."""
    return int(np.clip(DIVISIONS / max(divisions, 1), FEWEST_SWEEPS, MOST_SWEEPS))
