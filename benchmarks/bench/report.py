"""Markdown from the results: tables that docs/results/performance.md includes between two marks."""

from benchmarks.bench.contestants import CONTESTANTS
from benchmarks.bench.roofline import work

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
RIVALS = {
    "rankfactor VB": ("mofapy2, ELBO off", "mofapy2, default", "FactorAnalysis"),
    "rankfactor Gibbs": ("SMURFF normal", "SMURFF spike-and-slab"),
}
WORDS = {"n": "samples N", "d": "features d", "n_factors": "factors K", "max_cuts": "cuts"}


def number(value, digits=3):
    """So many significant digits, without an exponent."""
    if value is None:
        return "-"
    places = max(0, digits - 1 - int(f"{value:.{digits - 1}e}".split("e")[1]))
    return f"{value:.{places}f}"


def markdown(results):
    """All tables, for the results that there are."""
    parts = [_head(results)]
    if results.get("shapes"):
        parts += [_iterations(results), _ratios(results), _fits(results), _memory(results)]
        parts += [_roofline(results)]
    if "scaling" in results:
        parts.append(_scaling(results["scaling"]))
    if "instructions" in results:
        parts.append(
            f"Instructions of a small fit under callgrind: {results['instructions']:,}."
            if results["instructions"]
            else "Instructions: skipped, valgrind is not installed."
        )
    if "waiting" in results:
        parts.append(_waiting(results["waiting"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def include(page, text):
    """The page with the text between the marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + text + END + rest.split(END)[1]


def _table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _runs(results):
    """Shape, number of threads, results by contestant."""
    for name, shape in results["shapes"].items():
        for threads, run in shape["threads"].items():
            yield name, shape, threads, run


def _head(results):
    peers = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    loads = [shape["load"] for shape in results.get("shapes", {}).values()]
    lines = [f"rankfactor {results['version']}; peers: {peers or 'none'}."]
    if results["skipped"]:
        lines.append("Skipped, since not installed: " + ", ".join(results["skipped"]) + ".")
    if loads:
        lines.append(
            f"{results['cores']} cores; load average at the end of each shape "
            f"{min(loads):.1f} to {max(loads):.1f}"
            + (" (more than this run makes: a busy machine)." if max(loads) > 2.2 else ".")
        )
    return " ".join(lines)


def _iterations(results):
    names = [name for name, (_, _, _, what) in CONTESTANTS.items() if "stretch" in what]
    rows = []
    for shape_name, shape, threads, run in _runs(results):
        cells = [number(run.get(name, {}).get("iteration_seconds")) for name in names]
        rows.append([shape_name, shape["table"], threads, *cells])
    title = "Seconds an iteration or sweep, K = 20, 8 cuts (least of the repeats):\n\n"
    return title + _table(["N x d", "table", "threads", *names], rows) + _failures(results)


def _failures(results):
    """A line for every contestant that ended without an answer."""
    found = {
        run[name]["failed"] for *_, run in _runs(results) for name in run if "failed" in run[name]
    }
    return "".join(f"\n\nNot measured: {message}" for message in sorted(found))


def _ratios(results):
    heads, rows = ["N x d", "threads"], []
    pairs = [(ours, rival) for ours, rivals in RIVALS.items() for rival in rivals]
    heads += [f"{ours.split()[1]} against {rival}" for ours, rival in pairs]
    heads.append("ELBO, extra %")
    for shape_name, shape, threads, run in _runs(results):
        cells = []
        for ours, rival in pairs:
            mine = run.get(ours, {}).get("iteration_seconds")
            theirs = _best(shape, rival, threads)
            cells.append(number(theirs / mine, 2) if mine and theirs else "-")
        share = run.get("rankfactor VB", {}).get("elbo_share")
        cells.append("-" if share is None else f"{100 * share:.1f}")
        rows.append([shape_name, threads, *cells])
    title = (
        "How many times faster, at the same number of threads (a peer that more threads make "
        "slower is taken with fewer):\n\n"
    )
    return title + _table(heads, rows)


def _best(shape, name, threads):
    """Least seconds an iteration of a contestant on at most so many threads, or None."""
    runs = [run for count, run in shape["threads"].items() if int(count) <= int(threads)]
    times = [run.get(name, {}).get("iteration_seconds") for run in runs]
    return min((value for value in times if value), default=None)


def _fits(results):
    names = [name for name, (_, _, _, what) in CONTESTANTS.items() if "fit" in what]
    rows = []
    for shape_name, _, threads, run in _runs(results):
        cells = []
        for name in names:
            one = run.get(name, {})
            cell = number(one.get("fit_seconds"))
            if one.get("iterations") is not None:
                cell += f" ({one['iterations']})"
            if one.get("converged") is False:
                cell += ", not converged"
            cells.append(cell)
        rows.append([shape_name, threads, *cells])
    title = "Seconds of a whole fit at default tolerance (iterations):\n\n"
    return title + _table(["N x d", "threads", *names], rows)


def _memory(results):
    names = [name for name, (_, _, _, what) in CONTESTANTS.items() if "memory" in what]
    rows = []
    for shape_name, shape, threads, run in _runs(results):
        peaks = [run.get(name, {}).get("peak_bytes") for name in names]
        cells = ["-" if peak is None else f"{peak / 1e6:.0f}" for peak in peaks]
        rows.append([shape_name, threads, f"{shape['n'] * shape['d'] / 1e6:.1f}", *cells])
    title = "Peak memory of a short fit in MB, above the process with its libraries and table:\n\n"
    return title + _table(["N x d", "threads", "codes", *names], rows)


def _roofline(results):
    if "peaks" not in results:
        return ""
    rows = []
    for shape_name, shape, threads, run in _runs(results):
        seconds = run.get("rankfactor VB", {}).get("iteration_seconds")
        if seconds is None or threads not in results["peaks"]:
            continue
        needs, peak = work(shape["n"], shape["d"]), results["peaks"][threads]
        speed = needs["gemm_flops"] / seconds / 1e9
        rows.append(
            [
                shape_name,
                threads,
                number(needs["gemm_flops"] / 1e9),
                number(needs["bytes"] / 1e6),
                number(speed),
                f"{100 * speed / peak['gflops']:.0f}",
                number(needs["bytes"] / seconds / 1e9, 2),
            ]
        )
    heads = ["N x d", "threads", "GFLOP", "MB of codes", "GFLOP/s", "% of GEMM peak", "GB/s"]
    lines = [
        f"{threads} thread(s): sgemm {peak['gflops']:.0f} GFLOP/s, "
        f"stream {peak['gb_s']:.1f} GB/s (one thread)."
        for threads, peak in results["peaks"].items()
    ]
    title = "Roofline of a VB iteration (matrix products only). Measured peaks: "
    return title + " ".join(lines) + "\n\n" + _table(heads, rows)


def _scaling(scaling):
    base = ", ".join(f"{WORDS[name]} = {value}" for name, value in scaling["base"].items())
    rows = []
    for engine, found in scaling["engines"].items():
        for what, one in found.items():
            pairs = zip(one["sizes"], one["seconds"], strict=True)
            seconds = ", ".join(f"{size}: {number(value)}" for size, value in pairs)
            rows.append([engine, WORDS[what], f"{one['slope']:.2f}", seconds])
    title = f"Growth of an iteration on one thread, from {base} (simulated):\n\n"
    heads = ["engine", "with", "slope (log-log)", "seconds at each size"]
    return title + _table(heads, rows)


def _waiting(waiting):
    rows = [[what, number(one["wall"]), number(one["cpu"])] for what, one in waiting.items()]
    title = "What a person waits for, 40 x 12 and a label column, whole processes, in seconds:\n\n"
    return title + _table(["command", "wall time", "processor time"], rows)
