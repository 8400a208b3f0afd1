"""Mixing of the chains of a Gibbs fit, in words, in numbers and for ArviZ.

Convergence is judged by the decision function at probes: training samples that are encoded without
their labels by the rows of every draw and decided by its coefficients (`rankfactor.engine.probes`).
Loadings and coefficients depend on the order, rotation and scale of the factors, which change
between draws for factors that are hardly used; a large R-hat of these is not a concern by itself.

Files of earlier versions have no such decisions. Theirs are computed at the label-free mean scores
of the training samples, with the coefficients of every draw: ``f_rn = beta_r . E[z_n] + c_r``. With
a mixture the decision is that of the draw's components, ``f_rn = sum_t R_t(z_n) (beta_rt . z_n +
c_rt)``. The unit of scores varies between draws, so the mean scores are divided by the unit u of
the draw's loadings relative to the mean ones, ``A_s = u A`` by least squares. Component numbers
have no meaning across draws, so coefficients are left out.

The rule, for the decision function with labels and for the log likelihood without: R-hat at most
1.01 and a bulk ESS of at least 100 per chain, for the worst of all quantities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.errors import InputError, counted
from rankfactor.laws.normal import Normal
from rankfactor.posterior.convergence import CONVERGED, NOT_CONVERGED, Convergence
from rankfactor.posterior.draws import Draws
from rankfactor.posterior.mixing import ess_bulk, ess_tail, mcse_mean, r_hat
from rankfactor.posterior.samples import evenly_spaced
from rankfactor.storage.archive import stacked
from rankfactor.typing import Floats

if TYPE_CHECKING:
    from rankfactor.posterior.posterior import Posterior

MAX_R_HAT = 1.01
MIN_ESS = 100  # a chain
MIN_DRAWS = 4  # per chain: two halves of two
MOST = 2000  # quantities evaluated per kind


class Quantities(NamedTuple):
    """Draws of some quantities, shape (chains, draws, quantities), and the names of these."""

    draws: Floats
    names: list[str]


def _drawn(posterior: Posterior) -> Draws:
    if posterior.draws is None:
        raise InputError(
            "this model has no draws, as it was fitted by variational Bayes: fit it with "
            'engine="gibbs".'
        )
    return posterior.draws


def by_chain(draws: Draws, values: NDArray[Any]) -> NDArray[Any]:
    """Values of every draw, shape (S, ...), as (chains, draws, ...).

    Chains of unequal length, as after an interruption, are cut to the shortest.
    """
    chains = [values[draws.chain == number] for number in np.unique(draws.chain)]
    shortest = min(len(one) for one in chains)
    return np.stack([one[:shortest] for one in chains])


def _log_likelihood(draws: Draws) -> Floats:
    """Log likelihood at the draws, shape (chains, draws)."""
    return np.asarray(by_chain(draws, draws.log_likelihood[draws.chain, draws.sweep - 1]))


def _decisions(posterior: Posterior, *, named: bool = True) -> Quantities:
    draws, classifiers = _drawn(posterior), posterior.classifiers
    assert classifiers is not None
    rows, known = classifiers.row_names(), draws.decisions.shape[-1]
    most = MOST // len(rows)
    samples = evenly_spaced(len(posterior.scores.mean), known or most)
    scores = posterior.scores.take(samples)
    if known:
        f = by_chain(draws, draws.decisions)
    elif draws.priors:
        f = by_chain(draws, _mixed_decisions(draws, scores))
    else:
        coefficients = by_chain(draws, draws.coefficients).astype(float)  # (chain, draw, R, K + 1)
        f = coefficients[..., :-1] @ scores.mean.T + coefficients[..., -1:]
    # Without sample names a decision is named after its classifier.
    places = [f", {posterior.sample_names[n]}" if named else "" for n in samples]
    return _flat(f, rows, places)


def _mixed_decisions(draws: Draws, scores: Normal) -> Floats:
    """Decisions of every draw's components at scores (N, K), shape (S, R, N)."""
    k = scores.order
    A = draws.loadings[..., :k].astype(float)
    mean = A.mean(axis=0)
    units = (A * mean).sum(axis=(1, 2)) / (mean**2).sum()
    result = []
    for mixture, rows, unit in zip(draws.priors, draws.coefficients, units, strict=True):
        z = Normal(scores.mean / unit, scores.cov / unit**2, scores.log_det)
        inner = z if draws.basis is None else z.transformed(draws.basis)
        R = mixture.gates(inner).responsibilities(inner.mean)  # (N, T)
        local = rows[..., :k].astype(float) @ z.mean.T + rows[..., k:]  # (R, T, N)
        result.append((local * R.T).sum(axis=1))
    return np.array(result)


def _coefficients(posterior: Posterior) -> Quantities:
    draws, classifiers = _drawn(posterior), posterior.classifiers
    assert classifiers is not None
    entries = [f", {entry}" for entry in (*posterior.factor_names, "intercept")]
    values, names = _flat(by_chain(draws, draws.coefficients), classifiers.row_names(), entries)
    chosen = evenly_spaced(len(names), MOST)
    return Quantities(values[..., chosen], [names[i] for i in chosen])


def _loadings(posterior: Posterior) -> Quantities:
    draws, factors = _drawn(posterior), posterior.factor_names
    columns = posterior.coding.columns
    chosen = evenly_spaced(len(columns), MOST // len(factors))
    values = by_chain(draws, draws.loadings[:, chosen, : len(factors)])
    features = posterior.feature_names[columns[chosen]]
    return _flat(values, features, [f", {factor}" for factor in factors])


def _flat(values: NDArray[Any], rows: Iterable[str], ends: Iterable[str]) -> Quantities:
    """Quantities of values (chains, draws, rows, ends)."""
    names = [f"{row}{end}" for row, end in product(rows, ends)]
    return Quantities(values.reshape(*values.shape[:2], -1), names)


def _likelihood(posterior: Posterior) -> Quantities:
    return Quantities(_log_likelihood(_drawn(posterior))[..., None], ["log likelihood"])


def convergence(posterior: Posterior) -> pd.DataFrame:
    """Mixing of the chains of a Gibbs fit, by kind of quantity.

    Returns
    -------
    DataFrame
        One row for the decision function at the training samples, the coefficients (both only with
        labels, and the latter not with a mixture), the loadings and the log likelihood. Columns:
        ``quantities``, the number evaluated (at most about 2,000, evenly spaced); ``r_hat``, the
        largest, and ``r_hat_at``, where; ``ess_bulk`` and ``ess_bulk_at``, the smallest and where;
        ``ess_tail``, the smallest; ``mcse``, the largest Monte Carlo standard error of a mean.

    Raises
    ------
    InputError
        If there are no draws (fit with ``engine="gibbs"``), or fewer than four per chain.
    """
    n_draws = _log_likelihood(_drawn(posterior)).shape[1]
    if n_draws < MIN_DRAWS:
        raise InputError(
            f"{n_draws} draws per chain are too few to judge convergence: at least {MIN_DRAWS} are "
            "needed."
        )
    kinds = {"loadings": _loadings, "log likelihood": _likelihood}
    if posterior.classifiers is not None:
        if not _drawn(posterior).priors:
            kinds = {"coefficients": _coefficients, **kinds}
        kinds = {"decision function": _decisions, **kinds}
    told = {
        kind: posterior.left_out.mixing
        if make is _decisions and posterior.left_out is not None
        else _summary(*make(posterior))
        for kind, make in kinds.items()
    }
    return pd.DataFrame.from_dict(told, orient="index")


def decision_mixing(posterior: Posterior) -> dict[str, Any]:
    """The row of the decision function in `convergence`, without sample names; may be empty."""
    draws, classifiers = posterior.draws, posterior.classifiers
    if draws is None or classifiers is None or _log_likelihood(draws).shape[1] < MIN_DRAWS:
        return {}
    return _summary(*_decisions(posterior, named=False))


def _summary(draws: Floats, names: list[str]) -> dict[str, Any]:
    ratio, bulk = r_hat(draws), ess_bulk(draws)
    # A quantity that never changes has no R-hat.
    worst = int(np.argmax(np.where(np.isnan(ratio), -np.inf, ratio)))
    least = int(np.argmin(bulk))
    return {
        "quantities": len(names),
        "r_hat": float(ratio[worst]),
        "r_hat_at": names[worst],
        "ess_bulk": float(bulk[least]),
        "ess_bulk_at": names[least],
        "ess_tail": float(ess_tail(draws).min()),
        "mcse": float(mcse_mean(draws).max()),
    }


def judged(
    posterior: Posterior,
    n_draws: int,
    max_r_hat: float = MAX_R_HAT,
    min_ess: float | None = None,
) -> Convergence:
    """Return whether the chains have converged, by R-hat and the effective sample size.

    ``n_draws`` is the number that every chain has made, of which it may have kept a part. The
    required effective sample size is by default `MIN_ESS` per chain.
    """
    quantity = "log likelihood" if posterior.classifiers is None else "decision function"
    kept = _log_likelihood(_drawn(posterior))
    n_chains = len(kept)
    after = f"{counted(n_chains, 'chain')} of {counted(n_draws, 'draw')}"
    if kept.shape[1] < MIN_DRAWS:
        few = f"{counted(kept.shape[1], 'draw')} per chain are too few to judge convergence"
        return Convergence(NOT_CONVERGED, after, few, "set n_draws=500")
    draws, _ = (_likelihood if posterior.classifiers is None else _decisions)(posterior)
    ratio, size = float(np.fmax.reduce(r_hat(draws))), float(ess_bulk(draws).min())
    enough = MIN_ESS * n_chains if min_ess is None else min_ess
    by_ratio = (
        f"R-hat of the {quantity} is {_rounded(ratio, max_r_hat)} (should be below {max_r_hat})"
    )
    by_size = f"effective sample size {{}}{size:.0f} (should be {enough:.0f})"
    if not (ratio > max_r_hat or size < enough):
        return Convergence(CONVERGED, after, f"{by_ratio}, its bulk {by_size.format('')}")
    # After convergence, R-hat^2 - 1 decreases like 1 / n, and the ESS grows like n.
    factor = enough / size
    found = (
        f"the bulk effective sample size of the {quantity} is {size:.0f} (should be {enough:.0f})"
    )
    if ratio > max_r_hat:
        factor = max(factor, (ratio**2 - 1) / (max_r_hat**2 - 1))
        found = (
            f"R-hat of the {quantity} is {_rounded(ratio, max_r_hat)} (should be below {max_r_hat})"
        )
    about = n_draws * max(factor, 1.1)
    unit = int(10 ** max(math.floor(math.log10(about)) - 1, 0))
    needed = math.ceil(about / unit) * unit  # the next number with two significant digits
    more = f"about {needed:,} draws would suffice, so set n_draws={needed}"
    return Convergence(NOT_CONVERGED, after, found, more)


def _rounded(ratio: float, limit: float) -> str:
    """R-hat with enough digits to differ from its limit."""
    return f"{ratio:.4f}" if limit - 0.005 < ratio < limit + 0.005 else f"{ratio:.2f}"


def to_arviz(posterior: Posterior) -> Any:
    """The draws as an ArviZ DataTree; see `Posterior.to_arviz`."""
    draws = _drawn(posterior)
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise InputError(
            "to_arviz needs the package arviz-base: pip install rankfactor[arviz]."
        ) from error
    n_factors = len(posterior.factor_names)
    loadings = by_chain(draws, draws.loadings)
    variables = {"loadings": loadings[..., :n_factors]}
    dims = {"loadings": ["feature", "factor"]}
    if loadings.shape[-1] > n_factors:
        variables["feature_mean"], dims["feature_mean"] = loadings[..., n_factors], ["feature"]
    coords: dict[str, Any] = {
        "feature": posterior.feature_names[posterior.coding.columns],
        "factor": posterior.factor_names,
    }
    if posterior.classifiers is not None:
        coefficients = by_chain(draws, draws.coefficients)
        variables |= {"coefficients": coefficients[..., :-1], "intercept": coefficients[..., -1]}
        rows = ["row", "component"][: draws.coefficients.ndim - 2]
        dims |= {"coefficients": [*rows, "factor"], "intercept": rows}
        coords["row"] = posterior.classifiers.row_names()
    for name, values in _parameters(draws).items():
        variables[name] = by_chain(draws, values)
        dims[name] = ["feature", "cut"][: values.ndim - 1]
    for name, values in draws.scales.values.items():
        variables[name], dims[name] = by_chain(draws, values), list(draws.scales.dims[name])
    groups = {"posterior": variables, "sample_stats": {"lp": _log_likelihood(draws)}}
    return from_dict(groups, coords=coords, dims=dims)


def _parameters(draws: Draws) -> dict[str, NDArray[Any]]:
    """Parameters of the data likelihood by name, shape (S, d) or (S, d, cuts); NaN if not used."""
    found: dict[str, NDArray[Any]] = stacked([one.named() for one in draws.params])
    if draws.params[0].public_names is not None:
        return found
    # If a class does not name its drawn parameters: those that differ between draws.
    return {
        name: values
        for name, values in found.items()
        if not np.array_equal(values, np.broadcast_to(values[0], values.shape), equal_nan=True)
    }
