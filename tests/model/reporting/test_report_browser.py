"""The report in a real browser: filters, pages, explanations, drawings and colours, by mouse and keyboard.

It runs where the package `playwright` and a Chromium are there, `chromium` on the path or `DCRFDSL_CHROMIUM`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from report_cases import HOSTILE, two_layers

from dcrfdsl.foundation import printable

pytestmark = pytest.mark.long
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

# Every text on the page with its colour and that of what lies behind it, as the browser has them.
TEXT_COLOURS = """() => {
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
    return "none";
  };
  const pairs = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("title")) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    pairs.set(`${colour} on ${behind(element)}`, walker.currentNode.data.trim().slice(0, 40));
  }
  return [...pairs];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    path = os.environ.get("DCRFDSL_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("there is no Chromium: install one, or name it by DCRFDSL_CHROMIUM")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    model, corpus = two_layers(HOSTILE)
    (path,) = model.report(
        corpus, tmp_path_factory.mktemp("browser") / "report.html", draws=20, threads=1, explained=30
    )
    return path


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture
def page(browser, report):
    with opened(browser, report, DESKTOP, "light") as page:
        yield page


@contextmanager
def opened(browser, report, viewport, scheme):
    """The page; afterwards nothing may have failed, and nothing but the file may have been asked for."""
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    page, asked, failed = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("console", lambda message: failed.append(message.text))
    page.on("dialog", lambda dialog: (failed.append(dialog.message), dialog.dismiss()))
    page.set_default_timeout(10_000)
    page.goto(report.as_uri())
    yield page
    context.close()
    assert (asked, failed) == ([report.as_uri()], [])


def titles(page):
    return page.locator("#errors-list > li > .title").all_inner_texts()


def count(page):
    return int(page.locator("#count").inner_text().split()[0])


def test_filters_and_order(page):
    form, every = page.locator("#filters"), count(page)
    assert every > 30 and len(titles(page)) == 25
    form.get_by_label("Label").select_option("chunk")
    chunks = count(page)
    assert 0 < chunks < every and all(" chunk: " in title for title in titles(page))
    golds = form.get_by_label("Gold").locator("option").all_inner_texts()
    assert golds[0] == "all" and set(golds[1:]) <= {"O", "B-X", "I-X", "B-Y", "I-Y"}
    form.get_by_label("Gold").select_option("B-X")
    form.get_by_label("Predicted").select_option("O")
    assert 0 < count(page) < chunks
    assert all("chunk: O" in title and "gold B-X" in title for title in titles(page))
    page.get_by_role("button", name="All errors").click()
    page.wait_for_function(f"document.getElementById('count').textContent.startsWith('{every} errors')")
    form.get_by_label("Word contains").fill("IMG SRC")
    assert 0 < count(page) < every and all("<img src=x" in title for title in titles(page))
    form.get_by_label("Word contains").fill("")
    form.get_by_label("explained").check()
    assert count(page) == 30
    form.get_by_label("explained").uncheck()
    form.get_by_label("Probability at least, %").fill("90")
    sure = count(page)
    assert 0 < sure < every
    form.get_by_label("Probability at least, %").fill("0")
    form.get_by_label("Order").select_option("data")
    places = [text.split(",")[0] for text in page.locator("#errors-list .place").all_inner_texts()]
    numbers = [int(place.removeprefix("sentence ")) for place in places]
    assert numbers == sorted(numbers)


def test_pages_turn_by_the_keyboard(page):
    first, every = titles(page), count(page)
    after = page.get_by_role("button", name="Next")
    assert page.get_by_role("button", name="Previous").is_disabled()
    shown = len(first)
    while not after.is_disabled():
        after.focus()
        page.keyboard.press("Enter")
        shown += len(titles(page))
    assert shown == every
    while not page.get_by_role("button", name="Previous").is_disabled():
        page.get_by_role("button", name="Previous").click()
    assert titles(page) == first


def test_an_error_explains_itself(page):
    first = page.locator("#errors-list > li").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    first.locator("table").nth(1).wait_for()
    assert first.locator("caption").first.inner_text().startswith("Why ")
    nats = first.locator("table").first.locator("tbody td:first-child").all_inner_texts()
    *parts, whole = (float(text) for text in nats)
    assert sum(parts) == pytest.approx(whole, abs=0.06)  # each is rounded to two digits
    assert first.locator("table").nth(1).locator("tr.wrong").count() >= 1


def test_hostile_words_are_words(page):
    seen = " ".join(page.locator("#errors-list .sentence").all_inner_texts())
    assert printable(HOSTILE[0]) in seen and printable(HOSTILE[1]) in seen and printable(HOSTILE[3]) in seen
    assert page.locator("main script, main img, #errors-list b").count() == 0


def test_marks_of_a_drawing_tell_by_pointer_and_keys(page):
    figure = page.locator("figure.graph").first
    panel = figure.locator(".panel")
    figure.locator("svg g").first.hover()
    assert "states" in panel.inner_text() and "0." in panel.inner_text()
    figure.locator(".wide").focus()
    told = set()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        told.add(panel.inner_text())
    assert len(told) == 6


def test_colours_follow_the_system_and_the_button(browser, report, scheme):
    with opened(browser, report, DESKTOP, scheme) as page:
        background = "getComputedStyle(document.body).backgroundColor"
        of_system = page.evaluate(background)
        page.locator("#theme").click()
        light = page.evaluate(background)
        page.locator("#theme").click()
        dark = page.evaluate(background)
        assert (light, dark) == ("rgb(255, 255, 255)", "rgb(20, 24, 31)")
        assert of_system == {"light": light, "dark": dark}[scheme]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_text_stands_out_and_fits(browser, report, scheme, viewport):
    """WCAG 2.2, AA, of all texts as they are drawn; and no part is wider than the window."""
    with opened(browser, report, viewport, scheme) as page:
        for summary in page.locator("summary").all():
            summary.click()
        pairs = page.evaluate(TEXT_COLOURS)
        assert len(pairs) > 10
        low = [(pair, text) for pair, text in pairs if contrast_of(pair) < 4.5]
        assert low == []
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def contrast_of(pair):
    from report_cases import contrast

    def as_hex(colour):
        numbers = [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        return "#" + "".join(f"{number:02x}" for number in numbers)

    return contrast(*map(as_hex, pair.split(" on ")))


def test_every_section_is_reached_by_its_link(page):
    for link in page.locator("nav[aria-label=Sections] a").all():
        link.focus()
        page.keyboard.press("Enter")
        slug = link.get_attribute("href")
        top = page.locator(slug).evaluate("e => e.getBoundingClientRect().top")
        assert top < 900
