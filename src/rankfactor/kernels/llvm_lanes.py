"""`rankfactor.kernels.lanes` in the compiler's own language, where a row of lanes is one value.

The sum over t then stays in registers: K x K systems, K = 20, take 0.37 us each instead of 1.0. It
uses numba's internals, which may change; the plain versions do the same without them.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

cgutils: Any = _cgutils
WIDTH = 128  # bytes of a row of lanes
# A product and the difference it goes into may be rounded once.
_FUSED = ("contract",)


def _reduce_row(typing, out, c, left, a, right, b, count, scale, s):  # type: ignore[no-untyped-def]
    """`rankfactor.kernels.lanes.plain_reduce_row`, of rows of ``WIDTH`` bytes without gaps."""
    index = types.intp
    signature = types.void(out, index, left, index, right, index, index, scale, index)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_value_type(out.dtype)
        size = context.get_abi_sizeof(number)
        row = ir.VectorType(number, WIDTH // size)

        def place(array: int, first: Any) -> Any:
            """Pointer to a row of one of the arguments."""
            data = context.make_array(signature.args[array])(context, builder, args[array]).data
            return builder.gep(builder.bitcast(data, row.as_pointer()), [first])

        def load(pointer: Any, step: Any) -> Any:
            return builder.load(builder.gep(pointer, [step]), align=size)

        target, first, second = place(0, args[1]), place(2, args[3]), place(4, args[5])
        total = cgutils.alloca_once_value(builder, builder.load(target, align=size))
        with cgutils.for_range(builder, args[6]) as loop:
            term = builder.fmul(load(first, loop.index), load(second, loop.index), flags=_FUSED)
            builder.store(builder.fsub(builder.load(total), term, flags=_FUSED), total)
        factor = builder.load(place(7, args[8]), align=size)
        builder.store(builder.fmul(builder.load(total), factor), target, align=size)
        return context.get_dummy_value()

    return signature, generate


def _wide_vectors(typing):  # type: ignore[no-untyped-def]
    """Ask for vectors of 512 bits in the loops of the function that calls this, if there are such.

    By default the compiler stays at 256. Long polynomials gain: shaping noise takes 0.65 ns instead
    of 1.0. Results are the same, since callers are compiled without `fastmath`.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # llvmlite only supports attributes without a value. It is only a hint.
        if isinstance(builder.function.attributes, set):
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


reduce_row: Any = intrinsic(_reduce_row)
wide_vectors: Any = intrinsic(_wide_vectors)


@njit(cache=True, nogil=True)
def _use_both(rows):  # type: ignore[no-untyped-def]
    """``rows[0] = (rows[0] - rows[1] * rows[1]) * rows[1]`` of two rows."""
    wide_vectors()
    reduce_row(rows, 0, rows, 1, rows, 1, 1, rows, 1)


def probe() -> bool:
    """Whether both compile and compute."""
    rows = np.full((2, WIDTH // 8), 2.0)
    _use_both(rows)
    return bool((rows[0] == -4.0).all() and (rows[1] == 2.0).all())
