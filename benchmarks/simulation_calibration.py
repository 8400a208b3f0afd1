"""Simulation-based calibration of the Gibbs sampler (Talts et al. 2018; Modrak et al. 2023).

    nice .venv/bin/python -m benchmarks.simulation_calibration --json docs/results/calibration.json
    .venv/bin/python docs/build_calibration.py

Parameters are drawn from the prior and a table with labels from the model. If the sampler draws
from the posterior of this table, the rank of the true value of any quantity among L independent
draws is uniform on 0, ..., L. A chain starts as in a fit, at a draw from the variational posterior,
never at the truth.

Quantities may be any function of parameters and data; those that depend on the data as well (log
likelihoods) find errors that functions of the parameters miss. Each is invariant to the order and
the signs of the factors. Uniformity is tested by chi-square over BINS classes of ranks. A quantity
with ties (a count) takes a random rank among equals.

New samples of the same table give the coverage of 90 % intervals of decisions, computed as by
`predict_interval` from the draws of the chain, and the calibration error of the probabilities of
their labels.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.from_prior import ProperModel, decisions, predictor, simulate
from scipy.special import log_ndtr, ndtr
from scipy.stats import chisquare

from rankfactor.classifiers.labels import signed_of
from rankfactor.engine.chain import Gibbs
from rankfactor.engine.fitting import chain_start
from rankfactor.engine.gibbs import run_chain, start_chain
from rankfactor.engine.pooling import collect
from rankfactor.engine.vb import Settings, ascend
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.latent import DPMixture, Mixture, StandardNormal
from rankfactor.likelihoods import Gaussian, ObservedArray, OrdinalProbit, OrdinaryRank, Probit
from rankfactor.posterior.mixing import ess_bulk
from rankfactor.posterior.prediction import interval
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD
from rankfactor.steps.workers import Workers

K = 2
BINS = 8
LEVEL = 1e-4  # the smallest p-value of a quantity that counts as uniform
# Draws that are ranked, sweeps between them, and before the first; components mix more slowly.
LENGTHS = {"draws": 15, "thin": 15, "burn_in": 120}
MIXTURE_LENGTHS = {"draws": 15, "thin": 36, "burn_in": 200}
FINER = 3  # decisions of new samples average over so many times more draws

LIKELIHOODS = {
    "Gaussian": Gaussian(3.0, 3.0),
    "ordinal probit": OrdinalProbit(cut_precision=0.5),
    "ordinary rank": OrdinaryRank(),
}
SHRINKAGE = {
    "TPBN": (TPBN.for_loadings(), TPBN.for_coefficients()),
    "ARD": (NormalARD(2.0, 1.5), NormalARD(2.0, 1.5, "row")),
    "multiplicative gamma": (MultiplicativeGamma(), TPBN.for_coefficients()),
}
LATENT = {"": StandardNormal(), ", mixture": DPMixture(4)}
MODELS = {
    f"{data}, {prior}{mixture}": ProperModel(K, likelihood, Probit(), *shrinkage, latent)
    for mixture, latent in LATENT.items()
    for data, likelihood in LIKELIHOODS.items()
    for prior, shrinkage in SHRINKAGE.items()
}


class Replication(NamedTuple):
    """Ranks of the true values, and what new samples say."""

    ranks: dict[str, int]
    effective: dict[str, float]  # draws
    coverage: float  # share of the decisions of new samples
    reliability: np.ndarray  # (3, 10): sums of predicted and true probabilities, counts, by bin


def table_likelihood(fit):
    """Log likelihood of the table given w; for ranks, that of the latent values."""
    item, w = fit.data, predictor(fit.data, fit.z)
    params = item.state.params
    if isinstance(item.view.likelihood, OrdinaryRank):
        return -0.5 * np.nansum((params.latent - w) ** 2)
    x = item.observed.tile(slice(None), slice(None))
    if isinstance(item.view.likelihood, Gaussian):
        t = params.precision[:, None]
        return 0.5 * np.nansum(np.log(t) - t * (x - w) ** 2)
    ends = np.pad(params.h, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    code = np.where(x == MISSING, 0, x).astype(int)
    low, high = (np.take_along_axis(ends, code + step, 1) - w for step in (0, 1))
    # By symmetry in the lower tail, where differences keep their digits.
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    chance = np.maximum(ndtr(high) - ndtr(low), 1e-300)
    return np.where(x == MISSING, 0.0, np.log(chance)).sum()


def quantities(fit):
    """What is ranked, by name: none depends on the order or the signs of the factors."""
    k, f, z = fit.z.order, decisions(fit), fit.z.mean
    w, rows, params = predictor(fit.data, fit.z), fit.data.state.rows.mean, fit.data.state.params
    a, beta = rows[:, :k], fit.labels.state.rows.mean
    signed = signed_of(fit.labels.observed)
    covariance = a @ a.T
    found = {
        "log likelihood of the table": table_likelihood(fit),
        "log likelihood of the labels": np.where(signed == 0, 0.0, log_ndtr(signed * f)).sum(),
        "decision of a labelled sample": f[0, 0],
        "decision of another labelled sample": f[0, 1],
        "decision of an unlabelled sample": f[0, -1],
        "mean square of decisions": (f**2).mean(),
        "w of an entry": w[0, 0],
        "w of an entry of an unlabelled sample": w[1, -1],
        "mean square of w": (w**2).mean(),
        "loadings, a_1 . a_1": covariance[0, 0],
        "loadings, a_1 . a_2": covariance[0, 1],
        "loadings, sum of squares": np.trace(covariance),
        "scores, z_1 . z_1": z[0] @ z[0],
        "scores, z_1 . z_2": z[0] @ z[1],
        "scores, sum of squares": (z**2).sum(),
        "coefficients, sum of squares": (beta[:, :k] ** 2).sum(),
    }
    if len(f) > 1:
        found["decision of a labelled sample, other label"] = f[1, 0]
    found |= likelihood_parameters(params, rows, k)
    found |= scale_quantities("loadings", fit.data, k)
    found |= scale_quantities("coefficients", fit.labels, k)
    if isinstance(fit.prior, Mixture):
        return found | mixture_quantities(fit.prior, beta[:, k])
    return found | {
        "intercept of a label": beta[0, k],
        "loadings with coefficients, a_1 . beta": a[0] @ beta[0, :k],
    }


def likelihood_parameters(params, rows, k):
    """Parameters of the data likelihood."""
    if hasattr(params, "precision"):
        t = np.log(params.precision)
        return {"mean of a feature": rows[0, k], "log noise": t[0], "log noise, sum": t.sum()}
    if hasattr(params, "latent"):
        seen = params.latent[0][~np.isnan(params.latent[0])]
        ends = np.nanmin(params.latent[1]), np.nanmax(params.latent[1])
        return {
            "latent value": seen[0],
            "latent values, mean": seen.mean(),
            "latent values, range": ends[1] - ends[0],
        }
    h = params.h
    return {
        "first cut point": h[0, 0],
        "last cut point": h[0, -1],
        "cut points, range": h[1, -1] - h[1, 0],
        "cut points, mean": h.mean(),
    }


def scale_quantities(name, item, k):
    """Logarithms of scales, those of factors sorted."""
    prior, scales = item.view.shrinkage, item.state.scales
    if isinstance(prior, TPBN):
        phi, top = np.log(scales.phi.mean), np.log(scales.top.mean)
        found = {"log xi, mean": np.log(scales.xi).mean(), "log top, mean": top.mean()}
        return {f"{name}: {key}": value for key, value in found.items()} | {
            f"{name}: smallest log phi": phi.min(),
            f"{name}: largest log phi": phi.max(),
        }
    if isinstance(prior, MultiplicativeGamma):
        delta = np.log(scales.delta.mean)
        return {
            f"{name}: log delta_1": delta[0],
            f"{name}: log delta_2": delta[1],
            f"{name}: log phi, mean": np.log(scales.phi.mean).mean(),
        }
    alpha = np.log(scales.alpha.mean)
    return {f"{name}: smallest log alpha": alpha.min(), f"{name}: largest log alpha": alpha.max()}


def mixture_quantities(prior, intercepts):
    """Of a mixture: none depends on the components' numbers."""
    R, psi, mu = prior.responsibilities, prior.psi.mean, prior.centres.mean
    sizes = R.sum(axis=0)
    own = intercepts.reshape(-1, len(sizes)) @ R.T
    return {
        "pairs of samples in one component": (sizes**2).sum(),
        "samples with the first one": (R @ R[0]).sum(),
        "size of the largest component": sizes.max(),
        "components in use": (sizes > 0).sum(),
        "log concentration": np.log(prior.alpha.mean[0]),
        "log psi of a sample": np.log(R[0] @ psi),
        "log psi, sum": np.log(psi).sum(),
        "centre of a sample, squared": ((R[0] @ mu) ** 2).sum(),
        "centres, sum of squares": (mu**2).sum(),
        "intercept of a sample": own[0, 0],
    }


def replicate(model, seed, draws, thin, burn_in) -> Replication:
    """One draw of the model, and a chain given its data."""
    rng, pool = np.random.default_rng(seed), Workers()
    # The components have a row each, so that one label with a mixture is several rows as well.
    made = simulate(rng, model, n_labels=2 if model.n_components is None else 1)
    truth = made.truth
    observed, labels = truth.data.observed, ObservedArray(signed_of(truth.labels.observed))
    # Classifiers of a mixture are fitted again at each draw, which takes time.
    n_predict = FINER * draws if model.linear else draws
    settings = Gibbs(FINER * draws, burn_in, thin // FINER, n_chains=1, n_predict=n_predict)
    start = ascend(model, made.coding, observed, labels, chain_start(Settings()), rng, pool)
    reference = start.data.state.rows.mean[:, :K].copy()
    stream = Stream.from_seed(seed)
    chain, found = start_chain(model, start, stream), []

    def note(sweep, last):
        past = sweep - burn_in
        if past > 0 and past % thin == 0:
            found.append(list(quantities(chain.state).values()))

    run_chain(model, chain, reference, settings, stream, pool, note)
    true, values = quantities(truth), np.array(found)
    assert values.shape == (draws, len(true))
    ranks, effective = {}, ess_bulk(values[None])
    for (name, value), column in zip(true.items(), values.T, strict=True):
        ties = int((column == value).sum())
        ranks[name] = int((column < value).sum() + rng.integers(ties + 1))
    drawn = collect(model, [chain], observed, labels, settings.n_predict, pool)
    mean, variance = drawn.decide(model, model.data_view, made.new, pool)
    low, high = interval((mean, variance), 0.9).T
    covered = (low <= made.decisions) & (made.decisions <= high)
    predicted = ndtr(mean / np.sqrt(1.0 + variance)).T.ravel()
    place = np.minimum((10 * predicted).astype(int), 9)
    summed = [predicted, made.chances.ravel(), np.ones(len(place))]
    reliability = np.array([np.bincount(place, one, minlength=10) for one in summed])
    found = dict(zip(true, effective.tolist(), strict=True))
    return Replication(ranks, found, float(covered.mean()), reliability)


def uniformity(counts, bins=BINS) -> float:
    """p-value of chi-square for the numbers of tables with rank 0, ..., L."""
    return float(chisquare(np.reshape(counts, (bins, -1)).sum(axis=1)).pvalue)


def study(model, replications, seed=0, done=None, **lengths) -> dict:
    """Sums over replications of a model in plain values, continued from those ``done``.

    ``rank_counts`` are by quantity the numbers of tables with rank 0, ..., L.
    """
    lengths = lengths or (LENGTHS if model.linear else MIXTURE_LENGTHS)
    found = done or {**lengths, "replications": 0, "rank_counts": {}, "effective_draws": {}}
    coverage, reliability = found.get("coverage", []), np.array(found.get("reliability", 0.0))
    first = found["replications"]
    for number in range(first, replications):
        one = replicate(model, 1000 * seed + number, **lengths)
        for name, rank in one.ranks.items():
            counts = found["rank_counts"].setdefault(name, [0] * (lengths["draws"] + 1))
            counts[rank] += 1
            mean = found["effective_draws"].get(name, 0.0)
            found["effective_draws"][name] = mean + (one.effective[name] - mean) / (number + 1)
        coverage.append(round(one.coverage, 4))
        reliability = reliability + one.reliability
    p = {name: uniformity(counts) for name, counts in found["rank_counts"].items()}
    more = {"coverage": coverage, "reliability": reliability.round(3).tolist(), "p_values": p}
    return {**found, "replications": max(first, replications), **more}


def calibration_error(reliability) -> float:
    """Expected calibration error of sums of predicted and true probabilities by bin."""
    predicted, true, count = np.array(reliability)
    return float(np.abs(predicted - true).sum() / count.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="continued where it exists")
    parser.add_argument("--models", default="", help="names, separated by semicolons; else all")
    parser.add_argument("--replications", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = json.loads(options.json.read_text()) if options.json.exists() else {}
    chosen = [name.strip() for name in options.models.split(";") if name.strip()]
    for name in chosen or MODELS:
        started = time.process_time()
        done[name] = found = study(MODELS[name], options.replications, done=done.get(name))
        lowest = min(found["p_values"], key=found["p_values"].get)
        print(
            f"{name}: {found['replications']} tables, smallest p {found['p_values'][lowest]:.2g} "
            f"({lowest}), coverage {np.mean(found['coverage']):.3f}, calibration error "
            f"{calibration_error(found['reliability']):.3f}, "
            f"{time.process_time() - started:.0f} s",
            flush=True,
        )
        options.json.write_text(json.dumps(done, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
