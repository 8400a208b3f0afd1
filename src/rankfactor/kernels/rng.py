"""Counter-based random numbers: number c of item i is a pure function of (stream, i, c).

There is no state between draws, so results depend neither on the number of threads
nor on the tiling of features and samples. Three functions are used:

    mix(x)             64-bit finaliser: Stafford's variant 13 of MurmurHash3's, as used by
                       SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom
                       number generators", OOPSLA); a bijection of 64-bit words
    bits(key, c)       mix(key + (c + 1) g): output c of SplitMix64 seeded with the key, where
                       g = 2^64 / golden ratio
    derive(key, i)     mix(fmix(key ^ fmix(i + g))), fmix being MurmurHash3's own finaliser
                       (Appleby, public domain): a bijection of i for a fixed key and of the key for
                       a fixed i, so that keys collide only by the chance of 64-bit words

The index passes through a different finaliser before it meets the key. If it were added instead,
the items of two streams would be the same sequence, shifted.

A uniform is ``(k + 1/2) 2^-63`` with k of 63 bits: fine near 0, so that logarithms are right far
in the tail. A normal is the inverse of the distribution function at a uniform on (0, 1/2), by
Wichura's AS 241 (1988, relative error 1e-16), with the last bit for a sign: exact beyond 8 sigma on
both sides, one word per number, and a logarithm in three of twenty cases only.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_FMIX_1, _FMIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_ONE = np.uint64(1)
_S27, _S30, _S31, _S33 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(33)
_BELOW_ONE = 1.0 - 2.0**-53

_WORD = (1 << 64) - 1
# Keeps the keys of child streams apart from those of a stream's own items.
_CHILD = 0x6A09E667F3BCC909  # fractional part of sqrt(2)


@njit(cache=True, nogil=True)
def mix(word):  # type: ignore[no-untyped-def]
    """Scramble a 64-bit word: Stafford's variant 13."""
    word = (word ^ (word >> _S30)) * _MIX_1
    word = (word ^ (word >> _S27)) * _MIX_2
    return word ^ (word >> _S31)


@njit(cache=True, nogil=True)
def _fmix(word):  # type: ignore[no-untyped-def]
    """Scramble a 64-bit word: the finaliser of MurmurHash3."""
    word = (word ^ (word >> _S33)) * _FMIX_1
    word = (word ^ (word >> _S33)) * _FMIX_2
    return word ^ (word >> _S33)


# Arguments are cast in every function: numba would turn a sum of signed and unsigned integers into
# a float.
@njit(cache=True, nogil=True)
def derive(key, index):  # type: ignore[no-untyped-def]
    """Key of item ``index`` of the stream ``key``."""
    return mix(_fmix(np.uint64(key) ^ _fmix(np.uint64(index) + _GOLDEN)))


@njit(cache=True, nogil=True)
def bits(key, counter):  # type: ignore[no-untyped-def]
    """64 random bits: word ``counter`` of an item."""
    return mix(np.uint64(key) + (np.uint64(counter) + _ONE) * _GOLDEN)


@njit(cache=True, nogil=True)
def uniform(key, counter):  # type: ignore[no-untyped-def]
    """Uniform on the open interval: from 2^-64 to 1 - 2^-53."""
    # A signed integer is converted by one instruction, an unsigned one is not.
    u = (np.float64(np.int64(bits(key, counter) >> _ONE)) + 0.5) * 2.0**-63
    return min(u, _BELOW_ONE)


@njit(cache=True, nogil=True)
def fill_uniform(key, first, counter, out):  # type: ignore[no-untyped-def]
    """Uniforms of items ``first + i``, from word ``counter`` of each, into a flat array."""
    for i in range(out.size):
        out[i] = uniform(derive(key, first + i), counter)


@njit(cache=True, nogil=True)
def normal(key, counter):  # type: ignore[no-untyped-def]
    """Standard normal, from the one word ``counter``."""
    word = bits(key, counter)
    lower = (np.float64(np.int64(word >> _ONE)) + 0.5) * 2.0**-64
    z = _lower_quantile(lower)
    return z if word & _ONE else -z


@njit(cache=True, nogil=True, error_model="numpy")
def _lower_quantile(p):  # type: ignore[no-untyped-def]
    """Standard normal quantile of 0 < p <= 1/2, by AS 241 (PPND16)."""
    q = p - 0.5
    if q >= -0.425:
        r = 0.180625 - q * q
        top = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
        top = (top * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4
        top = (top * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3
        top = (top * r + 1.3314166789178437745e2) * r + 3.3871328727963666080e0
        low = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
        low = (low * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4
        low = (low * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2
        low = (low * r + 4.2313330701600911252e1) * r + 1.0
        return q * top / low
    r = np.sqrt(-np.log(p))
    if r <= 5.0:
        r -= 1.6
        top = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
        top = (top * r + 2.41780725177450611770e-1) * r + 1.27045825245236838258e0
        top = (top * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0
        top = (top * r + 4.63033784615654529590e0) * r + 1.42343711074968357734e0
        low = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
        low = (low * r + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1
        low = (low * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0
        low = (low * r + 2.05319162663775882187e0) * r + 1.0
        return -top / low
    r -= 5.0
    top = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
    top = (top * r + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2
    top = (top * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0
    top = (top * r + 5.46378491116411436990e0) * r + 6.65790464350110377720e0
    low = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
    low = (low * r + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4
    low = (low * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1
    low = (low * r + 5.99832206555887937690e-1) * r + 1.0
    return -top / low


# Child streams are derived in Python's integers: to call compiled code would take longer.
def _fmix_plain(word: int) -> int:
    """`_fmix` of a plain integer."""
    word = ((word ^ (word >> 33)) * 0xFF51AFD7ED558CCD) & _WORD
    word = ((word ^ (word >> 33)) * 0xC4CEB9FE1A85EC53) & _WORD
    return word ^ (word >> 33)


def _mix_plain(word: int) -> int:
    """`mix` of a plain integer."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


@lru_cache(maxsize=4096)
def _mixed(label: int | np.integer | str) -> int:
    """A label as `derive` lets it meet the key: 64 bits of a name, or the number itself."""
    if isinstance(label, str):  # Python's own hash differs from process to process
        digest = hashlib.blake2b(label.encode(), digest_size=8).digest()
        label = int.from_bytes(digest, "little")
    return _fmix_plain((int(label) + int(_GOLDEN)) & _WORD)


@dataclass(frozen=True)
class Stream:
    """A named source of random numbers; equal keys give equal numbers.

    Attributes
    ----------
    key : int
        64 bits. Item i of the stream, an array element or a row, has the key ``derive(key, i)``.
    """

    key: int

    @classmethod
    def from_seed(cls, seed: int | np.random.SeedSequence) -> Stream:
        """Stream of a seed; any two seeds give unrelated streams."""
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(int(seed))
        return cls(int(seed.generate_state(1, np.uint64)[0]))

    @property
    def word(self) -> np.uint64:
        """The key for compiled code: the type of an ``int`` would depend on its size."""
        return np.uint64(self.key)

    def child(self, *labels: int | np.integer | str) -> Stream:
        """Separate stream for a purpose, as in ``stream.child("rows", sweep, view)``.

        ``child(a, b)`` is ``child(a).child(b)``.
        """
        key = self.key
        for label in labels:
            key = _mix_plain(_fmix_plain(key ^ _CHILD ^ _mixed(label)))
        return Stream(key)
