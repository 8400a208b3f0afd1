"""The theory pages name files that exist, and state formulas that the code keeps."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
FILES = sorted(
    {name for page in PAGES for name in re.findall(r"`([\w/]+\.py)`", page.read_text("utf-8"))}
)


def test_there_are_files():
    assert len(FILES) >= 30


@pytest.mark.parametrize("name", FILES)
def test_file_exists(name):
    assert (ROOT / "src" / "rankfactor" / name).exists() or (ROOT / name).exists()


@pytest.mark.parametrize("u", [-1.3, -0.2, 0.4, 2.0])
def test_hinge_is_a_mixture_of_normals(u):
    """rank-likelihood.md, "Augmentation"; the integral is over the root of lambda."""
    found, _ = quad(lambda root: 2 * root * norm.pdf(u, -(root**2), root), 0, np.inf)
    assert found == pytest.approx(np.exp(-2 * max(0, u)), rel=1e-6)


@pytest.mark.parametrize("m", [0.1, 1.0, 7.0])
def test_normaliser_of_the_augmentation(m):
    """The integral that gives a hinge's part of the ELBO."""
    found, _ = quad(
        lambda root: 2 * np.exp(-m / (2 * root**2) - root**2 / 2) / np.sqrt(2 * np.pi), 0, np.inf
    )
    assert found == pytest.approx(np.exp(-np.sqrt(m)), rel=1e-6)


@pytest.mark.parametrize(("m", "v"), [(0.3, 0.5), (-1.0, 2.0), (2.0, 0.1)])
def test_evidence_of_an_uncertain_hinge(m, v):
    """inference.md, "Gibbs sampling"."""
    s = np.sqrt(v)
    stated = norm.cdf((m - 1) / s) + np.exp(-2 * (1 - m) + 2 * v) * norm.cdf((1 - m - 2 * v) / s)
    found, _ = quad(
        lambda f: np.exp(-2 * max(0, 1 - f)) * norm.pdf(f, m, s), m - 12 * s, m + 12 * s, points=[1]
    )
    assert stated == pytest.approx(found, rel=1e-6)
