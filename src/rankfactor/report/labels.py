"""Labels of the page for the uncertainty of a number, each defined once."""

from __future__ import annotations

# A standard deviation over half-sample fits or draws, and limits of two standard deviations. The
# page calls nothing an interval whose coverage has not been shown.
SPREAD = "Spread (sd)"
NOT_ASSESSED = "Stability not assessed"
