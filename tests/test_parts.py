"""Parts register with their families by name and convert to and from plain values."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from rankfactor.errors import InputError
from rankfactor.latent import LATENT, DPMixture
from rankfactor.likelihoods import (
    DATA_LIKELIHOODS,
    LABEL_LIKELIHOODS,
    DataLikelihood,
    Gaussian,
    Hinge,
    LabelLikelihood,
    MarginRank,
)
from rankfactor.model import Model
from rankfactor.shrinkage import SHRINKAGE, TPBN, NormalARD, Shrinkage, ShrinkageByBlock


def test_the_library_has_these_parts():
    assert list(SHRINKAGE) == ["tpbn", "multiplicative_gamma", "normal"]
    assert set(LATENT) == {"standard_normal", "dp_mixture"}
    assert set(LABEL_LIKELIHOODS) == {"hinge", "probit"}
    assert {"gaussian", "margin_rank", "neighbour_rank", "ordinal_probit", "ordinary_rank"} <= set(
        DATA_LIKELIHOODS
    )


@pytest.fixture
def toy():
    @dataclass(frozen=True)
    class Toy(Hinge):
        slack: float = 2.0

        name: ClassVar[str] = "toy"
        phrase: ClassVar[str] = "toy loss"

    yield Toy
    del LabelLikelihood.members["toy"], LabelLikelihood.choices["toy"]


def test_a_class_with_a_name_is_known_once_it_is_defined(toy):
    assert LABEL_LIKELIHOODS["toy"] is toy
    model = Model(2, Gaussian(), toy(slack=3.0))
    assert Model.from_dict(model.to_dict()) == model
    assert model.label.in_words() == "toy loss with slack = 3"


@pytest.mark.usefixtures("toy")
def test_two_classes_of_one_name_are_refused():
    said = r"Other has the name 'toy', which is already that of .*Toy: give"
    with pytest.raises(InputError, match=said):

        class Other(Hinge):
            name: ClassVar[str] = "toy"


def test_a_class_that_is_defined_again_takes_its_own_place():
    def define():
        class Again(Hinge):
            name: ClassVar[str] = "again"

        return Again

    try:
        first, second = define(), define()
        assert first is not second
        assert LABEL_LIKELIHOODS["again"] is second
    finally:
        del LabelLikelihood.members["again"], LabelLikelihood.choices["again"]


def test_a_class_without_a_name_cannot_be_saved():
    class Nameless(Gaussian):
        pass

    with pytest.raises(InputError, match="Nameless has no name of its own"):
        Model(2, Nameless()).to_dict()


def test_an_unknown_part_is_named():
    with pytest.raises(InputError, match=r"unknown data likelihood 'cauchy': import"):
        DataLikelihood.from_dict({"part": "cauchy"})


def test_a_part_that_wraps_another_is_no_choice():
    prior = ShrinkageByBlock(NormalARD(shape=2.0), ((0, 2), (1, 3)))
    values = prior.to_dict()
    assert values["part"] == "by_view"
    assert values["runs"] == "0*2 1*3"
    assert Shrinkage.from_dict(values) == prior
    assert "by_view" not in SHRINKAGE
    assert prior.in_words().endswith("rate = 0.001, with separate scales for each block")


def test_words_list_the_numbers():
    assert TPBN().in_words() == (
        "three-parameter beta normal shrinkage prior (horseshoe type) with r = 0.5 and s = 0.5"
    )
    assert Hinge().in_words() == "Bayesian support vector machine (hinge loss)"
    assert (
        MarginRank(margin=0.1)
        .in_words()
        .endswith("with margin = 0.1, max cuts = 16 and cut precision = 0.001")
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MarginRank(margin=-1), "margin must be a positive number, not -1"),
        (lambda: MarginRank(max_cuts=255), "max_cuts must be at most 254"),
        (lambda: TPBN(r=0), "r of TPBN must be a positive number"),
        (lambda: TPBN(scope="table"), "scope of TPBN must be 'factor' or 'row', not 'table'"),
        (lambda: DPMixture(scale_rate=-1), "scale_rate must be a positive number, not -1"),
    ],
)
def test_parts_check_their_own_hyper_parameters(build, message):
    with pytest.raises(InputError, match=message):
        build()
