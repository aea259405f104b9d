"""Tavily: what it is asked, and its recorded answers."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline.errors import BadReply, QuotaSpent
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]
NOTHING = json_answer({"results": []})


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [NOTHING]
    await search(
        "tavily",
        depth="advanced",
        country="Japan",
        full_text=True,
        include_domains=["example.org"],
        exclude_domains=["example.com"],
        since="2024-01-02",
        until="2024-03-04",
        request={"limit": 50},
    )
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/search")
    assert asked.headers["authorization"] == "Bearer tvly-a-secret-of-twenty-four"
    assert asked.body == {
        "query": "kelp forests",
        "max_results": 20,
        "search_depth": "advanced",
        "topic": "general",
        "country": "japan",
        "include_raw_content": "text",
        "include_domains": ["example.org"],
        "exclude_domains": ["example.com"],
        "start_date": "2024-01-02",
        "end_date": "2024-03-04",
    }


async def test_a_long_query_is_cut_between_words(search: Search, server: ScriptedServer) -> None:
    server.answers = [NOTHING]
    await search("tavily", "kelp " * 200)
    query = server.asked[0].body["query"]
    assert 390 < len(query) <= 400
    assert set(query.split()) == {"kelp"}


async def test_text_dates_and_scores_are_read(search: Search, server: ScriptedServer) -> None:
    result = {
        "url": "https://example.org/a",
        "title": "A",
        "content": "c",
        "raw_content": "All of it.",
        "score": 0.9,
        "published_date": "Mon, 02 Sep 2024 10:00:00 GMT",
    }
    broken = {"title": "no address"}
    server.answers = [json_answer({"results": [result, broken]})]
    (hit,) = (await search("tavily", topic="news")).hits
    assert (hit.text, hit.published, hit.score) == ("All of it.", "2024-09-02", 0.9)


@pytest.mark.parametrize("status", [432, 433])
async def test_the_statuses_of_a_spent_plan_are_known(status: int, search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"detail": {"error": "This request exceeds your plan's set usage limit."}}, status)]
    with pytest.raises(QuotaSpent, match="exceeds your plan's set usage limit"):
        await search("tavily")


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd"])
async def test_an_answer_is_packed_once_and_as_asked_for(search: Search, server: ScriptedServer, encoding: str) -> None:
    """Each layer may be a thousand times larger, and httpx unpacks a piece as a whole."""
    packed = gzip.compress(gzip.compress(b'{"results": []}'))
    server.answers = [ScriptedAnswer(packed, headers={"content-encoding": encoding})]
    with pytest.raises(BadReply, match=f"packed as {encoding}, not as gzip, deflate"):
        await search("tavily")


async def test_an_answer_is_limited_as_it_is_unpacked(search: Search, server: ScriptedServer) -> None:
    packed = gzip.compress(b'{"results": [], "filling": "' + b" " * 21_000_000 + b'"}', 1)
    server.answers = [ScriptedAnswer(packed, headers={"content-encoding": "gzip"})]
    with pytest.raises(BadReply, match="larger than 20 MB"):
        await search("tavily")
    server.answers = [ScriptedAnswer(gzip.compress(NOTHING.body), headers={"content-encoding": "gzip"})]
    assert (await search("tavily")).hits == ()


async def test_recorded_answers_are_read(
    search: Search, server: ScriptedServer, recorded: Callable[[str], list[dict[str, Any]]]
) -> None:
    for row in recorded("tavily"):
        told = row["response"]["json"]
        server.answers = [json_answer(told, row["response"]["status"])]
        page = await search("tavily", row["request"]["body"]["query"])
        assert [hit.url for hit in page.hits] == [one["url"] for one in told["results"]]
        assert all(hit.snippet and hit.title and hit.score for hit in page.hits)
