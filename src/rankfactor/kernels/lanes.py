"""Rows of lanes as vectors of the processor: the innermost step of many systems side by side.

An array of lanes has one row for every number of a small system and one column for every system, as
many as go into ``WIDTH`` bytes. Cholesky factors, their inverses and the products of these need

    out[c] = (out[c] - sum_t left[a + t] * right[b + t]) * scale[s]

and nothing else, whole rows at a time. A loop over lanes would read and write ``out[c]`` in every
term, and first look whether ``out[c]`` is one of the rows it is made of. So the loop over t is
spelled out in the compiler's own language, where a row is one value and the sum stays in registers:
K x K systems, K = 20, take 0.37 us each in place of 1.0.

Besides, the compiler is told where the widest vectors of a processor pay (`wide_vectors`).
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

cgutils: Any = _cgutils
# Bytes of a row of lanes: half or twice as many are slower by a quarter to a half.
WIDTH = 128
# A product and the difference it goes into may be rounded once.
_FUSED = ("contract",)


def _reduce_row(typing, out, c, left, a, right, b, count, scale, s):  # type: ignore[no-untyped-def]
    """``out[c] = (out[c] - (left[a : a + count] * right[b : b + count]).sum(0)) * scale[s]``.

    All arrays are of one type and have rows of ``WIDTH`` bytes without gaps; rows are not checked.
    Terms are subtracted one after the other.
    """
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

    By default the compiler stays at 256. Long polynomials gain: shaping noise takes 0.65 ns in
    place of 1.0. Results are the same, since those who call this are compiled without `fastmath`.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # llvmlite itself has names for attributes without a value only. It is a hint, no more.
        if isinstance(builder.function.attributes, set):
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


reduce_row: Any = intrinsic(_reduce_row)
wide_vectors: Any = intrinsic(_wide_vectors)
