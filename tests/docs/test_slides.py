"""The slides of the documentation: one file that loads nothing, whose citations open their passages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from examples.slides import Slides
from tests.plugins.formats.conftest import rich_report
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline.testing.context import FakeCall, FakeRun, fake_context
from leadline.testing.contracts import ReportFormatterContract

Slide = Callable[[str, str], Awaitable[Path]]
SLIDES = Path(__file__).parents[2] / "examples" / "slides.py"


class TestSlides(ReportFormatterContract):
    tested = Slides


def test_a_settings_file_names_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "slides.py").write_bytes(SLIDES.read_bytes())
    (tmp_path / "house.css").touch()
    file = tmp_path / "leadline.toml"
    file.write_text('report.formats = ["slides"]\n[plugins.slides]\nuse = "./slides.py"\ncss = "./house.css"\n')
    loaded = load_settings(PluginCatalog.discover(), file=file, environ={}, user_file=tmp_path / "none")
    assert loaded.settings.plugin("slides").css == tmp_path / "house.css"


@pytest.fixture
def slides(tmp_path: Path) -> Slide:
    async def slides(text: str, language: str) -> Path:
        made = Slides(fake_context(tmp_path, name="slides"))
        (file,) = (await made.format(rich_report(text, language=language), FakeCall(run=FakeRun()))).files
        assert file.name == "slides.html"
        (tmp_path / file.name).write_bytes(file.data)
        return tmp_path / file.name

    return slides


async def test_each_citation_names_a_passage_of_the_file_and_nothing_is_loaded(slides: Slide) -> None:
    page = (await slides("水深九英寻 [@e1]。潮差为一英寻半 [@e4]。", "zh")).read_text()
    names = set(re.findall(r' id="([^"]+)"', page))
    cited = [name for names in re.findall(r'data-evidence="([^"]+)"', page) for name in names.split()]
    assert len(cited) > 2
    assert {*cited, *re.findall(r'href="#([^"]+)"', page)} <= names | {"report"}
    assert "水深九英寻" in page
    assert "≠" in page
    assert not re.findall(r"""(?:src|url\(|@import)\s*=?\s*["']?(?!data:)(?:https?:|//)""", page)


@pytest.mark.slow
async def test_slides_hold_the_report_and_a_click_opens_the_passage(slides: Slide) -> None:
    pytest.importorskip("playwright.async_api", reason="needs pip install playwright")
    from tests.plugins.formats.test_html_browser import browsing

    text = "The bay is 40 m deep [@e1].\n\n" + "\n\n".join(f"It is wide, {n}. {'And so on. ' * 40}" for n in range(9))
    path = await slides(text, "en")
    told: list[str] = []
    async with browsing() as browser:
        page = await browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
        page.on("console", lambda message: told.append(message.text))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else told.append(asked.url))
        await page.goto(path.as_uri())
        heights = "slides => slides.map(slide => slide.scrollHeight - slide.clientHeight)"
        assert set(await page.eval_on_selector_all(".slide", heights)) == {0}
        assert await page.locator(".slide h2", has_text="Depth").count() > 2
        await page.locator("a.citation", has_text="[1]").first.click()
        assert "Passage 1." in await page.locator("#quote").inner_text()
        await page.keyboard.press("Escape")
        await page.locator("body").press("ArrowRight")
        tops = "slides => slides.map(slide => Math.abs(slide.getBoundingClientRect().top))"
        assert min((await page.eval_on_selector_all(".slide", tops))[2:]) < 2
    assert told == []
