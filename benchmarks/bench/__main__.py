"""Time rankfactor beside its peers: `make bench`, or `python -m benchmarks.bench --quick`.

Results are kept in benchmarks/results/bench.json shape by shape, so that a run of some shapes
leaves the others as they were; bench.md and docs/results/performance.md are written from it.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

from benchmarks.bench import instructions, peers, report, roofline, scaling, waiting
from benchmarks.bench.contestants import CONTESTANTS
from benchmarks.bench.runner import measure_shape
from benchmarks.bench.tables import QUICK, SHAPES

from rankfactor.__about__ import __version__

RESULTS = peers.ROOT / "benchmarks" / "results"
PAGE = peers.ROOT / "docs" / "results" / "performance.md"
PARTS = ("shapes", "peaks", "scaling", "instructions", "waiting")


def tell(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tiny shape, once, no installing")
    parser.add_argument("--shapes", nargs="*", help='such as "767 x 256"; all if not given')
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of a repeat")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a whole fit")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--no-peers", action="store_true", help="rankfactor and scikit-learn only")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.repeats, chosen.budget, chosen.limit, chosen.threads = 1, 0.01, 5.0, [1]
        chosen.parts = [part for part in chosen.parts if part != "instructions"]
    return chosen


def pick_shapes(chosen):
    if chosen.quick:
        return QUICK
    known = {shape.name: shape for shape in SHAPES}
    unknown = set(chosen.shapes or ()) - set(known)
    if unknown:
        sys.exit(f"no shape {', '.join(sorted(unknown))}; there are: {', '.join(known)}.")
    return [known[name] for name in chosen.shapes or known]


def main():
    chosen = arguments()
    warnings.simplefilter("ignore")
    shapes = pick_shapes(chosen)
    if not (chosen.quick or chosen.no_peers):
        peers.install()
    found = {} if chosen.no_peers else peers.versions()
    names = [name for name, (_, _, peer, _) in CONTESTANTS.items() if peer is None or peer in found]
    path = chosen.results / "bench.json"
    old = json.loads(path.read_text("utf-8")) if path.exists() else {}
    results = {
        **old,
        "version": __version__,
        "cores": os.cpu_count(),
        "peers": found,
        "skipped": [peer for peer in peers.PEERS if peer not in found],
    }

    def save():
        chosen.results.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        text = report.markdown(results)
        (chosen.results / "bench.md").write_text(text, "utf-8")
        if chosen.results == RESULTS and PAGE.exists():
            PAGE.write_text(report.include(PAGE.read_text("utf-8"), text), "utf-8")

    if "peaks" in chosen.parts:
        results["peaks"] = {
            str(count): roofline.peaks(count, chosen.quick) for count in chosen.threads
        }
    if "shapes" in chosen.parts:
        settings = {"repeats": chosen.repeats, "budget": chosen.budget, "limit": chosen.limit}
        for shape in shapes:
            one = measure_shape(shape, names, chosen.threads, tell, **settings)
            before = results.get("shapes", {})
            if before.get(shape.name, {}).get("table") == one["table"]:
                one["threads"] = {**before[shape.name]["threads"], **one["threads"]}
            results["shapes"] = {**before, shape.name: one}
            save()
    if "scaling" in chosen.parts:
        results["scaling"] = scaling.measure(chosen.quick, chosen.repeats, chosen.budget, tell)
    if "instructions" in chosen.parts:
        results["instructions"] = instructions.count()
    if "waiting" in chosen.parts:
        results["waiting"] = waiting.measure(chosen.repeats, tell)
    save()


if __name__ == "__main__":
    main()
