"""The page in a real browser: Chromium of the system, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from leadline.records import Report, Verdict
from leadline.testing.servers import scripted_server
from leadline_plugins.formats.document import document
from leadline_plugins.formats.html import MEDIUM, render_page
from leadline_plugins.formats.interactive import script_hashes

CONTRASTS = """() => {
  const parts = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const rgb = parts(getComputedStyle(node).backgroundColor);
      if (rgb.length === 3 || rgb[3] === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
    for (const pseudo of [undefined, "::after"]) {
      const [a, b] = [light(parts(getComputedStyle(node, pseudo).color)), light(ground(node))];
      found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 80)]);
    }
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""
"""The contrast of each text on its ground, as WCAG 2 computes it, with its element; the least first."""

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.async_api", reason="needs pip install playwright")
Shown = tuple[Any, list[str]]
CHROMIUM = shutil.which("chromium")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


@asynccontextmanager
async def browsing() -> AsyncIterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs the Debian package chromium")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        await browser.close()


def written(folder: Path, report: Report) -> str:
    path = folder / "report.html"
    path.write_text(render_page(document(report, MEDIUM)), "utf-8")
    return path.as_uri()


@pytest.fixture
async def shown(tmp_path: Path, make_report: Callable[..., Report]) -> AsyncIterator[Shown]:
    """Yield the page, and what it complains of or asks the network for."""
    told: list[str] = []
    async with browsing() as browser:
        page = await browser.new_page(viewport={"width": 1300, "height": 800})
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else told.append(asked.url))
        await page.goto(written(tmp_path, make_report()))
        yield page, told


async def test_a_citation_opens_its_quote_by_mouse_and_keyboard(shown: Shown) -> None:
    page, told = shown
    box, citation = page.locator("#quote"), page.locator("a.citation").first
    await citation.click()
    assert "Passage 1." in await box.inner_text()
    assert await box.locator("mark").all_inner_texts() == ["Passage 1."]
    await page.keyboard.press("Escape")
    assert not await box.is_visible()
    await citation.focus()
    await page.keyboard.press("Enter")
    assert await box.is_visible()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert not await box.is_visible()
    assert "citation" in await page.evaluate("document.activeElement.className")
    assert told == []


async def test_a_citation_tells_the_verdicts_on_its_own_claims_alone(
    tmp_path: Path, make_report: Callable[..., Report], judge: Callable[..., Verdict]
) -> None:
    text = "It is deep [@e1]. It is dry [@e1]."
    verdicts = (
        judge(text, "It is deep [@e1].", "supported", quote="Passage"),
        judge(text, "It is dry [@e1].", "contradicted", "so it says", quote="1."),
    )
    async with browsing() as browser:
        page = await browser.new_page()
        await page.goto(written(tmp_path, make_report(text, verdicts=verdicts)))
        box, citations = page.locator("#quote"), page.locator("main p a.citation")
        await citations.nth(0).click()
        assert await box.locator(".verdict").count() == 0
        assert await box.locator("mark").all_inner_texts() == ["Passage"]
        await page.keyboard.press("Escape")
        await citations.nth(1).click()
        assert await box.locator(".verdict").all_inner_texts() == ["≠ contradicted: so it says; judge: model"]
        assert await box.locator("mark").all_inner_texts() == ["1."]


async def test_tables_sort_by_number_and_by_keyboard_and_nothing_is_wider_than_a_phone(shown: Shown) -> None:
    page, told = shown
    depths = page.locator("tbody td:nth-child(2)")
    await page.locator("th button").nth(1).click()
    assert (await depths.all_inner_texts())[0].startswith("7")
    await page.keyboard.press("Enter")
    assert (await depths.all_inner_texts())[0] == "12.5"
    assert await page.locator("th").nth(1).get_attribute("aria-sort") == "descending"
    await page.set_viewport_size({"width": 360, "height": 700})
    assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert told == []


async def test_dark_and_print_have_their_own_colours(shown: Shown) -> None:
    page, _ = shown
    ask = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ask)
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(ask) != light
    await page.emulate_media(media="print")
    assert await page.evaluate(ask) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_has_enough_contrast(scheme: str, shown: Shown) -> None:
    page, _ = shown
    await page.emulate_media(color_scheme=scheme)
    await page.locator("a.citation").first.click()
    found = await page.evaluate(CONTRASTS)
    assert len(found) > 50
    assert [item for item in found if item[0] < 4.5] == []


async def test_landmarks_headings_names_and_alternatives(shown: Shown) -> None:
    page, _ = shown
    assert await page.locator("body > header, body > main, main > nav").count() == 3
    levels = await page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((h) => +h.tagName[1])")
    body = await page.evaluate("[...document.querySelectorAll('main :is(h2,h3,h4,h5,h6)')].map((h) => +h.tagName[1])")
    assert levels.count(1) == 1
    assert body[0] == 2
    assert all(after <= before + 1 for before, after in pairwise(body))
    assert await page.locator("img:not([alt]), img[alt='']").count() == 0
    assert await page.locator("[role=region]:not([aria-label]), nav:not([aria-labelledby])").count() == 0
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "report"


async def test_without_script_citations_link_to_sources(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    async with browsing() as browser:
        context = await browser.new_context(java_script_enabled=False)
        page = await context.new_page()
        await page.goto(written(tmp_path, make_report()))
        await page.locator("a.citation").first.click()
        assert page.url.endswith("#ref-1")
        await page.locator("#ref-1 summary").click()
        assert await page.locator("#ref-1 .quote").is_visible()
        assert not await page.locator("#quote").is_visible()


@pytest.mark.parametrize("language", ["en", "ar"])
async def test_the_page_does_not_scroll_sideways_and_the_way_past_the_contents_shows_on_focus(
    tmp_path: Path, make_report: Callable[..., Report], language: str
) -> None:
    async with browsing() as browser:
        page = await browser.new_page(viewport={"width": 1300, "height": 800})
        await page.goto(written(tmp_path, make_report(language=language)))
        assert await page.evaluate("document.documentElement.scrollWidth") == 1300
        await page.keyboard.press("Tab")
        box = await page.locator(".skip").bounding_box()
        assert box["width"] > 40
        assert 0 <= box["x"] <= 1300 - box["width"]


INTERACTIVE = """<style>#depth { color: rgb(1, 2, 3); }</style><p id="depth" style="font-weight: 700">7</p>
<button>deeper</button>
<script>
  document.querySelector("button").addEventListener("click", () => {
    document.getElementById("depth").textContent = "8 & 9 < 10";
    document.getElementById("depth").style.opacity = "0.5";
  });
</script>"""

HOSTILE_FIGURE = """
<link rel="stylesheet" href="URL/style"><link rel="prefetch" href="URL/prefetch">
<img src="URL/image"><iframe src="URL/frame"></iframe><script src="URL/script"></script>
<form action="URL/form" method="post"><button id="send">send</button></form>
<a id="away" href="URL/link" target="_top">away</a>
<script>/* twice */</script>
<script>
  const told = [];
  const attempt = (name, act) => { try { act(); told.push(name); } catch (error) { /* refused */ } };
  attempt("parent", () => parent.document.body.textContent);
  attempt("top", () => { top.location = "URL/top"; });
  attempt("storage", () => localStorage.setItem("a", "b"));
  attempt("cookie", () => document.cookie);
  attempt("eval", () => eval("1"));
  new Image().src = "URL/picture";
  navigator.sendBeacon("URL/beacon", "x");
  const script = document.createElement("script");
  script.src = "URL/same"; script.integrity = "HASH"; document.body.append(script);
  document.getElementById("send").click();
  document.getElementById("away").click();
  if (window.open("URL/window")) told.push("window");
  fetch("URL/fetch").then(() => told.push("fetch"), () => {}).then(() => {
    parent.postMessage(`reached: ${told}`, "*");
    location.href = "URL/self";
  });
</script>"""


def with_html(report: Report, html: str) -> Report:
    """Return the report with an interactive first figure."""
    first = report.figures[0]
    media = {**first.media, "text/html": html.encode()}
    return report.model_copy(update={"figures": (first.model_copy(update={"media": media}), *report.figures[1:])})


async def test_an_interactive_figure_works_on_the_screen_and_is_a_picture_on_paper(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    told: list[str] = []
    async with browsing() as browser:
        page = await browser.new_page(viewport={"width": 1300, "height": 900})
        page.on("console", lambda message: told.append(message.text))
        await page.goto(written(tmp_path, with_html(make_report(), INTERACTIVE)))
        await page.locator("figure iframe").scroll_into_view_if_needed()
        figure, depth = page.frame_locator("figure iframe"), "#depth"
        await figure.locator("button").click()
        assert await figure.locator(depth).inner_text() == "8 & 9 < 10"
        style = await figure.locator(depth).evaluate("(node) => [getComputedStyle(node).color, node.style.fontWeight]")
        assert style == ["rgb(1, 2, 3)", "700"]
        picture, box = page.locator("figure .still img"), page.locator("figure iframe")
        assert (await picture.is_visible(), await box.is_visible()) == (False, True)
        # The rest of the page works as before.
        await page.locator("a.citation").first.click()
        assert await page.locator("#quote").is_visible()
        await page.emulate_media(media="print")
        assert (await picture.is_visible(), await box.is_visible()) == (True, False)
        assert told == []


async def test_an_interactive_figure_neither_loads_nor_sees_nor_leaves_anything(
    tmp_path: Path, make_report: Callable[..., Report]
) -> None:
    hash_of_comment = next(iter(script_hashes("<script>/* twice */</script>")))
    async with scripted_server({}) as server, browsing() as browser:
        hostile = HOSTILE_FIGURE.replace("URL", server.at("")).replace("HASH", hash_of_comment)
        page = await browser.new_page(viewport={"width": 1300, "height": 900})
        await page.add_init_script("addEventListener('message', (event) => { window.told = event.data; })")
        address = written(tmp_path, with_html(make_report(), hostile))
        await page.goto(address)
        await page.locator("figure iframe").scroll_into_view_if_needed()
        while not (told := await page.evaluate("window.told || ''")):
            await page.wait_for_timeout(50)
        while page.frames[1].url == "about:srcdoc":  # until the browser has refused to leave it
            await page.wait_for_timeout(50)
        assert told in ("reached: ", "reached: top"), "an assignment to `top.location` may be ignored silently"
        assert page.url == address
        assert len(page.context.pages) == 1
        assert server.asked == []
