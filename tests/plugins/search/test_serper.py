"""Serper: what it is asked, and a recorded answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline.errors import QuotaSpent, Unsupported
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"organic": []})]
    await search(
        "serper",
        country="TW",
        include_domains=["example.org", "Example.NET"],
        exclude_domains=["example.com"],
        since="2024-01-02",
        request={"language": "zh-Hant", "cursor": "3"},
    )
    (asked,) = server.asked
    assert asked.path == "/search"
    assert asked.headers["x-api-key"] == "tvly-a-secret-of-twenty-four"
    assert asked.body == {
        "q": "kelp forests (site:example.org OR site:example.net) -site:example.com",
        "num": 10,
        "page": 3,
        "gl": "tw",
        "hl": "zh-tw",
        "tbs": "cdr:1,cd_min:1/2/2024",
    }


async def test_news_are_searched(search: Search, server: ScriptedServer) -> None:
    news = {"link": "https://example.org/n", "title": "N", "snippet": "s", "date": "3 hours ago"}
    server.answers = [json_answer({"news": [news] * 9})]
    page = await search("serper", kind="news")
    assert server.asked[0].path == "/news"
    assert page.hits[0].published is None  # no clock is asked: the same answer is the same hit on replay
    assert page.cursor == "2"
    server.answers = [json_answer({"news": [news]})]
    assert (await search("serper", kind="news")).cursor is None  # behind so short a page there is none


async def test_an_empty_account_has_status_400(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"message": "Not enough credits", "statusCode": 400}, 400)]
    with pytest.raises(QuotaSpent, match="Not enough credits"):
        await search("serper")


async def test_a_foreign_cursor_is_refused(search: Search) -> None:
    with pytest.raises(Unsupported, match="not a cursor"):
        await search("serper", request={"cursor": "page two"})


async def test_a_recorded_answer_is_read(
    search: Search, server: ScriptedServer, recorded: Callable[[str], list[dict[str, Any]]]
) -> None:
    (row,) = recorded("serper")
    told = row["response"]["json"]
    server.answers = [json_answer(told)]
    page = await search("serper", told["searchParameters"]["q"])
    assert [hit.url for hit in page.hits] == [one["link"] for one in told["organic"]][:10]
    assert page.hits[0].published == "2023-01-29"
    assert any(hit.images for hit in page.hits)
