"""Reports are shared by mail: 1,000 hostile names appear in one as text only."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from tests.report.hostile import MARK, names, plain_names, report
from tests.report.page import read

pytestmark = pytest.mark.slow
# Attributes that hold text for people, or data of ours.
TEXT = {"title", "alt", "aria-label", "aria-description", "value", "placeholder", "content"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The reports of hostile and of plain names."""
    folder = tmp_path_factory.mktemp("hostile")
    return [
        read(report(folder / f"{n}.html", given))
        for n, given in enumerate((names(), plain_names()))
    ]


def test_there_are_a_thousand_of_them():
    assert len(set(names())) == 1000
    assert all(MARK in name for name in names())


def test_elements_and_attributes_are_those_of_plain_names(pages):
    hostile, plain = ({(e.tag, *sorted(e.attributes)) for e in page.all()} for page in pages)
    assert hostile <= plain | {("wbr",)}  # where long names may be broken


def test_names_are_in_text_and_data_only(pages):
    page, _ = pages
    for element in page.all():
        for key, value in element.attributes.items():
            assert not key.startswith("on")
            if MARK in (value or ""):
                assert key in TEXT or key.startswith("data-"), (element.tag, key, value)
    *data, script = page.all("script")
    assert MARK not in "".join(script.children)
    assert MARK not in page.one("style").text
    for block in data:
        content = "".join(block.children)
        json.loads(content)
        assert "<" not in content


def test_the_policy_allows_our_script_alone(pages):
    policies = []
    for page in pages:
        *_, script = page.all("script")
        digest = hashlib.sha256("".join(script.children).encode()).digest()
        policies.append(
            page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
        )
        assert policies[-1].startswith("default-src 'none';")
        assert f"script-src 'sha256-{base64.b64encode(digest).decode()}';" in policies[-1]
        assert "unsafe-eval" not in policies[-1]
    assert policies[0] == policies[1]


def test_the_names_are_shown_as_they_are(pages):
    page, _ = pages
    whole = page.one("body").text
    assert page.one("h1").text == names()[7]
    shown = sum(" ".join(name.split()) in whole for name in names()[:100])
    assert shown > 30  # the leading features, and all that the page was given
