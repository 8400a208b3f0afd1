"""Words of the page for how sure a number is: each stands here once."""

from __future__ import annotations

# A standard deviation over half-sample fits or draws, and the interval of two of them: no interval
# whose coverage has been shown is called one.
SPREAD = "Spread (sd)"
NOT_ASSESSED = "Stability not assessed"
