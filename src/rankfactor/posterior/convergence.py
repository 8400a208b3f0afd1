"""`Convergence`: how a fit ended, and by which criterion."""

from __future__ import annotations

from dataclasses import dataclass

CONVERGED, NOT_CONVERGED, INTERRUPTED = "converged", "not converged", "interrupted"


@dataclass(frozen=True)
class Convergence:
    """How a fit ended; ``str`` gives the same words wherever it is shown.

    Attributes
    ----------
    state : {"converged", "not converged", "interrupted"}
        "interrupted": Ctrl-C ended the fit early.
    after : str
        Work done, such as "48 iterations".
    criterion : str
        The deciding number and its limit.
    advice : str
        Advice for a fit that has not converged.
    """

    state: str = NOT_CONVERGED
    after: str = ""
    criterion: str = ""
    advice: str = ""

    @property
    def converged(self) -> bool:
        """Whether the fit has converged."""
        return self.state == CONVERGED

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit early."""
        return self.state == INTERRUPTED

    def __str__(self) -> str:
        """Return state, work and criterion."""
        after = f" after {self.after}" if self.after else ""
        return f"{self.state}{after}" + (f": {self.criterion}" if self.criterion else "")

    @property
    def warning(self) -> str:
        """Words for a fit that has not converged, with advice."""
        kept = ["the fit so far is kept"] if self.interrupted else []
        return "; ".join([str(self), *kept, *([self.advice] if self.advice else [])]) + "."

    @property
    def sentence(self) -> str:
        """The same as a sentence about the fit."""
        return f"The fit {'was' if self.interrupted else 'has'} {self}."


UNDECIDED = Convergence()


def by_change(name: str, change: float, tol: float, after: str, advice: str = "") -> Convergence:
    """Decide by the relative change of an objective in the last step (NaN: unknown).

    Parameters
    ----------
    name : str
        The objective's name.
    change, tol : float
    after : str
        Work done.
    advice : str
        Advice if the change is too large.
    """
    change = abs(change)
    if change < tol:
        return Convergence(
            CONVERGED, after, f"the {name} had a relative change of {change:.1e}, below tol={tol:g}"
        )
    found = f"still had a relative change of {change:.1e} (should be below tol={tol:g})"
    if change != change:
        found = "has not been compared between two steps yet"
    return Convergence(NOT_CONVERGED, after, f"the {name} {found}", advice)
