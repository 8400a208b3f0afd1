"""What every part of a model has: a name, words for a report, and a place in its family.

A part is a frozen dataclass of hyper-parameters. Its class belongs to a family (data likelihoods,
label likelihoods, shrinkage priors, priors of the scores). A class that states a `name` joins its
family when it is defined: from then on it can be chosen by that name, saved and loaded. No table
has to be kept anywhere.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, ClassVar, Self, cast

from rankfactor.errors import InputError


class Part:
    """Base of all parts.

    Attributes
    ----------
    name : str
        The short name that users and model files know the part by; a class without a name of its
        own can be fitted but not saved.
    phrase : str
        What a report calls the part.
    is_choice : bool
        Whether users choose the part by its name. A part that wraps another is no choice.
    family : str
        What the members of the family are.
    members, choices : dict
        The named classes of the family, and those that users choose among.
    """

    name: ClassVar[str] = ""
    phrase: ClassVar[str] = ""
    is_choice: ClassVar[bool] = True
    family: ClassVar[str]
    members: ClassVar[dict[str, Any]]
    choices: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, family: str = "", **options: Any) -> None:
        """Begin a family, or join one by name."""
        super().__init_subclass__(**options)
        if family:
            cls.family, cls.members, cls.choices = family, {}, {}
        elif "name" in vars(cls):
            other = cls.members.get(cls.name)
            # A module that is loaded again, or a notebook's cell, defines its class anew.
            if other is not None and _place(other) != _place(cls):
                raise InputError(
                    f"{_place(cls)} has the name {cls.name!r}, which is that of {_place(other)}: "
                    f"give the {cls.family} another name."
                )
            cls.members[cls.name] = cls
            if cls.is_choice:
                cls.choices[cls.name] = cls

    def to_dict(self) -> dict[str, Any]:
        """Name and hyper-parameters as plain values."""
        kind = type(self)
        if self.members.get(self.name) is not kind:
            raise InputError(
                f"{kind.__name__} has no name of its own, so a model with it cannot be saved: "
                "state a `name` in the class (CONTRIBUTING.md)."
            )
        return {"part": self.name, **self._values()}

    def _values(self) -> dict[str, Any]:
        """Hyper-parameters as plain values."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The part of `to_dict`'s values, called on the base of its family."""
        kind = cls.members.get(values["part"])
        if kind is None:
            raise InputError(
                f"this {cls.family} is not known here: {values['part']!r}. Import the file that "
                "defines it before the model is loaded."
            )
        rest = {key: value for key, value in values.items() if key != "part"}
        return cast("Self", kind._from_values(rest))

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        """The part with plain values of its hyper-parameters."""
        return cls(**values)

    def in_words(self) -> str:
        """The phrase and the numbers among the hyper-parameters, for a report."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        numbers = [
            f"{name.replace('_', ' ')} = {value:.4g}"
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        text = self.phrase or self.name or type(self).__name__
        if not numbers:
            return text
        *others, last = numbers
        return f"{text} with {', '.join(others)} and {last}" if others else f"{text} with {last}"


def _place(kind: type) -> str:
    """Where a class is defined."""
    return f"{kind.__module__}.{kind.__qualname__}"
