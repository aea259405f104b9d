"""The page in a real browser: Chromium of the system, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from leadline.records import Report
from leadline_plugins.formats.document import document
from leadline_plugins.formats.html import MEDIUM
from leadline_plugins.formats.html.page import page as html_page

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.async_api", reason="needs pip install playwright")
CHROMIUM = shutil.which("chromium")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


@pytest.fixture
async def shown(tmp_path: Path, make_report: Callable[..., Report]) -> AsyncIterator[tuple[Any, list[str]]]:
    """Yield the page, and what it complains of or asks the network for."""
    if CHROMIUM is None:
        pytest.skip("needs the Debian package chromium")
    path = tmp_path / "report.html"
    path.write_text(html_page(document(make_report(), MEDIUM)), "utf-8")
    told: list[str] = []
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = await browser.new_page(viewport={"width": 1300, "height": 800})
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else told.append(asked.url))
        await page.goto(path.as_uri())
        yield page, told
        await browser.close()


async def test_a_citation_opens_its_quote_by_mouse_and_keyboard(shown: tuple[Any, list[str]]) -> None:
    page, told = shown
    box, citation = page.locator("#quote"), page.locator("a.citation").first
    await citation.click()
    assert "Passage 1." in await box.inner_text()
    assert "supported" in await box.inner_text()
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


async def test_tables_sort_by_number_and_nothing_is_wider_than_a_phone(shown: tuple[Any, list[str]]) -> None:
    page, told = shown
    await page.locator("th button").nth(1).click()
    assert (await page.locator("tbody td:nth-child(2)").all_inner_texts())[0].startswith("7")
    await page.set_viewport_size({"width": 360, "height": 700})
    assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert told == []


async def test_dark_and_print_have_their_own_colours(shown: tuple[Any, list[str]]) -> None:
    page, _ = shown
    ask = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ask)
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(ask) != light
    await page.emulate_media(media="print")
    assert await page.evaluate(ask) == "rgb(255, 255, 255)"
