"""`Validation`: where cross-validated numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Validation:
    """Where the cross-validated numbers of a report come from.

    Attributes
    ----------
    sentence : str
        Table, samples, folds and repeats, shown beside the numbers.
    settings : mapping
        Settings of the cross-validated models.
    flaws : tuple of str
        Sentences on what keeps the numbers from being those of the model: settings that differ,
        folds that are missing, what could not be checked.
    """

    sentence: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()
