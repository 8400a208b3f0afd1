"""What the machine can do, and what an iteration asks of it.

Of an iteration at N x d, K factors, J cuts, P = K (K + 1) / 2, for an entry of the table:

    2 K                w = a . z
    2 P + 2 P          Var(w) = <E aa', C_z> + <C_a, E z E z'>   (Gibbs: none)
    2 P + 2 K          sums over samples for the rows, of tau E zz' and rho E z
    2 P + 2 K          sums over rows for the samples, of tau E aa' and rho E a
    14 J               the sites

All but the last are matrix products. Bytes are those of the codes, one an entry: the tiles of
floats stay in the cache. The K x K systems, about (N + d) K^3, are left out.
"""

import json
import os
import subprocess
import sys

CODE = """
import json, sys, time
import numpy as np
rng = np.random.default_rng(0)
size, length, repeats = (int(value) for value in sys.argv[1:])
A = rng.standard_normal((size, size)).astype(np.float32)
B, C = A.T.copy(), np.empty_like(A)
x = np.ones(length); y = np.ones(length); z = np.empty(length)
gemm, stream = [], []
for _ in range(repeats):
    begin = time.perf_counter(); np.matmul(A, B, out=C); gemm.append(time.perf_counter() - begin)
    begin = time.perf_counter(); np.add(x, y, out=z); stream.append(time.perf_counter() - begin)
print(json.dumps({"gflops": 2e-9 * size**3 / min(gemm), "gb_s": 24e-9 * length / min(stream)}))
"""


def peaks(threads, quick):
    """Measured sgemm GFLOP/s and bandwidth in GB/s (three arrays of doubles, one thread).

    NumPy's addition runs on one thread, so the bandwidth is that of one.
    """
    size, length, repeats = (256, 10**5, 2) if quick else (2048, 4 * 10**7, 8)
    limits = ("OMP", "OPENBLAS", "MKL")
    environment = {**os.environ, **{f"{name}_NUM_THREADS": str(threads) for name in limits}}
    command = [sys.executable, "-c", CODE, str(size), str(length), str(repeats)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(run.stdout)


def work(n, d, n_factors=20, cuts=8, gibbs=False):
    """Flops of matrix products, all flops, and bytes of codes, of one iteration."""
    packed = n_factors * (n_factors + 1) // 2
    variance = 0 if gibbs else 4 * packed
    products = n * d * (2 * n_factors + variance + 2 * (2 * packed + 2 * n_factors))
    return {
        "gemm_flops": products,
        "flops": products + 14 * cuts * n * d,
        "bytes": n * d,
    }
