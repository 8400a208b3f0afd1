"""Arrays of random numbers, for the sampler's innermost loops.

Element e of a key's noise is a pure function of (key, e): blocks, tiles and threads do not matter.
`rankfactor.kernels.rng` makes numbers one at a time; here the loops become vector instructions.

Words: Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2,
3", SC11), four words of 32 bits from a counter of 128 bits and a key of 64,

    (c0, c1, c2, c3) <- (hi(B c2) ^ c1 ^ k0, lo(B c2), hi(A c0) ^ c3 ^ k1, lo(A c0)),

ten times, the key being raised by a constant after each. It is a bijection of counters for every
key, and passes TestU01's BigCrush. The counter is (number of the pair of elements, purpose).

Noise of an inverse Gaussian draw: y = chi2_1 / 2 and a uniform s. By Box and Muller (1958), with R
standard exponential and an independent angle,

    y_0 = R cos^2 t,    y_1 = R sin^2 t

are independent and are halves of squared normals: one block of four words serves the elements 2 b
and 2 b + 1. Squares repeat after a quarter of a turn, up to exchange, so |t| < pi/4 and one bit
that says which of the two is the sine's; sin^2 is then at most 1/2 and cos^2 = 1 - sin^2 loses no
digits. R is minus the logarithm of (k + 1/2) 2^-32, taken by its distance from 0 or from 1,
whichever is nearer, so that R, y and s have errors of a few units of 1e-7 of themselves, however
small they are. None is ever 0, and s is never 1; y ends at 22.9, beyond which the law has a mass of
1.4e-11.

The draw: see `rankfactor.kernels.samplers` for the roots 1/T and T/u^2. The second is taken with
probability u / (u + T), written so that s decides by its fine end: for small u the second root is
rare and large, and carries the mean. In float32 a draw is off by a few units of 1e-7 of itself.
This is not visible in a million draws as long as it is far below the spread of the distribution,
u^(-1/2) of the mean: for u up to about 1e8.

Normals: sqrt(2 R) (cos t, sin t) in float64, 63 bits for R and 62 for the angle; up to 9.4 sigma.
Exponentials: two such R of a block of words; from 5e-20 to 44.4.

Nothing here is compiled with `fastmath`: sums, products, quotients and roots then follow IEEE 754,
and the scalar remainder of a loop, the vector code and other machines give the same bits.
"""

from typing import Any

import numpy as np
from numba import njit

from rankfactor.kernels import rng
from rankfactor.kernels.lanes import wide_vectors
from rankfactor.kernels.logs import INLINE, STRICT, coefficients, horner, log_of_parts, parts

_PHILOX_A, _PHILOX_B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_RAISE_0, _RAISE_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_ZERO, _BIT, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
# Third word of the counter: separates the purposes that share a key.
_FOR_DRAWS, _FOR_NORMALS, _FOR_EXPONENTIALS = np.uint64(0), np.uint64(1), np.uint64(2)

_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_P31, _P32 = np.float32(2.0**-31), np.float32(2.0**-32)
_BELOW_ONE = np.float32(1.0 - 2.0**-24)
# Bits of a float32: those of sqrt(1/2), what takes them to those of 1, the mantissa.
_ROOT, _RAISE, _MANTISSA = np.int32(0x3F3504F3), np.int32(0x004AFB0D), np.int32(0x007FFFFF)
_ROOT_MINUS_1 = np.sqrt(0.5) - 1.0
_NEAR_1 = np.float32(_ROOT_MINUS_1)
# log(1 + f) = f - f^2/2 + f^3 P(f) between sqrt(1/2) and sqrt(2), highest power first, and log 2 in
# two parts: Moshier's Cephes, logf.
_LOG = coefficients(
    """
    7.0376836292e-2 -1.1514610310e-1 1.1676998740e-1 -1.2420140846e-1 1.4249322787e-1
    -1.6668057665e-1 2.0000714765e-1 -2.4999993993e-1 3.3333331174e-1
    """,
    np.float32,
)
_LOG_2, _LOG_2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
# sin^2(pi z / 4) = z^2 P(z^2) for |z| <= 1: minimax fit, relative error 5e-8 once rounded.
_SINE_SQ = coefficients(
    """
    1.2019406413975361e-05 -4.59118460049271e-04 1.0431555157410148e-02 -1.2683473028440778e-01
    6.168502745779348e-01
    """,
    np.float32,
)
# Sine and cosine up to pi/4 in float64, from Sun's fdlibm (k_sin, k_cos).
_SINE = coefficients("""
    1.58969099521155010221e-10 -2.50507602534068634195e-08 2.75573137070700676789e-06
    -1.98412698298579493134e-04 8.33333333332248946124e-03 -1.66666666666666324348e-01
    """)
_COSINE = coefficients("""
    -1.13596475577881948265e-11 2.08757232129817482790e-09 -2.75573143513906633035e-07
    2.48015872894767294178e-05 -1.38888888888741095749e-03 4.16666666666666019037e-02
    """)
# Smaller u are raised to this, so that no draw can be infinite; the laws differ by a mass of 1e-9.
_SMALLEST = np.float32(1e-18)
# From here on both roots are 1/u to all digits of float32, which soon has no room for u^2.
_LARGEST = np.float32(1e18)


@njit(**INLINE)
def philox(c0, c1, c2, c3, key):  # type: ignore[no-untyped-def]
    """Philox4x32-10: four random words of 32 bits, in the low halves of integers of 64 bits.

    So is the counter. High halves are ignored, and those of the words mean nothing.
    """
    k0, k1 = key, key >> _S32
    for _ in range(_ROUNDS):
        # The vector instruction for this product ignores high halves: these masks cost nothing, and
        # no others are needed.
        a, b = _PHILOX_A * (c0 & _LOW), _PHILOX_B * (c2 & _LOW)
        c0, c1, c2, c3 = (b >> _S32) ^ c1 ^ k0, b, (a >> _S32) ^ c3 ^ k1, a
        k0, k1 = k0 + _RAISE_0, k1 + _RAISE_1
    return c0, c1, c2, c3


@njit(**INLINE)
def _signed(word):  # type: ignore[no-untyped-def]
    """The low half of a word as a signed integer."""
    return np.int32(np.uint32(word))


@njit(**INLINE)
def _exponential(word):  # type: ignore[no-untyped-def]
    """Exponential of mean 1 in float32 from 32 bits: minus the logarithm of p = (k + 1/2) 2^-32."""
    i = _signed(word)
    high = i < np.int32(0)  # p > 1/2
    v = np.float32((np.float32(i) + _HALF) * _P32)  # p, or p - 1 where p is high
    # p = 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2): by the bits of p, or directly.
    raised = np.int32(np.float32(v).view(np.int32) + _RAISE)
    e = np.float32(np.int32(np.int32(raised >> np.int32(23)) - np.int32(127)))
    f = np.int32((raised & _MANTISSA) + _ROOT).view(np.float32) - _ONE
    near = v >= _NEAR_1
    e = (np.float32(0.0) if near else -_ONE) if high else e
    f = (v if near else (v + v) + _ONE) if high else f
    top = horner(_LOG, f) * f - _HALF
    return -(((top * (f * f) + f) + e * _LOG_2_REST) + e * _LOG_2)


@njit(**INLINE)
def _uniform(word):  # type: ignore[no-untyped-def]
    """Uniform in float32 on the open interval, from 31 bits; fine near 0."""
    k = np.int32(np.uint32(word) >> np.uint32(1))
    s = (np.float32(k) + _HALF) * _P31
    return s if s < _BELOW_ONE else _BELOW_ONE


@njit(**INLINE)
def _halved_squares(word, turn):  # type: ignore[no-untyped-def]
    """Two halves of squared normals from two words."""
    R = _exponential(word)
    i = _signed(turn)
    z = (np.float32(i) + _HALF) * _P31  # 4 t / pi
    z *= z
    P = horner(_SINE_SQ, z)  # sin^2 t = z P
    sine = (R * z) * P
    cosine = R * (_ONE - z * P)
    swap = i < np.int32(0)
    return (sine if swap else cosine), (cosine if swap else sine)


@njit(**INLINE)
def _noise_pair(key, pair):  # type: ignore[no-untyped-def]
    """Noise y and s of the elements 2 pair and 2 pair + 1."""
    w0, w1, w2, w3 = philox(pair, pair >> _S32, _FOR_DRAWS, _ZERO, key)
    y0, y1 = _halved_squares(w0, w1)
    return y0, y1, _uniform(w2), _uniform(w3)


# Words first, in the places of what is made of them: their products take 64 bits, and in one loop
# with those all else would have half as many lanes as it can.
@njit(**INLINE)
def _fill_words(key, pair, y, s):  # type: ignore[no-untyped-def]
    """Words of the pairs from ``pair`` on, in the places of y and s (float32)."""
    y_words, s_words = y.view(np.uint32), s.view(np.uint32)
    for b in range(y.size // 2):
        place = pair + np.uint64(b)
        w0, w1, w2, w3 = philox(place, place >> _S32, _FOR_DRAWS, _ZERO, key)
        y_words[2 * b] = np.uint32(w0)
        y_words[2 * b + 1] = np.uint32(w1)
        s_words[2 * b] = np.uint32(w2)
        s_words[2 * b + 1] = np.uint32(w3)


@njit(**INLINE)
def _shape_words(y, s):  # type: ignore[no-untyped-def]
    """Noise in place of the words of whole pairs."""
    wide_vectors()
    y_words, s_words = y.view(np.uint32), s.view(np.uint32)
    for b in range(y.size // 2):
        y0, y1 = _halved_squares(y_words[2 * b], y_words[2 * b + 1])
        y[2 * b] = y0
        y[2 * b + 1] = y1
    for m in range(s.size):
        s[m] = _uniform(s_words[m])


@njit(**INLINE)
def _pairs(first, n):  # type: ignore[no-untyped-def]
    """Elements before the first whole pair (one where first is odd), that pair, how many pairs."""
    start = np.uint64(first)
    skip = np.int64(start & _BIT) if n > 0 else 0
    return skip, (start + _BIT) // _TWO, (n - skip) // 2


@njit(**STRICT)
def fill_noise(key, first, y, s):  # type: ignore[no-untyped-def]
    """Noise of the elements first, first + 1, ... of a key, in float32 arrays of shape (n,).

    y becomes halves of squared standard normals, s uniforms on (0, 1).
    """
    key, n = np.uint64(key), y.size
    skip, pair, whole = _pairs(first, n)
    if skip:
        _, y[0], _, s[0] = _noise_pair(key, pair - _BIT)
    y_pairs, s_pairs = y[skip : skip + 2 * whole], s[skip : skip + 2 * whole]
    _fill_words(key, pair, y_pairs, s_pairs)
    _shape_words(y_pairs, s_pairs)
    if skip + 2 * whole < n:
        y[n - 1], _, s[n - 1], _ = _noise_pair(key, pair + np.uint64(whole))


@njit(**STRICT)
def fill_noise_rows(key, first, y, s):  # type: ignore[no-untyped-def]
    """`fill_noise` of the elements 0, 1, ... of the items first, first + 1, ..., row by row.

    y and s are of shape (rows, n), n even.
    """
    for j in range(len(y)):
        _fill_words(rng.derive(key, first + j), _ZERO, y[j], s[j])
    _shape_words(y.reshape(-1), s.reshape(-1))


@njit(**INLINE)
def inverse_gaussian_from(u, y, s):  # type: ignore[no-untyped-def]
    """Inverse Gaussian draw of mean 1/u and shape 1, u >= 0, from the noise y and s.

    Of float32 arguments a float32. There is no branch, so that the caller's loop can become vector
    instructions. Infinite u give 0; NaN gives NaN.
    """
    u = _SMALLEST if u < _SMALLEST else u  # this way round a NaN stays one
    T = u + y + np.sqrt(y * (y + (u + u)))
    far = (s * (u + T) < u) & (u < _LARGEST)
    return (T if far else _ONE) / (u * u if far else T)  # one quotient, whichever it is


@njit(**INLINE)
def _exponential_64(word, finer):  # type: ignore[no-untyped-def]
    """Exponential of mean 1 in float64 from 63 bits, as `_exponential`."""
    i = _signed(word)
    high = i < np.int32(0)
    rest = (np.float64(np.int32(np.uint32(finer) >> np.uint32(1))) + 0.5) * 2.0**-31
    v = np.float64((np.float64(i) + rest) * 2.0**-32)
    e, f = parts(v)
    near = v >= _ROOT_MINUS_1
    e = (np.float64(0.0) if near else np.float64(-1.0)) if high else e
    f = (v if near else (v + v) + 1.0) if high else f
    return -log_of_parts(e, f)


@njit(**INLINE)
def _normal_pair(key, pair):  # type: ignore[no-untyped-def]
    """Standard normals of the elements 2 pair and 2 pair + 1."""
    w0, w1, w2, w3 = philox(pair, pair >> _S32, _FOR_NORMALS, _ZERO, key)
    r = np.sqrt(2.0 * _exponential_64(w0, w1))
    bits = np.uint32(w3)
    rest = (np.float64(np.int32(bits >> np.uint32(2))) + 0.5) * 2.0**-30
    t = (np.float64(_signed(w2)) + rest) * (2.0**-31 * np.pi / 4.0)
    z = t * t
    sine = r * (t + t * z * horner(_SINE, z))
    cosine = r * (1.0 - 0.5 * z + z * z * horner(_COSINE, z))
    # Two bits for the quarter of the turn.
    cosine = -cosine if bits & np.uint32(1) else cosine
    swap = (bits & np.uint32(2)) != np.uint32(0)
    return (sine if swap else cosine), (cosine if swap else sine)


@njit(**INLINE)
def _exponential_pair(key, pair):  # type: ignore[no-untyped-def]
    """Exponentials of mean 1 of the elements 2 pair and 2 pair + 1."""
    w0, w1, w2, w3 = philox(pair, pair >> _S32, _FOR_EXPONENTIALS, _ZERO, key)
    return _exponential_64(w0, w1), _exponential_64(w2, w3)


@njit(**INLINE)
def _pair(key, pair, normals):  # type: ignore[no-untyped-def]
    return _normal_pair(key, pair) if normals else _exponential_pair(key, pair)


def _compile(normals: bool) -> Any:
    """The kernel that fills an array with normals, or with exponentials.

    Of a truth value numba can keep what it compiled; not of a function that is passed in.
    """

    @njit(**STRICT)
    def fill(key, first, out):  # type: ignore[no-untyped-def]
        """Numbers of the elements first, first + 1, ... of a key, in a float64 array (n,)."""
        wide_vectors()
        key, n = np.uint64(key), out.size
        skip, pair, whole = _pairs(first, n)
        if skip:
            _, out[0] = _pair(key, pair - _BIT, normals)
        pairs = out[skip:]
        for b in range(whole):
            even, odd = _pair(key, pair + np.uint64(b), normals)
            pairs[2 * b] = even
            pairs[2 * b + 1] = odd
        if skip + 2 * whole < n:
            out[n - 1], _ = _pair(key, pair + np.uint64(whole), normals)

    return fill


fill_normal = _compile(normals=True)
fill_exponential = _compile(normals=False)
