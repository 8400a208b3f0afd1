r"""Sums of arrays that do not depend on the order of their terms.

Rounding makes ``(a + b) + c`` differ from ``a + (b + c)``, so a fit would depend on how samples are
distributed among workers. A total is kept as a high and a low part, and every addition is exact
(Knuth's two-sum):

    s = fl(a + b),     b' = s - a,     e = (a - (s - b')) + (b - b'),     s + e = a + b.

The low part collects the errors e; its own rounding is 1e-16 of them, or 1e-32 of the total.
Two orders of the same terms therefore round to the same double, except for ties of that size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats


class Totals:
    """Sums of named arrays, in twice the working precision."""

    def __init__(self) -> None:
        self._high: dict[str, Floats] = {}
        self._low: dict[str, Floats] = {}

    def add(self, terms: Mapping[str, Any]) -> None:
        """Add named arrays or numbers."""
        for name, term in terms.items():
            self._add(name, term)

    def add_in_turn(self, parts: Sequence[Mapping[str, Any]], pool: Workers) -> None:
        """Add several sets of the same names, in their order; threads share the names."""

        def add(names: Sequence[str]) -> None:
            for name in names:
                for part in parts:
                    self._add(name, part[name])

        names = list(parts[0])
        pool.map(add, [names[one :: pool.count] for one in range(pool.count)])

    def merge(self, other: Totals) -> None:
        """Add other sums."""
        for name, high in other._high.items():
            self._add(name, high)
            self._low[name] = self._low[name] + other._low[name]

    def _add(self, name: str, term: Any) -> None:
        if name not in self._high:
            term = np.array(term, np.float64)
            self._high[name], self._low[name] = term, np.zeros_like(term)
            return
        term, high = np.asarray(term, np.float64), self._high[name]
        total = high + term
        back = total - high
        self._low[name] += (high - (total - back)) + (term - back)
        self._high[name] = total

    def release(self) -> dict[str, Floats]:
        """The sums; their two parts are released one by one."""
        return {name: self._high.pop(name) + self._low.pop(name) for name in list(self._high)}

    @property
    def nbytes(self) -> int:
        """Bytes of both parts, as sent between workers."""
        return 2 * sum(high.nbytes for high in self._high.values())
