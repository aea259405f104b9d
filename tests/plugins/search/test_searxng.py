"""SearXNG: what an instance is asked, and answers after its documentation; the real one is in test_real_searx."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from leadline.errors import Denied, Unavailable
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"results": []})]
    await search(
        "searxng",
        categories=["general", "science"],
        engines=["wikipedia"],
        time_range="year",
        safe="off",
        request={"language": "zh-TW", "cursor": "2"},
    )
    parts = urlsplit(server.asked[0].path)
    assert parts.path == "/search"
    assert {name: value for name, (value,) in parse_qs(parts.query).items()} == {
        "q": "kelp forests",
        "format": "json",
        "pageno": "2",
        "categories": "general,science",
        "engines": "wikipedia",
        "language": "zh-TW",
        "time_range": "year",
        "safesearch": "0",
    }


async def test_traditional_chinese_is_sent_as_a_region(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"results": []})]
    await search("searxng", request={"language": "zh-Hant"})
    assert parse_qs(urlsplit(server.asked[0].path).query)["language"] == ["zh-TW"]


async def test_hits(search: Search, server: ScriptedServer) -> None:
    result = {
        "url": "https://example.org/a",
        "title": "A",
        "content": None,
        "publishedDate": "2024-05-06T00:00:00",
        "score": 1.5,
        "img_src": "//no.scheme/x.png",
        "thumbnail": "https://example.org/1.png",
    }
    server.answers = [json_answer({"results": [result]})]
    (hit,) = (await search("searxng")).hits
    assert (hit.published, hit.score, hit.images) == ("2024-05-06", None, ("https://example.org/1.png",))


async def test_an_instance_without_json_is_reported_with_the_setting(search: Search, server: ScriptedServer) -> None:
    server.answers = [ScriptedAnswer(b"<h1>Forbidden</h1>", 403)]
    with pytest.raises(Denied, match=r"add json to search\.formats"):
        await search("searxng")


async def test_an_empty_result_of_silent_engines_is_a_failure(search: Search, server: ScriptedServer) -> None:
    server.answers = [
        json_answer({"results": [], "unresponsive_engines": [["google", "CAPTCHA"], ["bing", "timeout"]]})
    ]
    with pytest.raises(Unavailable, match=r"google \(CAPTCHA\), bing \(timeout\)"):
        await search("searxng")
