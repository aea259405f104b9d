"""The languages of the page: every text has a translation, which is used."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from jinja2 import nodes
from selectolax.lexbor import LexborHTMLParser
from tests.server.conftest import QUESTION, Served, events, finish, order
from tests.server.page.conftest import Browser, text

import leadline_plugins
import leadline_server
from leadline.rendering import VERDICTS
from leadline_plugins.stages import plan
from leadline_server.page import languages, site_pages, trail, wording
from leadline_server.page.templating import SCRIPT_TEXT, Templates
from leadline_server.pipelines import LACKS

SERVER = Path(leadline_server.__file__).parent
PAGE, PLUGINS = SERVER / "page", Path(leadline_plugins.__file__).parent
OTHERS = [name for name in languages.LANGUAGES if name != "en"]
# Modules whose errors only programs read.
FOR_PROGRAMS = ("commands", "openai", "mcp", "requests.py", "info_routes.py", "run_routes.py", "metrics.py")
REQUESTS = ("GET ", "POST ", "its `files` ")


def marked_texts() -> set[str]:
    """Return the texts that templates, scripts and Python mark, by the names that translate them."""
    environment, texts = Templates().environment, set[str]()
    for path in (PAGE / "templates").glob("*.html"):
        source = path.read_text()
        marked = environment.extract_translations(source)  # type: ignore[attr-defined]
        texts |= {message[0] if isinstance(message, tuple) else message for *_, message in marked}
        for node in environment.parse(source).find_all(nodes.Filter):
            if node.name == "plural" and isinstance(node.args[0], nodes.Const):
                texts.add(f"%(number)s {node.args[0].value}")
    for path in (PAGE / "static").glob("*.js"):
        texts |= {*SCRIPT_TEXT.findall(path.read_text())}
    for path in SERVER.rglob("*.py"):
        if not {*path.relative_to(SERVER).parts} & {*FOR_PROGRAMS}:
            texts |= {*_of_python(ast.parse(path.read_text()))}
    return texts


def _of_python(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="gettext"), args=[ast.Constant(value=str(message))]):
                yield message
            case ast.Call(func=ast.Name(id="plural"), args=[_, ast.Constant(value=str(noun)), *_]):
                yield f"%(number)s {noun}"
            case ast.Call(func=ast.Name(id="Problem"), args=[_, _, *texts]):
                values = [item.value for item in texts[:2] if isinstance(item, ast.Constant)]
                yield from (item for item in values if isinstance(item, str) and item and not item.startswith(REQUESTS))
            case ast.Call(func=ast.Name(id="Rate" | "Slots"), args=[_, ast.Constant(value=str(message))]):
                yield message
            case ast.Call(func=ast.Name(id="role_refused"), args=[_, _, ast.Constant(value=str(message)), _]):
                yield message
            case ast.Assign(targets=[ast.Name(id="words" | "message")], value=ast.Constant(value=str(message))):
                yield message
            case ast.keyword(arg="words", value=ast.Constant(value=str(message))):
                yield message
            case ast.Assign(
                targets=[ast.Attribute(attr="waits")], value=ast.Tuple(elts=[ast.Constant(value=str(message)), _])
            ):
                if message:
                    yield message


def looked_up_texts() -> set[str]:
    """Return the texts that are data until they are shown."""
    tables = (wording.STATUSES, wording.STAGES, wording.STAGE_STATES, wording.TIERS, wording.COVERAGE, wording.FAILURES)
    texts = {text for table in (*tables, trail.DOING, LACKS) for text in table.values()}
    texts |= {form.name for form in VERDICTS.values()}
    texts |= {text for texts in wording.WAYS.values() for text in texts} | {"Tables as CSV", "As the question"}
    for path in (PLUGINS / "stages").rglob("*.py"):
        calls = re.findall(r"end_loop\(.*\)", path.read_text())
        texts |= {reason for call in calls for reason in re.findall('"(.+?)"', call)}
    for path in (PLUGINS / "pipelines").glob("*.toml"):
        ((name, about),) = tomllib.loads(path.read_text())["pipelines"].items()
        if name not in {*wording.WAYS, *(effort[2] for effort in site_pages.EFFORTS)}:
            texts |= {name.capitalize(), about["description"]}
    texts |= {plan._APPROVE.partition("\n\n")[0], "Plan", "Your answer", "no reason was given"}
    texts |= {text for title, words, *_ in site_pages.EFFORTS for text in (title, words)} | {
        *site_pages.EXAMPLES,
        *site_pages.QUOTED.values(),
    }
    return texts


def test_templates_mark_every_text() -> None:
    marks = re.compile(r"{% (?:trans\b|block body ).*?{% end\w+ %}|{%.*?%}|{{.*?}}|{#.*?#}|<kbd>.*?</kbd>", re.DOTALL)
    attributes = re.compile(r'(?:aria-label|placeholder|title)="([^"]*)"')
    for path in (PAGE / "templates").glob("*.html"):
        html = marks.sub("", path.read_text())
        texts = attributes.findall(html) + re.sub("<[^>]*>", "\n", html).split("\n")
        words = {word for line in texts for word in re.findall(r"[A-Za-z]{2,}", line)}
        known = {"https", "Leadline", "UTC", "KEY", "VALUE", "team", "harbour", "year"}
        assert path.name == "docs.html" or words <= known, path


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_of_the_page_has_a_translation_and_none_is_superfluous(language: str) -> None:
    known, wanted = languages.translations(language), marked_texts() | looked_up_texts()
    assert wanted - known.keys() == set(), "without a translation"
    assert known.keys() - wanted == set(), "in no template, script or module"
    assert list(known) == sorted(known), "the table is sorted"


@pytest.mark.parametrize("language", OTHERS)
def test_translations_have_the_placeholders_and_tags_of_the_english_texts(language: str) -> None:
    parts = re.compile(r"%\(\w+\)s|</?[a-z][^>]*>|%%")
    for english, translation in languages.translations(language).items():
        assert Counter(parts.findall(english)) == Counter(parts.findall(translation)), english
        assert translation.strip(), english


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", ["zh", "zh", "en"]),
        ("en;q=0.2, ja-JP ; q=0.9, *;q=0.1", ["ja", "en"]),
        ("ja;q=0, de", ["de"]),
        ("", []),
        ("\x00;;;=,", []),
    ],
)
def test_the_languages_of_a_browser_are_ordered_by_quality(header: str, names: list[str]) -> None:
    assert languages.accepted(header) == names


def test_a_reader_switches_the_language_without_javascript(browser: Browser) -> None:
    browser.http.headers["Accept-Language"] = "ja,en;q=0.5"
    page = browser.open("/runs?q=harbour")
    assert (_language(page), text(page, "h1")) == ("ja", "調査")
    link = page.css_first("footer a[lang=zh]")
    assert link is not None
    switched = browser.http.get(f"/runs{link.attributes['href']}")
    assert switched.url.query == b"q=harbour"
    assert _language(LexborHTMLParser(switched.text)) == "zh"
    kept = browser.open("/documents")
    assert _language(kept) == "zh", "a cookie keeps it"
    words = json.loads(text(kept, "script#words"))
    assert (words["Close"], words["Choose a folder"]) == ("关闭", "选择文件夹"), "those of the scripts"
    assert "没有这个任务" in text(browser.open("/runs/00000000_20260101_000000", 404))
    browser.http.get("/?language=en")
    assert "What do you want to know?" in text(browser.open("/"), "h1")


def test_the_programs_of_the_server_get_english(browser: Browser, done: str) -> None:
    reply = browser.http.get("/v1/runs/0", headers={"Accept": "application/json", "Accept-Language": "zh"})
    assert reply.json()["message"] == "there is no such run"


@pytest.mark.parametrize("language", OTHERS)
def test_every_page_is_in_the_language_of_the_browser(
    browser: Browser, done: str, served: Served, language: str
) -> None:
    browser.http.headers["Accept-Language"] = language
    with served.gate.closed():
        live = order(served.client(), f"{QUESTION} {language}")
        assert events(served.client(), live, until="query")
        run, paths = f"/runs/{done}", ["/", "/runs", "/documents", "/settings", "/login", "/nowhere"]
        paths += [run, *(f"{run}/{name}" for name in ("trail", "checks", "details", "edit", "share", "delete"))]
        for path in (*paths, f"/runs/{live}", f"/compare?run={done}&run={done}"):
            html = browser.http.get(path).text
            page = LexborHTMLParser(html)
            assert _language(page) == language, path
            for name in ("h1", "nav", "main"):
                assert page.css_first(name) is not None, path
            assert not _english(page), path
        served.client().post(f"/v1/runs/{live}/cancel")
    finish(served.client(), live)


def _language(page: LexborHTMLParser) -> str:
    html = page.css_first("html")
    assert html is not None
    return html.attributes["lang"] or ""


def _english(page: LexborHTMLParser) -> list[str]:
    """Return the texts of a page that the English page has, too."""
    page.strip_tags(["code", "script", "style", "article"])
    known = languages.translations("ja").keys()
    own = [" ".join(node.text(deep=False).split()) for node in page.css("main *, header *, dialog *")]
    own += [
        node.attributes[name] or "" for name in ("aria-label", "placeholder", "title") for node in page.css(f"[{name}]")
    ]
    return [item for item in own if item in known]
