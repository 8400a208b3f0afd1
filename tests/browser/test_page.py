"""The report in a browser: no errors, no requests, and interactive parts respond."""

from __future__ import annotations

import csv
import io
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.plots import models

from rankfactor.interpret.directions import directions_on


@contextmanager
def opened(browser, address, **options):
    """A page with its console errors and requests."""
    context = browser.new_context(accept_downloads=True, **options)
    page = context.new_page()
    page.trouble, page.asked = [], []
    page.on("console", lambda message: page.trouble.append(message.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    try:
        yield page
    finally:
        context.close()


@pytest.fixture
def page(browser, report):
    with opened(browser, report, viewport={"width": 1280, "height": 900}) as page:
        yield page


def column(page, table, number):
    """Texts of the visible cells of a column."""
    cells = page.locator(f"{table} tbody tr:visible :is(td, th):nth-child({number})")
    return cells.all_inner_texts()


def in_view(page, part):
    """Scroll to a part and wait for the scroll event, which hides tooltips."""
    part.scroll_into_view_if_needed()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def point_at(page, part, x=None, y=None):
    """Move the pointer to the middle of a part, or to an offset from its corner."""
    in_view(page, part)
    box = part.bounding_box()
    page.mouse.move(
        box["x"] + (box["width"] / 2 if x is None else x),
        box["y"] + (box["height"] / 2 if y is None else y),
    )


def test_no_error_and_no_request(page, report):
    for section in page.locator("main > section").all():
        section.scroll_into_view_if_needed()
    assert page.trouble == []
    assert page.asked == [report]


def test_the_policy_stops_requests(page):
    # The check above could not fail if the page had no policy to break.
    loaded = page.evaluate(
        "new Promise(done => { const image = new Image(); image.onload = () => done(true);"
        "image.onerror = () => done(false); image.src = 'http://127.0.0.1:9/x.png'; })"
    )
    assert loaded is False
    assert any("Content Security Policy" in text for text in page.trouble)


def test_tables_sort_by_value_and_filter(page):
    table = "#factors table >> nth=0"
    shares = [
        float(text) for text in column(page, "#factors .data", 3)[: models.two_tasks().active.sum()]
    ]
    heading = page.locator("#factors th", has_text="Variance").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    rows = page.locator(table).locator("tbody tr td:nth-child(3)").all_inner_texts()
    assert [float(text) for text in rows] == sorted(shares)
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    rows = page.locator(table).locator("tbody tr td:nth-child(3)").all_inner_texts()
    assert [float(text) for text in rows] == sorted(shares, reverse=True)
    host = page.locator("#factors .host").first
    host.get_by_role("searchbox").fill("factor 2")
    assert host.locator("tbody tr:visible").count() == 1
    assert host.get_by_role("status").inner_text() == f"1 of {len(shares)} rows"
    host.get_by_role("searchbox").fill("no such thing")
    assert host.locator("tbody tr:visible").count() == 0


def test_a_search_opens_what_it_finds_and_closes_it_again(page):
    host = page.locator("#features .host")
    folds = host.locator("details")
    before = folds.evaluate_all("all => all.map(one => one.open)")
    assert not all(before)
    host.get_by_role("searchbox").fill("f5")
    found = host.locator("tbody tr:visible")
    assert found.count() == len(before)  # once a factor
    assert all("f5" in text for text in found.all_inner_texts())
    host.get_by_role("searchbox").fill("")
    page.wait_for_function(
        "wanted => JSON.stringify([...document.querySelectorAll('#features details')]"
        ".map(one => one.open)) === wanted",
        arg=str(before).lower().replace(" ", ""),
    )


def test_csv_has_the_rows_that_are_shown(page):
    host = page.locator("#features .host")
    host.get_by_role("searchbox").fill("factor 1")
    with page.expect_download() as waiting:
        host.get_by_role("button", name="Download CSV").click()
    assert waiting.value.suggested_filename == "top-features.csv"
    # Bytes, as the ends of lines are part of the format.
    text = Path(waiting.value.path()).read_bytes().decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["Factor", "Feature", "Loading", "Spread (sd)", "Clear"]
    assert {row[0] for row in rows} == {"Factor 1"}
    posterior = models.two_tasks()
    loadings = dict(zip(posterior.feature_names.tolist(), posterior.structure[:, 0], strict=True))
    assert len(rows) == 12
    # Awkward names come through as they are.
    assert models.SCRIPT in {row[1] for row in rows}
    assert models.QUOTES in {row[1] for row in rows}
    for row in rows:
        if row[1] in loadings:
            assert float(row[2]) == pytest.approx(loadings[row[1]], rel=1e-5)
            assert float(row[3]) > 0  # an ASCII minus, and numbers


def test_a_link_unfolds_the_factor(page):
    closed = page.locator("#features details:not([open])").first
    name = closed.get_attribute("id")
    page.evaluate("name => { location.hash = name; }", name)
    page.wait_for_function("name => document.getElementById(name).open", arg=name)


def test_hover_names_the_sample(page):
    plot = page.locator(".plot")
    in_view(page, plot)
    posterior = models.two_tasks()
    first, second = (e.factor for e in directions_on(posterior, 0)[:2])
    assert plot.locator(".point").count() == 60
    # The sample at the far right has no other near it to be confused with.
    place = int(posterior.scores.mean[:, first].argmax())
    right = max(
        plot.locator(".point").all(), key=lambda one: one.bounding_box()["x"]
    ).bounding_box()
    page.mouse.move(right["x"] + right["width"] / 2, right["y"] + right["height"] / 2)
    hint = page.get_by_role("tooltip")
    said = hint.inner_text().splitlines()
    assert said[0] == posterior.sample_names[place]
    assert said[1].startswith("group: ")
    assert said[3].startswith(f"Factor {first + 1} (")
    assert said[4].startswith(f"Factor {second + 1} (")
    page.mouse.move(5, 5)
    assert not hint.is_visible()


def test_keys_go_from_sample_to_sample(page):
    plot = page.locator(".plot")
    in_view(page, plot)
    plot.focus()
    plot.press("ArrowRight")
    first = page.get_by_role("tooltip").inner_text()
    plot.press("ArrowRight")
    second = page.get_by_role("tooltip").inner_text()
    plot.press("ArrowLeft")
    assert page.get_by_role("tooltip").inner_text() == first != second
    posterior = models.two_tasks()
    lowest = posterior.scores.mean[:, directions_on(posterior, 0)[0].factor].argmin()
    assert first.startswith(f"{posterior.sample_names[lowest]}\n")


def test_factors_colours_and_classes_can_be_chosen(page):
    explorer = page.locator("#explorer label")
    explorer.filter(has_text="Across").locator("select").select_option(index=2)
    assert page.locator(".plot text").get_by_text("Factor 3").count() >= 1
    explorer.filter(has_text="Colour by").locator("select").select_option("stage")
    legend = page.get_by_role("group", name="Classes shown").get_by_role("button")
    assert [re.sub(r"\s+", " ", t).strip() for t in legend.all_inner_texts()][-1] == "unknown (5)"
    assert legend.count() == 4
    assert page.locator(".plot .point").count() == 60
    legend.last.click()
    assert legend.last.get_attribute("aria-pressed") == "false"
    assert page.locator(".plot .point").count() == 55
    page.get_by_label("Find a sample").fill("s17")
    assert page.locator(".plot .point.found").count() == 1
    assert page.trouble == []


def test_other_figures_have_hints(page):
    point_at(page, page.locator("#fig-comparison [data-tip]").first)
    hint = page.get_by_role("tooltip").inner_text()
    assert re.fullmatch(r"R-L-BSVM\nAUC 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", hint)
    point_at(page, page.locator("#fig-loadings-cells"), 5, 5)
    assert re.fullmatch(r".+\nFactor 1: −?\d\.\d\d", page.get_by_role("tooltip").inner_text())


GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(245, 247, 250)", "rgb(18, 23, 29)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_follows_the_system_until_the_button(browser, report, scheme):
    with opened(browser, report, color_scheme=scheme) as page:
        own, other = (LIGHT, DARK) if scheme == "light" else (DARK, LIGHT)
        assert page.evaluate(GROUND) == own
        button = page.get_by_role("button", name=re.compile("colours"))
        assert button.inner_text() == ("Dark colours" if scheme == "light" else "Light colours")
        button.click()
        assert page.evaluate(GROUND) == other
        # Figures follow: their paper is the page's card.
        paper = "getComputedStyle(document.querySelector('#fig-loadings path')).fill"
        card = "getComputedStyle(document.querySelector('figure')).backgroundColor"
        assert page.evaluate(paper) == page.evaluate(card)
        page.reload()
        assert page.evaluate(GROUND) == other


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


TEXTS = """() => {
  const solid = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const ground = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)$|transparent/.test(ground)) return ground;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    if (['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName)) continue;
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    found.push([colour, solid(element), element.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser, report, scheme):
    """WCAG 2 level AA: at least 4.5 to 1 for text of any size."""
    with opened(browser, report, color_scheme=scheme) as page:
        found = page.evaluate(TEXTS)
    assert len(found) > 200
    for colour, ground, text in found:
        high, low = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (colour, ground, text)


TOO_WIDE = """() => [...document.querySelectorAll('.scroll')]
  .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.getAttribute('aria-label'))"""


def test_a_phone_needs_no_sideways_scrolling(browser, report):
    with opened(browser, report, viewport={"width": 390, "height": 844}, has_touch=True) as page:
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        page.locator("#samples-table .pick").first.click()
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= page.evaluate("innerWidth") == 390
        # No table is cut either.
        assert page.evaluate(TOO_WIDE) == []
        letters = page.locator(".plot text").first.bounding_box()
        assert letters["height"] > 10


def test_without_script_the_page_is_complete(browser, report):
    with opened(browser, report, java_script_enabled=False) as page:
        assert page.locator("#fig-scores-0").is_visible()
        assert page.locator("#factors tbody tr").first.is_visible()
        assert page.locator("#effects tbody tr").first.is_visible()
        assert page.locator("#samples tbody tr").first.is_visible()


def test_print_is_light_and_its_rows_are_low(browser, report):
    with opened(browser, report, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(GROUND) == "rgb(255, 255, 255)"
        assert not page.locator(".theme").is_visible()
        page.set_viewport_size({"width": 700, "height": 1000})  # about a sheet of paper
        rows = page.locator("#features details[open] tbody tr").all()
        assert rows
        # A name of 80 letters takes a few lines; a column too narrow for words takes dozens.
        assert all(row.bounding_box()["height"] < 120 for row in rows)
