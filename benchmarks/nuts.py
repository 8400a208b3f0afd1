"""Effective draws a second of the decision function: the Gibbs sampler beside NumPyro's NUTS.

    pip install numpyro
    nice python benchmarks/nuts.py [--samples 160] [--features 60] [--factors 4] [--seed 0]

One simulated table, the model "G-L-Probit" with its default priors, all programs in one run and
on one core. NUTS samples the scores ("scores sampled") or has them integrated out of the table and
the labels, which this model allows ("scores integrated out"). It has the horseshoe's scales in
logarithms and entries not centred; with half-normal numbers n and half-Cauchy numbers l,

    sqrt(phi_k) = n_k / n_0,   sqrt(xi_ik) = l_ik sqrt(phi_k),   a_ik = e_ik / sqrt(1/xi + 1/slab^2)

with e ~ N(0, 1), times (1 + xi/slab^2)^-1/2, which is what the slab leaves of a given xi.

What is followed are the label-free decisions beta . E[z_n | x_n] + c of 40 training samples, which
no order, sign or rotation of the factors changes. Effective sample sizes (ESS) and R-hat are those
of `rankfactor.posterior.mixing`. Seconds are processor seconds, without compilation; those of the
Gibbs sampler's warm-up are of all of the fit that is not draws: start, burn-in, summaries. Below
the table: whether NUTS and the Gibbs sampler agree, in standard errors of the difference.
"""

import argparse
import os
import time
import warnings

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import log_ndtr
from numpyro.infer import NUTS
from scipy.special import ndtr

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.model import View
from rankfactor.posterior.mixing import ess_bulk, mcse_mean, r_hat
from rankfactor.shrinkage.tpbn import COEFFICIENT_SLAB, LOADING_SLAB
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import workers

CHAINS, FOLLOWED = 2, 40
WAYS = {"scores sampled": False, "scores integrated out": True}


def simulated(n, d, k, seed):
    """Table (n, d), labels 0 and 1 of a probit model, 40 % of the loadings not zero."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.4)
    z = rng.standard_normal((n, k))
    X = z @ loadings.T + rng.standard_normal((n, d))
    chance = ndtr(z @ np.resize([1.5, -1.0, 0.0, 0.0], k) + 0.3)
    return X, (rng.random(n) < chance).astype(int)


def gibbs(X, y, given):
    """Decisions (chains, draws, samples), and seconds of everything else and of the draws."""
    engine = Gibbs(given.draws, given.burn_in, n_chains=CHAINS)
    times = []
    model = RankFactorClassifier(
        "G-L-Probit",
        n_factors=given.factors,
        training="bayes",
        calibration="none",
        engine=engine,
        random_state=given.seed,
        n_threads=1,
        progress=lambda *_: times.append(time.process_time()),
    )
    started = time.process_time()
    model.fit(X, y)
    whole = time.process_time() - started
    sweeps = np.array(times[-CHAINS * engine.last :]).reshape(CHAINS, -1)  # chain by chain
    drawing = (sweeps[:, -1] - sweeps[:, engine.burn_in - 1]).sum()
    posterior = model.posterior_
    draws, observed = posterior.draws, posterior.coding.observe(X[:FOLLOWED])
    assert len(draws.chain) == CHAINS * given.draws
    found = []
    with workers(1) as pool:
        for s, rows in enumerate(draws.coefficients[:, 0].astype(float)):
            view = ObservedView(posterior.model.data_view, observed, draws.state(s))
            z = encode_samples(posterior.model, view, pool, prior=draws.prior(s)).mean
            found.append(z @ rows[:-1] + rows[-1])
    return np.reshape(found, (CHAINS, given.draws, -1)), whole - drawing, drawing


def horseshoe(name, shape, slab):
    """Entries with a slab, a global scale for each of the columns."""
    half_normal = dist.HalfNormal()
    local = numpyro.sample(f"{name}_local", dist.HalfCauchy(1.0).expand(shape).to_event(2))
    column = numpyro.sample(f"{name}_column", half_normal.expand(shape[1:]).to_event(1))
    top = numpyro.sample(f"{name}_top", half_normal)
    xi = (local * column / top) ** 2
    numpyro.factor(f"{name}_slab", -0.5 * jnp.log1p(xi / slab**2).sum())
    entry = numpyro.sample(f"{name}_entry", dist.Normal().expand(shape).to_event(2))
    return entry / jnp.sqrt(1 / xi + slab**-2.0)


def probit_factors(X, sign, k, integrated):
    """The model of a standardised table (n, d) and of labels +1 and -1."""
    n, d = X.shape
    wide = View.intercept_precision**-0.5
    A = horseshoe("loading", (d, k), LOADING_SLAB)
    # One row of k coefficients shares its scale: a column here.
    beta = horseshoe("coefficient", (k, 1), COEFFICIENT_SLAB)[:, 0]
    m = numpyro.sample("mean", dist.Normal(0, wide).expand((d,)).to_event(1))
    c = numpyro.sample("intercept", dist.Normal(0, wide))
    t = numpyro.sample("precision", dist.Gamma(0.01, 0.01).expand((d,)).to_event(1))
    # The law of the scores given the table: N(scores_n, P^-1).
    P = jnp.eye(k) + (A.T * t) @ A
    root = jnp.linalg.cholesky(P)
    weighted = t[:, None] * A
    scores = jax.scipy.linalg.cho_solve((root, True), (X @ weighted - m @ weighted).T).T
    f = scores @ beta + c
    numpyro.deterministic("decision", f[:FOLLOWED])
    if integrated:
        # log N(x_n; m, A A^T + 1/T), by the law of the scores.
        squares = (X**2).sum(axis=0) - 2 * m * X.sum(axis=0) + n * m**2
        left = t @ squares - jnp.sum((scores @ root) ** 2)
        half_log = 0.5 * jnp.log(t).sum() - jnp.log(jnp.diag(root)).sum()
        numpyro.factor("table", n * half_log - 0.5 * left)
        v = jnp.sum(jax.scipy.linalg.solve_triangular(root, beta, lower=True) ** 2)
        numpyro.factor("labels", log_ndtr(sign * f / jnp.sqrt(1 + v)).sum())
    else:
        z = numpyro.sample("scores", dist.Normal().expand((n, k)).to_event(2))
        squares = ((X - m - z @ A.T) ** 2).sum(axis=0)
        numpyro.factor("table", 0.5 * (n * jnp.log(t).sum() - t @ squares))
        numpyro.factor("labels", log_ndtr(sign * (z @ beta + c)).sum())


def compiled(kernel, length, state):
    """So many steps of a kernel, which leave the state, positions, leaps and divergences."""

    def step(state, _):
        state = kernel.sample(state, (), {})
        return state, (state.z, state.num_steps, state.diverging)

    return jax.jit(lambda first: jax.lax.scan(step, first, length=length)).lower(state).compile()


def nuts(X, y, integrated, given):
    """Decisions (chains, draws, samples), seconds of warm-up and of draws, and a remark."""
    jax.config.update("jax_enable_x64", given.precision == 64)
    scaled, sign = jnp.asarray((X - X.mean(axis=0)) / X.std(axis=0)), jnp.asarray(2.0 * y - 1)
    key = jax.random.PRNGKey(given.seed)

    def model():
        probit_factors(scaled, sign, given.factors, integrated)

    kernel = NUTS(model, target_accept_prob=given.accept)
    found, spent, leaps, diverging = [], np.zeros(2), [], 0
    warm_up = draw = None
    for one in jax.random.split(key, CHAINS):
        state = kernel.init(one, given.warm_up, None, (), {})
        if warm_up is None:
            warm_up = compiled(kernel, given.warm_up, state)
            draw = compiled(kernel, given.nuts_draws, state)
        marks = [time.process_time()]
        for run in (warm_up, draw):
            state, (z, steps, bad) = jax.block_until_ready(run(state))
            marks.append(time.process_time())
        spent += np.diff(marks)
        found.append(jax.vmap(kernel.postprocess_fn((), {}))(z)["decision"])
        leaps.append(float(steps.mean()))
        diverging += int(bad.sum())
    note = f"{np.mean(leaps):.0f} leaps a draw, {diverging} divergences"
    return np.array(found, float), *spent, note


def apart(one, other):
    """Differences of means and of standard deviations (samples,), in their standard errors."""

    def moments(draws):
        mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
        return mean, mcse_mean(draws), sd, mcse_mean((draws - mean) ** 2) / (2 * sd)

    (m, dm, s, ds), (n, dn, r, dr) = moments(one), moments(other)
    return (m - n) / np.hypot(dm, dn), (s - r) / np.hypot(ds, dr), np.abs(m - n) / r, s / r


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=160)
    parser.add_argument("--features", type=int, default=60)
    parser.add_argument("--factors", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=5000, help="of a chain, Gibbs")
    parser.add_argument("--burn-in", type=int, default=500)
    parser.add_argument("--nuts-draws", type=int, default=1000, help="of a chain")
    parser.add_argument("--warm-up", type=int, default=500)
    parser.add_argument("--accept", type=float, default=0.8, help="acceptance that NUTS aims at")
    parser.add_argument("--precision", type=int, default=32, choices=(32, 64), help="bits of NUTS")
    parser.add_argument("--ways", default=",".join(WAYS), help="of NUTS")
    parser.add_argument("--save", help="file (.npz) for the decisions")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    X, y = simulated(given.samples, given.features, given.factors, given.seed)
    short = argparse.Namespace(**{**vars(given), "draws": 4, "burn_in": 2})
    gibbs(X, y, short)  # so that compiled code is loaded

    print(f"{given.samples} samples, {given.features} features, seed {given.seed}\n")
    print("| program | draws | seconds: warm-up, draws | R-hat | ESS: least, median ", end="")
    print("| least ESS a second: of all, of draws | Gibbs is faster by |\n" + "|---" * 7 + "|")
    first, results, notes = None, {}, []
    for way in (None, *given.ways.split(",")):
        name = "rankfactor, Gibbs" if way is None else f"NumPyro, NUTS, {way}"
        if way is None:
            draws, before, during = gibbs(X, y, given)
        else:
            draws, before, during, note = nuts(X, y, WAYS[way], given)
            notes.append(f"{name}: {note}")
        results[name], ess = draws, ess_bulk(draws)
        rates = np.array([ess.min() / (before + during), ess.min() / during])
        first = rates if first is None else first
        ratio = "" if way is None else "{:.3g}, {:.3g}".format(*first / rates)
        print(
            f"| {name} | {CHAINS} x {draws.shape[1]} | {before:.1f}, {during:.1f} "
            f"| {r_hat(draws).max():.3f} | {ess.min():.0f}, {np.median(ess):.0f} "
            f"| {rates[0]:.3g}, {rates[1]:.3g} | {ratio} |",
            flush=True,
        )
    print(*["", *notes, ""], sep="\n")
    (_, reference), *others = results.items()
    for name, draws in others:
        mean, sd, shift, ratio = apart(draws, reference)
        print(
            f"{name}, against Gibbs: means within {np.abs(mean).max():.1f} standard errors "
            f"({shift.max():.2f} sd), sd within {np.abs(sd).max():.1f} "
            f"(ratios {ratio.min():.2f} to {ratio.max():.2f})"
        )
    if given.save:
        np.savez(given.save, **results)


if __name__ == "__main__":
    main()
