"""Values of checkpoints are compared with those of the fit that resumes them."""

from __future__ import annotations

import numpy as np
import pytest

from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point
from rankfactor.storage.forms import check_form


def law(n: int = 4) -> Normal:
    return Normal.isotropic(np.zeros((n, 2)), 1.0)


LIKE = {"rows": law(), "n_cuts": np.array([3, 2]), "parts": (1.5, None), "top": np.float32(1)}


def test_the_same_form_passes() -> None:
    other = Normal.isotropic(np.ones((4, 2)), 2.0)
    found = {"rows": other, "n_cuts": np.array([0, 3]), "parts": (2, None), "top": np.float32(2)}
    check_form(found, LIKE, "state", 5)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": law(5)},
        {"rows": None},
        {"rows": Normal(np.full((4, 2), np.nan), law().cov, law().log_det)},
        {"rows": Normal(np.zeros((4, 2), np.int64), law().cov, law().log_det)},
        {"n_cuts": np.array([4, 2])},
        {"n_cuts": np.array([-1, 2])},
        {"n_cuts": [3, 2]},
        {"parts": (1.5,)},
        {"parts": (1.5, "x")},
        {"more": 1},
    ],
)
def test_another_form_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is not what this fit has there"):
        check_form({**LIKE, **change}, LIKE, "state", 5)


def test_of_two_laws_the_shapes_count() -> None:
    gamma = Gamma(np.ones((2, 3)), np.ones((2, 3)))
    check_form(Point(np.ones((2, 3))), gamma, "scale", 5)
    with pytest.raises(ValueError, match="scale is not what this fit has there"):
        check_form(Point(np.ones((2, 4))), gamma, "scale", 5)
