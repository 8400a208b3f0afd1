"""Rotations of factors in one plane: the gain of a prior by an angle, and the rotation itself.

Rotating columns k and l of a row ``a`` by an angle t changes three of its second moments,

    E[a_k'^2] = c^2 S_kk + 2 c s S_kl + s^2 S_ll,    E[a_l'^2] = S_kk + S_ll - E[a_k'^2],

with c = cos t, s = sin t and S = E[a a^T]. A prior gives every entry a value ``g(unit E[a^2])``,
whose function g is tabulated: `TABLE_SIZE` points, 32 for each power of two. The table
is indexed by the bits of a number, exponent and leading digits giving the position and the others
the weight of the next position, so that no logarithm is needed; between points g is linear.

A sampler that rotates fixed rows needs the densities themselves: its table has 512 points for
each power of two, so that interpolation is off by less than 5e-7.
"""

import numpy as np
from numba import njit

from rankfactor.kernels.logs import INLINE, STRICT
from rankfactor.typing import Floats

_DIGITS = 5  # leading binary digits of a number that choose its place
_REST = np.int64(52 - _DIGITS)  # the other binary digits of its mantissa
_MASK, _SHARE = np.int64(2 ** (52 - _DIGITS) - 1), 2.0 ** (_DIGITS - 52)
# Numbers outside of this range count as its ends.
_LOWEST, _HIGHEST = 2.0**-70, 2.0**40


def _place(x: float) -> int:
    return int(np.float64(x).view(np.int64)) >> (52 - _DIGITS)


_FIRST = np.int64(_place(_LOWEST))
TABLE_SIZE = _place(_HIGHEST) - _place(_LOWEST) + 2


def table_points() -> Floats:
    """Where a table has its values, shape (TABLE_SIZE,)."""
    places = np.arange(TABLE_SIZE, dtype=np.int64) + _FIRST
    return np.asarray((places << _REST).view(np.float64))


# The same for tables of densities.
_FINE_DIGITS = 9
_FINE_REST = np.int64(52 - _FINE_DIGITS)
_FINE_MASK, _FINE_SHARE = np.int64(2 ** (52 - _FINE_DIGITS) - 1), 2.0 ** (_FINE_DIGITS - 52)
_FINE_FIRST = np.int64(int(np.float64(_LOWEST).view(np.int64)) >> (52 - _FINE_DIGITS))
_FINE_LAST = np.int64(int(np.float64(_HIGHEST).view(np.int64)) >> (52 - _FINE_DIGITS))


def fine_points() -> Floats:
    """Where a table of densities has its values, shape (points,)."""
    places = np.arange(_FINE_FIRST, _FINE_LAST + 2, dtype=np.int64)
    return np.asarray((places << _FINE_REST).view(np.float64))


@njit(**INLINE)
def _look_up(table, x):  # type: ignore[no-untyped-def]
    bits = np.float64(max(_LOWEST, min(x, _HIGHEST))).view(np.int64)
    place = (bits >> _REST) - _FIRST
    value = table[place]
    return value + np.float64(bits & _MASK) * _SHARE * (table[place + 1] - value)


# The order of a sum may change, so that it becomes vector instructions.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nnan", "nsz", "reassoc"})
def plane_values(kk, kl, ll, unit_k, unit_l, table, angles):  # type: ignore[no-untyped-def]
    """Sum over rows of both entries' values after a rotation, shape (angles,).

    ``kk``, ``kl`` and ``ll`` are second moments, and units those of the two columns, each of shape
    (rows,).
    """
    values = np.empty(len(angles))
    for a in range(len(angles)):
        c, s = np.cos(angles[a]), np.sin(angles[a])
        whole, both, other = c * c, 2.0 * c * s, s * s
        total = 0.0
        for i in range(len(kk)):
            first = whole * kk[i] + both * kl[i] + other * ll[i]
            second = (kk[i] + ll[i] - first) * unit_l[i]
            total += _look_up(table, first * unit_k[i]) + _look_up(table, second)
        values[a] = total
    return values


@njit(**STRICT)
def plane_log_density(k, l, unit_k, unit_l, table, angle):  # type: ignore[no-untyped-def]  # noqa: E741
    """Sum over rows of both entries' log densities after a rotation.

    ``k`` and ``l`` are the entries, and units those of the two columns, each of shape (rows,).
    """
    c, s = np.cos(angle), np.sin(angle)
    total = 0.0
    for i in range(len(k)):
        one, other = c * k[i] + s * l[i], c * l[i] - s * k[i]
        for x in (one * one * unit_k[i], other * other * unit_l[i]):
            bits = np.float64(max(_LOWEST, min(x, _HIGHEST))).view(np.int64)
            place = (bits >> _FINE_REST) - _FINE_FIRST
            value = table[place]
            total += value + np.float64(bits & _FINE_MASK) * _FINE_SHARE * (
                table[place + 1] - value
            )
    return total


@njit(**STRICT)
def plane_log_densities(k, l, unit_k, unit_l, table, angles):  # type: ignore[no-untyped-def]  # noqa: E741
    """`plane_log_density` at several angles, shape (angles,)."""
    values = np.empty(len(angles))
    for a in range(len(angles)):
        values[a] = plane_log_density(k, l, unit_k, unit_l, table, angles[a])
    return values


@njit(**STRICT)
def shear_log_density(k, l, unit, table, by):  # type: ignore[no-untyped-def]  # noqa: E741
    """Sum over rows of the log densities of ``l + by k``; entries and units (rows,)."""
    total = 0.0
    for i in range(len(k)):
        entry = l[i] + by * k[i]
        bits = np.float64(max(_LOWEST, min(entry * entry * unit[i], _HIGHEST))).view(np.int64)
        place = (bits >> _FINE_REST) - _FINE_FIRST
        value = table[place]
        total += value + np.float64(bits & _FINE_MASK) * _FINE_SHARE * (table[place + 1] - value)
    return total


@njit(**STRICT)
def turn_plane(second, place, k, l, angle):  # type: ignore[no-untyped-def]  # noqa: E741
    """Rotate packed second moments (P, rows) in the plane of factors k and l, in place.

    ``place`` (order, order) has the positions of all pairs.
    """
    c, s = np.cos(angle), np.sin(angle)
    n = second.shape[1]
    for m in range(len(place)):
        if m in (k, l):
            continue
        one, other = second[place[m, k]], second[place[m, l]]
        for i in range(n):
            x, y = one[i], other[i]
            one[i] = c * x + s * y
            other[i] = c * y - s * x
    own, between, other = second[place[k, k]], second[place[k, l]], second[place[l, l]]
    for i in range(n):
        x, y, both = own[i], other[i], between[i]
        own[i] = c * c * x + 2.0 * c * s * both + s * s * y
        other[i] = x + y - own[i]
        between[i] = (c * c - s * s) * both + c * s * (y - x)
