"""Wikipedia: which one is asked for what, and answers after MediaWiki's documentation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from leadline._hosting.context import PluginContext
from leadline.errors import RateLimited, Unavailable, Unsupported
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedServer, json_answer
from leadline_plugins.search.wikipedia import Wikipedia, WikipediaSettings

Search = Callable[..., Awaitable[SearchPage]]
PAGES = [
    {"index": 2, "title": "Second", "extract": "2", "canonicalurl": "https://en.wikipedia.org/wiki/Second"},
    {
        "index": 1,
        "title": "First",
        "extract": "1\n",
        "canonicalurl": "https://en.wikipedia.org/wiki/First",
        "original": {"source": "https://upload.example.org/1.png", "width": 1},
    },
]


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"batchcomplete": True})]
    await search("wikipedia", request={"limit": 50, "cursor": "20"}, contact="me@example.org")
    parts = urlsplit(server.asked[0].path)
    asked = parse_qs(parts.query)
    assert parts.path == "/w/api.php"
    assert (asked["gsrsearch"], asked["gsrlimit"], asked["gsroffset"]) == (["kelp forests"], ["20"], ["20"])
    agent = server.asked[0].headers["user-agent"]
    assert agent.startswith("leadline/")
    assert agent.endswith("(me@example.org)")


async def test_hits_have_the_order_of_the_search(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"continue": {"gsroffset": 10}, "query": {"pages": PAGES}})]
    page = await search("wikipedia")
    assert [hit.title for hit in page.hits] == ["First", "Second"]
    assert page.hits[0].images == ("https://upload.example.org/1.png",)
    assert page.hits[0].csl["container-title"] == "Wikipedia"
    assert page.cursor == "10"


@pytest.mark.parametrize(
    ("language", "question", "host"),
    [
        ("", "ja", "https://ja.wikipedia.org"),
        ("", "zh-TW", "https://zh.wikipedia.org"),
        ("", "zh-Hant", "https://zh.wikipedia.org"),
        ("", "und", "https://en.wikipedia.org"),
        ("", "", "https://en.wikipedia.org"),
        ("de", "ja", "https://de.wikipedia.org"),
        ("", "evil.example/", "https://en.wikipedia.org"),
    ],
)
def test_the_language_selects_the_wikipedia(language: str, question: str, host: str, context: PluginContext) -> None:
    engine: Any = Wikipedia(WikipediaSettings(language=language), context)
    assert engine._api(language or ("" if question == "und" else question))._base == host


@pytest.mark.parametrize(
    ("code", "kind"),
    [("ratelimited", RateLimited), ("internal_api_error_DBQueryError", Unavailable), ("badvalue", Unsupported)],
)
async def test_errors_with_status_200_are_raised(
    code: str, kind: type[Exception], search: Search, server: ScriptedServer
) -> None:
    server.answers = [json_answer({"error": {"code": code, "info": "Told\nin words."}})]
    with pytest.raises(kind, match=r"\(HTTP 200\): Told in words\."):
        await search("wikipedia")
