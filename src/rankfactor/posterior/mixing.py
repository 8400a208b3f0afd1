"""R-hat, effective sample sizes and Monte Carlo errors of draws.

R-hat compares the spread between chains with that within them; the effective sample size (ESS) is
the number of independent draws with the same precision. Both follow Vehtari, Gelman, Simpson,
Carpenter and Bürkner (2021), Bayesian Analysis 16: chains are split in halves and draws are
replaced by the normal scores of their ranks, to handle heavy tails and single chains.

Draws have the shape (chains, draws, quantities), with at least four draws per chain; every function
returns one number per quantity. Results agree with arviz-stats, which is not required.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri

from rankfactor.typing import Floats


def r_hat(draws: Floats) -> Floats:
    """Rank-normalised split R-hat, the larger of that of location and that of spread."""
    halves = _halves(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    location, spread = (_plain_r_hat(_normal_scores(one)) for one in (halves, folded))
    return np.asarray(np.fmax(location, spread))


def ess_bulk(draws: Floats) -> Floats:
    """Bulk effective sample size: that of normal scores."""
    return _ess(_normal_scores(_halves(draws)))


def ess_tail(draws: Floats) -> Floats:
    """Tail effective sample size: the smaller of those of the 5 % and 95 % quantiles."""
    ends = np.quantile(draws, [0.05, 0.95], axis=(0, 1))
    return np.asarray(np.fmin(*(_ess(_halves((draws <= end).astype(float))) for end in ends)))


def mcse_mean(draws: Floats) -> Floats:
    """Monte Carlo standard error of the mean."""
    flat = draws.reshape(-1, draws.shape[-1]).astype(float)
    return np.asarray(flat.std(axis=0, ddof=1) / np.sqrt(_ess(_halves(draws))))


def _halves(draws: Floats) -> Floats:
    """First and second halves as separate chains; the middle draw of an odd number is dropped."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]]).astype(float)


def _normal_scores(draws: Floats) -> Floats:
    """Normal quantiles of the ranks among the draws of all chains (Blom's)."""
    # Like scipy.stats.rankdata, which takes half a second to import.
    ranks = pd.DataFrame(draws.reshape(-1, draws.shape[-1])).rank().to_numpy()
    return np.asarray(ndtri((ranks - 0.375) / (len(ranks) + 0.25)).reshape(draws.shape))


def _plain_r_hat(chains: Floats) -> Floats:
    n = chains.shape[1]
    between = n * chains.mean(axis=1).var(axis=0, ddof=1)
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # constant quantities have none
        return np.asarray(np.sqrt((between / within + n - 1) / n))


def _ess(chains: Floats) -> Floats:
    """Draws over their integrated autocorrelation time, by Geyer's initial monotone sequence."""
    from scipy.fft import irfft, next_fast_len, rfft  # needed only after Gibbs sampling

    n_chains, n, _ = chains.shape
    size = n_chains * n
    centred = chains - chains.mean(axis=1, keepdims=True)
    width = next_fast_len(2 * n, real=True)
    power = np.abs(rfft(centred, width, axis=1)) ** 2
    covariance = irfft(power, width, axis=1)[:, :n].mean(axis=0) / n  # (n, quantities), by lag
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + chains.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    # Sums of neighbouring lags 2t and 2t + 1 are positive and decreasing in theory; from the first
    # non-positive sum on there is only noise.
    n_pairs = max((n - 3) // 2, 0) + 1
    even = rho[: 2 * n_pairs : 2]
    sums = even + rho[1 : 2 * n_pairs : 2]  # (pairs, quantities)
    ended = sums <= 0
    last = np.where(ended.any(axis=0), ended.argmax(axis=0), n_pairs - 1)
    before = np.arange(n_pairs)[:, None] < last
    falling = (np.minimum.accumulate(sums, axis=0) * before).sum(axis=0)
    every = np.arange(len(last))
    kept = (even[last, every] > 0) | (sums[last, every] >= 0)
    time = -1.0 + 2.0 * falling + np.where(kept, even[last, every], 0.0)
    constant = np.ptp(chains, axis=(0, 1)) < np.finfo(float).resolution
    return np.asarray(np.where(constant, size, size / np.maximum(time, 1.0 / np.log10(size))))
