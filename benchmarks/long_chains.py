"""Why one long chain cannot test the horseshoe's laws: six chains of the joint test of Geweke.

    PYTHONPATH=. .venv/bin/python benchmarks/long_chains.py [SWEEPS]

Each chain starts at a draw from the prior and draws its data anew before every sweep (the model of
tests/engine/test_geweke.py). First table: z-scores of the chains' means against the prior, one
chain at a time with errors from 100 batches, then all chains with the error across chains. Second
table: how far one sweep changes log(size of w), by the size of w. 50,000 sweeps take 100 s a chain.
"""

import sys

import numpy as np
from tests.engine import test_geweke as joint

from rankfactor.kernels.rng import Stream

PARTS = joint.RIGHT["horseshoe"]
CHAINS, BATCHES, DRAWS, STARTS = 6, 100, 20_000, 4000
SHOWN = ("data: log |a|", "data: log xi", "data: log phi", "data: log top", "labels: log |a|")
SHOWN += ("labels: log top", "z squared")


def chain(seed, sweeps):
    """Batch means of the functions along one chain, by name."""
    rng = np.random.default_rng(seed)
    state, sweep = joint.draw_state(rng, PARTS), joint.sampler(PARTS, Stream.from_seed(seed))
    batches = []
    for _ in range(BATCHES):
        states = []
        for _ in range(sweeps // BATCHES):
            joint.draw_data(rng, state)
            state = sweep(state)
            states.append(joint.snapshot(state))
        batches.append({k: v.mean() for k, v in joint.functions(states).items()})
    return {name: np.array([batch[name] for batch in batches]) for name in batches[0]}


def size(state):
    """Root mean square of w by feature."""
    w = state.data.state.rows.mean[:, : joint.K] @ state.z.mean.T
    return np.sqrt((w**2).mean(axis=1))


def main() -> None:
    sweeps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    rng = np.random.default_rng(7)
    prior = joint.functions([joint.snapshot(joint.draw_state(rng, PARTS)) for _ in range(DRAWS)])
    chains = [chain(1000 + number, sweeps) for number in range(CHAINS)]
    print("| function | " + " | ".join(f"chain {n + 1}" for n in range(CHAINS)) + " | all |")
    print("|---" * (CHAINS + 2) + "|")
    for name in SHOWN:
        right, error = prior[name].mean(), prior[name].std() / DRAWS**0.5
        means = np.array([one[name].mean() for one in chains])
        own = np.array([one[name].std(ddof=1) for one in chains]) / BATCHES**0.5
        single = (means - right) / np.hypot(own, error)
        across = (means.mean() - right) / np.hypot(means.std(ddof=1) / CHAINS**0.5, error)
        print(f"| {name} | " + " | ".join(f"{z:.1f}" for z in single) + f" | {across:.1f} |")

    rng, sweep = np.random.default_rng(5), joint.sampler(PARTS, Stream.from_seed(5))
    pairs = []
    for _ in range(STARTS):
        state = joint.draw_state(rng, PARTS)
        pairs.append((size(state), size(sweep(state))))
    before, after = np.array(pairs).swapaxes(0, 1).reshape(2, -1)
    print("\n| size of w, M | share of features above M | median change of log(size) |")
    print("|---|---|---|")
    for power in range(-1, 5):
        here = (before >= 10.0**power) & (before < 10.0 ** (power + 1))
        change = np.median(np.abs(np.log(after / before))[here])
        print(f"| {10.0**power:g} | {(before > 10.0**power).mean():.5f} | {change:.2g} |")


if __name__ == "__main__":
    main()
