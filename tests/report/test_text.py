"""Lines of the page break between words, or within long names at a separator."""

from __future__ import annotations

import pytest

from rankfactor.report.text import breakable


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("IL_7", "IL_7"),
        ("sd 0.06", "sd 0.06"),
        ("Gamma_Interferon_induced", "Gamma_<wbr>Interferon_<wbr>induced"),
        ("value 1234567.8901", "value 1234567.8901"),
        ("R-L-BSVM wins", '<span class="whole">R-L-BSVM</span> wins'),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("run `a --b` now", 'run <code>a <span class="whole">--b</span></code> now'),
        ("one ` alone", "one ` alone"),
        ("<script>_alert_now", "&lt;script&gt;_<wbr>alert_<wbr>now"),
    ],
)
def test_text(text, markup):
    assert str(breakable(text)) == markup
