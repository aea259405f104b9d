from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from leadline.contracts import Context
from leadline.records import Report
from leadline.testing.context import FakeCall
from leadline_plugins.formats.document import document
from leadline_plugins.formats.formulas import mathml
from leadline_plugins.formats.html import MEDIUM, Html, render_page


class Tags(HTMLParser):
    """Gathers what a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def shown(report: Report) -> str:
    return render_page(document(report, MEDIUM))


async def test_the_page_holds_everything(
    context: Context, make_call: Callable[..., FakeCall], make_report: Callable[..., Report]
) -> None:
    (file,) = (await Html(context).format(make_report(), make_call())).files
    assert (file.name, file.media_type) == ("report.html", "text/html; charset=utf-8")
    tags = Tags(file.data.decode()).tags
    loaded = [value for _, attrs in tags for name in ("src", "srcset", "data") if (value := attrs.get(name))]
    assert loaded
    assert all(value.startswith("data:image/") for value in loaded)
    assert not [attrs for tag, attrs in tags if tag in {"link", "iframe", "object", "embed", "base", "form"}]


def test_the_policy_lets_only_our_own_style_and_script_through(make_report: Callable[..., Report]) -> None:
    text = shown(make_report())
    policy = next(attrs["content"] for tag, attrs in Tags(text).tags if "http-equiv" in attrs) or ""
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert f"{tag}-src 'sha256-{b64encode(sha256(inside.encode()).digest()).decode()}'" in policy


def test_an_interactive_figure_is_in_a_frame_whose_scripts_alone_the_policy_names(
    make_report: Callable[..., Report],
) -> None:
    html = '<p title="&quot;">"1 < 2"</p><script>one("&amp;</p>")</script><SCRIPT src="x"></SCRIPT>'
    html += "<script>\r\ntwo</script>"
    report = make_report("Deep. Figure 1. Figure 2.")
    first, second = report.figures
    media = ({**first.media, "text/html": html.encode()}, {**second.media, "text/html": b"\xff<script>three</script>"})
    figures = tuple(one.model_copy(update={"media": data}) for one, data in zip((first, second), media, strict=True))
    text = shown(report.model_copy(update={"figures": figures}))
    tags = Tags(text).tags
    (frame,) = (attrs for tag, attrs in tags if tag == "iframe")
    assert (frame["sandbox"], frame["title"]) == ("allow-scripts", first.alt)
    before, _, rest = (frame["srcdoc"] or "").partition("<p")
    assert before.startswith("<!doctype html><meta http-equiv=")
    assert "default-src 'none'; script-src 'unsafe-inline'; style-src" in before
    assert f"<p{rest}" == html.replace("\r\n", "\n")
    (outer,) = (attrs["content"] or "" for _, attrs in tags if "http-equiv" in attrs)
    hashes = re.findall(r"'(sha256-[^']*)'", re.search("script-src ([^;]*)", outer)[1])  # type: ignore[index]
    named = [b64encode(sha256(script.encode()).digest()).decode() for script in ('one("&amp;</p>")', "\ntwo")]
    assert hashes[1:] == [f"sha256-{name}" for name in named]
    assert sum(tag == "img" for tag, _ in tags) == 2, "the pictures for paper"


def test_citations_name_the_quotes_they_open(make_report: Callable[..., Report]) -> None:
    tags = Tags(shown(make_report())).tags
    ids = {attrs["id"] for _, attrs in tags if "id" in attrs}
    cited = [attrs for tag, attrs in tags if tag == "a" and "citation" in (attrs.get("class") or "")]
    assert cited
    for attrs in cited:
        assert (attrs["href"] or "").removeprefix("#") in ids
        assert set((attrs["data-evidence"] or "").split()) <= ids


def test_everything_that_is_linked_to_is_there_once(make_report: Callable[..., Report]) -> None:
    tags = Tags(shown(make_report())).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {(attrs["href"] or "")[1:] for _, attrs in tags if (attrs.get("href") or "").startswith("#")} <= set(ids)


def test_pictures_have_their_alternative_text(make_report: Callable[..., Report]) -> None:
    pictures = [attrs["alt"] for tag, attrs in Tags(shown(make_report())).tags if tag == "img"]
    assert pictures == ['White "all" over', "Falls"]


@pytest.mark.parametrize(
    "tex", [r"\frac{", r"\text{<script>}", r"\href{javascript:x}{y}", r"\def\x{\x\x}\x", "x" * 9000]
)
def test_formulas_are_mathml_or_the_text_as_written(tex: str) -> None:
    made = mathml(tex, block=False)
    assert made.startswith(("<math", "<code>"))
    assert "<script" not in made
    assert 'href="' not in made


def test_arabic_reports_read_from_right_to_left(make_report: Callable[..., Report]) -> None:
    assert '<html lang="ar" dir="rtl">' in shown(make_report(language="ar"))
    assert '<html lang="zh">' in shown(make_report(language="zh"))


def test_nothing_overflows_the_page_sideways(make_report: Callable[..., Report]) -> None:
    made = shown(make_report(language="ar"))
    assert '<html lang="ar" dir="rtl">' in made
    rules = [line for line in made.split("\n") if line.startswith(".skip")]
    assert rules
    assert not [rule for rule in rules if re.search(r"\b(?:left|right|inset-inline-start):\s*-", rule)]


@pytest.mark.parametrize(("language", "font"), [("zh-TW", "Noto Serif CJK TC"), ("zh-Hant", "Noto Serif CJK TC")])
def test_traditional_chinese_has_fonts_of_its_own(make_report: Callable[..., Report], language: str, font: str) -> None:
    made = shown(make_report(language=language))
    (rule,) = re.findall(r":root:is\(([^{]*)\) \{\s*--east-serif: \"([^\"]*)", made)
    assert f":lang({language})" in rule[0]
    assert rule[1] == font
