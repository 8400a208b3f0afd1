"""Base of all parts of a model: a name, a phrase for reports, and a family.

A part is a frozen dataclass of hyper-parameters. Its class belongs to a family (data likelihoods,
label likelihoods, shrinkage priors, priors of the scores). A class with a `name` joins its family
when it is defined: it can then be chosen by that name, saved and loaded, without any registry to
maintain.
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
        The short name used by users and in model files; a class without its own name can be fitted
        but not saved.
    phrase : str
        Name of the part in reports.
    is_choice : bool
        Whether users can choose the part by name; False for parts that wrap others.
    family : str
        Name of the family in messages.
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
        """Start a family, or join one by name."""
        super().__init_subclass__(**options)
        if family:
            cls.family, cls.members, cls.choices = family, {}, {}
        elif "name" in vars(cls):
            other = cls.members.get(cls.name)
            # Reloading a module, or a notebook cell, redefines its class.
            if other is not None and _place(other) != _place(cls):
                raise InputError(
                    f"{_place(cls)} has the name {cls.name!r}, which is already that of "
                    f"{_place(other)}: give the {cls.family} another name."
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
        """Inverse of `to_dict`, called on the base of the family."""
        kind = cls.members.get(values["part"])
        if kind is None:
            raise InputError(
                f"unknown {cls.family} {values['part']!r}: import the file that "
                "defines it before loading the model."
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
