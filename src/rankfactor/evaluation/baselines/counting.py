"""Tables as counts, for Poisson factor analysis: one rule, learned from training samples.

Rules for the known training values:

1. **counts**: non-negative whole numbers are used unchanged (RNA-seq, digits 0 to 255, scores);
2. **round**: non-negative numbers with a maximum above 100 are intensities, rounded to the nearest
   integer as in the paper; values on a log scale do not reach 100;
3. **range**: anything else, such as USPS in [-1, 1], a log scale or measurements below zero, is
   taken from the training range of its feature to 0, 1, ..., 255.

New samples are treated alike: values below zero become 0, and under "range" values above the
training range become 255. A feature that is constant in training becomes 0 under "range".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from rankfactor.errors import InputError
from rankfactor.typing import Floats

RULES = ("auto", "counts", "round", "range")
INTENSITY = 100.0  # log-scale values do not exceed it
LEVELS = 255.0
# Integers are exact in float64 up to 2^53, and sums over a table must be exact.
LARGEST = 1e12


@dataclass(frozen=True)
class CountScale:
    """Conversion of values to counts."""

    rule: str  # "counts", "round" or "range"
    # (D,) start of a feature's range and size of one count, for "range"; empty otherwise
    low: Floats
    step: Floats

    @classmethod
    def learn(cls, values: Floats, rule: str = "auto") -> Self:
        """Learn the rule from training values (N, D); NaN = missing."""
        if rule not in RULES:
            raise InputError(f"scale must be one of {', '.join(RULES)}, not {rule!r}.")
        known = values[~np.isnan(values)]
        if rule == "auto":
            rule = _rule_of(known)
        elif rule != "range" and known.size and known.min() < 0:
            raise InputError(
                f"scale={rule!r} is for values of at least 0, but the table has {known.min():g}: "
                "use scale='range'."
            )
        if rule != "range":
            if known.size and known.max() > LARGEST:
                raise InputError(
                    f"the table has {known.max():g}, too large to be a count: divide the table by "
                    "a common number, or use scale='range'."
                )
            return cls(rule, np.empty(0), np.empty(0))
        # Features without a value have infinite ends and are missing everywhere.
        low = np.fmin.reduce(values, axis=0, initial=np.inf)
        high = np.fmax.reduce(values, axis=0, initial=-np.inf)
        varies = high > low
        return cls(
            rule, np.where(varies, low, 0.0), np.where(varies, (high - low) / LEVELS, np.inf)
        )

    def apply(self, values: Floats) -> Floats:
        """Counts of values (N, D), whole numbers as floats; NaN = missing."""
        if self.rule == "range":
            with np.errstate(invalid="ignore"):
                return np.clip(np.rint((values - self.low) / self.step), 0.0, LEVELS)
        return np.clip(np.rint(values), 0.0, LARGEST)


def _rule_of(known: Floats) -> str:
    if known.size and known.min() >= 0:
        if known.max() <= LARGEST and (known == np.rint(known)).all():
            return "counts"
        if INTENSITY < known.max() <= LARGEST:
            return "round"
    return "range"
