"""A model is a product of parts: views (likelihood x shrinkage) and a latent prior.

A view is a block of rows ``w_in = a_i . z_n`` with one likelihood and one shrinkage prior. The
table is a view; the labels are a view whose rows are the coefficients of the classifiers. Parts
are frozen dataclasses of hyper-parameters; everything learned travels in a `ViewState`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rankfactor.errors import InputError, check_n_factors
from rankfactor.latent import LATENT, KernelExperts, Latent, MixedExperts, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import (
    DATA_LIKELIHOODS,
    LABEL_LIKELIHOODS,
    DataLikelihood,
    LabelLikelihood,
    Likelihood,
    RowArrays,
)
from rankfactor.presets import name_of_parts
from rankfactor.shrinkage import TPBN, AnyShrinkage, Shrinkage, ShrinkageByBlock
from rankfactor.typing import Integers, Strings


@dataclass(frozen=True)
class View:
    """Rows with a likelihood and a shrinkage prior.

    Attributes
    ----------
    likelihood : Likelihood
    shrinkage : Shrinkage
    intercept_precision : float
        Prior precision of the rows' intercept, where the likelihood has one.
    """

    likelihood: Likelihood[Any]
    shrinkage: AnyShrinkage
    intercept_precision: float = 1e-3

    @property
    def has_intercept(self) -> bool:
        """Whether the rows end in an intercept."""
        return self.likelihood.has_intercept


@dataclass
class ViewState:
    """Learned state of a view."""

    rows: Normal  # (d, K) or, with an intercept, (d, K + 1)
    params: RowArrays
    scales: Any

    def copy(self) -> ViewState:
        """State with copied arrays; scales are never modified in place, so they are shared."""
        return ViewState(self.rows.copy(), self.params.copy(), self.scales)


@dataclass(frozen=True)
class Model:
    """The parts of a model, checked when it is built.

    Attributes
    ----------
    n_factors : int or "auto"
        "auto" is resolved by `rankfactor.engine.parallel_analysis` once the table is coded.
    data : DataLikelihood
        Likelihood of the table.
    label : LabelLikelihood or None
        Likelihood of the labels; None for an unsupervised model.
    loading_shrinkage, coefficient_shrinkage : Shrinkage
    latent : Latent
        Prior of the scores.
    experts : MixedExperts, KernelExperts or None
        Nonlinear classifiers instead of linear ones.
    """

    n_factors: Any  # int, or "auto" until the table is coded
    data: DataLikelihood[Any]
    label: LabelLikelihood | None = None
    loading_shrinkage: AnyShrinkage = field(default_factory=TPBN.for_loadings)
    coefficient_shrinkage: AnyShrinkage = field(default_factory=TPBN.for_coefficients)
    latent: Latent = StandardNormal()
    experts: MixedExperts | KernelExperts | None = None

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        check_n_factors(self.n_factors)
        if not isinstance(self.data, DataLikelihood):
            raise InputError(
                f"likelihood {self.data!r} is not a likelihood for data: "
                f"choose one of {', '.join(DATA_LIKELIHOODS)}."
            )
        if self.label is not None and not isinstance(self.label, LabelLikelihood):
            raise InputError(
                f"classifier {self.label!r} is not a likelihood for labels: "
                f"choose one of {', '.join(LABEL_LIKELIHOODS)}."
            )
        if not isinstance(self.latent, Latent):
            raise InputError(
                f"latent {self.latent!r} is not a prior of the scores: "
                f"choose one of {', '.join(LATENT)}."
            )
        if self.experts is not None and self.latent.n_components is not None:
            raise InputError(
                "mixed and kernel experts have standard normal scores: leave latent out."
            )

    @property
    def name(self) -> str:
        """Code and plain name, such as "R-L-BSVM (rank)"; empty where the parts have none."""
        label = "" if self.label is None else self.label.name
        return name_of_parts(self.data.name, label, self.linear)

    def for_blocks(self, blocks: Strings | None) -> Model:
        """The model for a table whose columns belong to these blocks."""
        return replace(self, data=self.data.for_blocks(blocks))

    def for_coding(self, coding: Any) -> Model:
        """The model for a table of this coding: an "auto" margin is resolved."""
        return replace(self, data=self.data.for_coding(coding))

    @property
    def n_components(self) -> int | None:
        """Number of local classifiers; None if there are none."""
        part = self.latent if self.experts is None else self.experts
        return None if part.n_components is None else int(part.n_components)

    @property
    def linear(self) -> bool:
        """Whether classifiers are linear."""
        return self.experts is None and self.latent.n_components is None

    @property
    def takes_sparse(self) -> bool:
        """Whether a sparse table is coded without densifying; others need it as floats."""
        return self.data.takes_sparse

    @property
    def exact(self) -> str:
        """Name of the part that needs values, not only their order, for messages; empty if none."""
        parts = getattr(self.data, "parts", (self.data,))  # for blocks with their own likelihoods
        names = [part.phrase or part.name for part in parts if part.uses_values]
        return f"the {names[0]}" if names else ""

    @property
    def data_view(self) -> View:
        """The table's view."""
        return View(self.data, self.loading_shrinkage)

    @property
    def label_view(self) -> View:
        """The labels' view."""
        if self.label is None:
            raise InputError("an unsupervised model has no labels.")
        return View(self.label, self.coefficient_shrinkage)

    def to_dict(self) -> dict[str, Any]:
        """Parts and hyper-parameters as plain values."""
        return {
            "n_factors": int(self.n_factors),
            "data": self.data.to_dict(),
            "label": None if self.label is None else self.label.to_dict(),
            "loading_shrinkage": self.loading_shrinkage.to_dict(),
            "coefficient_shrinkage": self.coefficient_shrinkage.to_dict(),
            "latent": self.latent.to_dict(),
            "experts": _named_experts(self.experts),
        }

    @classmethod
    def from_dict(cls, parts: dict[str, Any]) -> Model:
        """Model of `to_dict`'s values."""
        # Older files do not name the prior of the scores or the experts.
        label, experts = parts["label"], parts.get("experts")
        latent = parts.get("latent", {"part": StandardNormal.name})
        return cls(
            n_factors=parts["n_factors"],
            data=DataLikelihood.from_dict(parts["data"]),
            label=None if label is None else LabelLikelihood.from_dict(label),
            loading_shrinkage=Shrinkage.from_dict(parts["loading_shrinkage"]),
            coefficient_shrinkage=Shrinkage.from_dict(parts["coefficient_shrinkage"]),
            latent=Latent.from_dict(latent),
            experts=_built_experts(experts),
        )


KERNEL = "kernel"  # in a file; mixed experts, which are older, have no name


def _named_experts(experts: MixedExperts | KernelExperts | None) -> dict[str, Any] | None:
    if experts is None:
        return None
    name = {"form": KERNEL} if isinstance(experts, KernelExperts) else {}
    return {**name, **asdict(experts)}


def _built_experts(values: dict[str, Any] | None) -> MixedExperts | KernelExperts | None:
    if values is None:
        return None
    rest = {name: value for name, value in values.items() if name != "form"}
    return KernelExperts(**rest) if values.get("form") == KERNEL else MixedExperts(**rest)


def with_blocks(model: Model, blocks: Strings | None, columns: Integers) -> Model:
    """The model with separate shrinkage per block, for the features in the model."""
    if blocks is None:
        return model
    names = blocks[columns]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names.tolist()))}
    if len(numbers) < 2:
        return model
    rows = [numbers[name] for name in names.tolist()]
    return replace(model, loading_shrinkage=ShrinkageByBlock.of(model.loading_shrinkage, rows))
