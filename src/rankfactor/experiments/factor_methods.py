"""Methods of factor analysis to compare: ours, and other programs if installed.

All methods get the true number of factors when their loadings are compared with the truth. Those
that can choose the number are fitted again to find it: ours by parallel analysis, mofapy2 by the
factors that it keeps out of a larger number.

Other programs get every feature with mean 0 and standard deviation 1, so their loadings are
standardised. scikit-learn does not accept missing values: they are replaced by the mean of the
feature. mofapy2 accepts them. It does not rotate, so its weights are also compared after a varimax
rotation, which its users would have to do themselves. Its Gaussian likelihood is used for all data.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from rankfactor.estimators import RankFactorAnalysis
from rankfactor.evaluation.watch import uninterrupted
from rankfactor.steps.rotation import varimax
from rankfactor.typing import Floats

USED = 0.01  # share of the variance above which a factor of mofapy2 counts as found
SWITCHED_OFF = 1e-6  # length of the loadings of a factor, relative to the longest


class How(NamedTuple):
    """Settings of a run of a method."""

    random_state: int = 0
    n_threads: int | None = None


@dataclass(frozen=True)
class Method:
    """A method by name, for options, and by label, for tables and figures."""

    name: str
    label: str
    # Standardised loadings (d, K) of a table (n, d) at a given K.
    loadings: Callable[[Floats, int, How], Floats]
    # Number of factors found, up to a maximum; None for a method that does not choose.
    count: Callable[[Floats, int, How], int] | None = None
    package: str = ""  # package required besides rankfactor

    @property
    def installed(self) -> bool:
        """Whether its package is installed."""
        return not self.package or find_spec(self.package) is not None

    @property
    def ours(self) -> bool:
        """Whether it is a model of this library."""
        return self.loadings in _OURS.values()


def _fit_ours(likelihood: str, X: Floats, n_factors: int | str, how: How) -> RankFactorAnalysis:
    model = RankFactorAnalysis(
        likelihood,
        n_factors=n_factors,
        random_state=how.random_state,
        n_threads=how.n_threads,
    )
    # On Ctrl-C a fit returns its current state, which is not a result here.
    with uninterrupted():
        return model.fit(X)


def _our_loadings(likelihood: str, X: Floats, n_factors: int, how: How) -> Floats:
    return _fit_ours(likelihood, X, n_factors, how).posterior_.standardised_loadings


def _our_count(likelihood: str, X: Floats, most: int, how: How) -> int:
    """Factors of a fit that chooses their number by parallel analysis."""
    return min(_fit_ours(likelihood, X, "auto", how).posterior_.n_factors, most)


def _factor_analysis(rotation: str, X: Floats, n_factors: int, how: How) -> Floats:
    from sklearn.decomposition import FactorAnalysis

    own = rotation == "varimax"
    model = FactorAnalysis(
        n_factors, rotation=rotation if own else None, random_state=how.random_state
    )
    with _quiet():
        loadings = model.fit(np.nan_to_num(standardised(X))).components_.T  # (d, K)
        if not own:
            from factor_analyzer import Rotator

            loadings = Rotator(method=rotation).fit_transform(loadings)
    return np.asarray(loadings)


def _fit_mofa(spike: bool, X: Floats, n_factors: int, how: How) -> Any:
    """Trained model of mofapy2, with default settings except the prior of the weights."""
    with _quiet():
        from mofapy2.run.entry_point import entry_point

        entry = entry_point()
        entry.set_data_options()
        entry.set_data_matrix([[standardised(X)]], likelihoods=["gaussian"])
        entry.set_model_options(factors=n_factors, spikeslab_weights=spike, ard_weights=True)
        entry.set_train_options(quiet=True, seed=how.random_state)
        entry.build()
        entry.run()
    return entry.model


def _mofa_loadings(spike: bool, rotated: bool, X: Floats, n_factors: int, how: How) -> Floats:
    nodes = _fit_mofa(spike, X, n_factors, how).nodes
    weights = np.asarray(nodes["W"].getExpectations()[0]["E"])  # (d, K)
    loadings: Floats = weights * np.asarray(nodes["Z"].getExpectation()).std(axis=0)
    if rotated:
        # Loadings of switched-off factors are rounding errors.
        lengths = np.linalg.norm(loadings, axis=0)
        used = lengths > SWITCHED_OFF * lengths.max()  # (K,)
        loadings[:, used] = loadings[:, used] @ varimax(loadings[:, used])
    return loadings


def _mofa_count(spike: bool, X: Floats, most: int, how: How) -> int:
    """Factors that explain more than `USED` of the variance, by mofapy2's own measure."""
    model = _fit_mofa(spike, X, most, how)
    with _quiet():
        explained = model.calculate_variance_explained()[0][0]  # (K,)
    return int((np.asarray(explained) > USED).sum())


def standardised(X: Floats) -> Floats:
    """Features with mean 0 and standard deviation 1 over their known values, shape (n, d)."""
    sd = np.nanstd(X, axis=0)
    return np.asarray((X - np.nanmean(X, axis=0)) / np.where(sd > 0, sd, 1.0))


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress output and warnings of other programs."""
    said = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
        warnings.simplefilter("ignore")
        yield


_NAMES = {
    "ranks": ("margin_rank", "rankfactor, ranks"),
    "gaussian": ("gaussian", "rankfactor, Gaussian"),
    "ordinal": ("ordinal_probit", "rankfactor, ordinal probit"),
}
_OURS = {name: partial(_our_loadings, one) for name, (one, _) in _NAMES.items()}
_PRIORS = {"spike": (True, "mofapy2, spike-and-slab"), "ard": (False, "mofapy2, ARD")}
METHODS = {
    one.name: one
    for one in (
        *(
            Method(name, label, _OURS[name], partial(_our_count, likelihood))
            for name, (likelihood, label) in _NAMES.items()
        ),
        Method("fa-varimax", "scikit-learn FA, varimax", partial(_factor_analysis, "varimax")),
        Method(
            "fa-oblimin",
            "scikit-learn FA, oblimin",
            partial(_factor_analysis, "oblimin"),
            package="factor_analyzer",
        ),
        *(
            Method(
                f"mofa-{name}{'-rotated' * rotated}",
                f"{label}{', rotated' * rotated}",
                partial(_mofa_loadings, spike, rotated),
                None if rotated else partial(_mofa_count, spike),
                "mofapy2",
            )
            for name, (spike, label) in _PRIORS.items()
            for rotated in (False, True)
        ),
    )
}
