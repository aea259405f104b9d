"""Exa: what it is asked, what it costs, and results as the vendor's specification shows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

from leadline.records import SearchPage, Usage
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"results": []})]
    await search("exa", category="research paper", full_text=True, since="2024-01-02", exclude_domains=["example.com"])
    (asked,) = server.asked
    assert asked.path == "/search"
    assert asked.headers["x-api-key"] == "tvly-a-secret-of-twenty-four"
    assert asked.body == {
        "query": "kelp forests",
        "numResults": 10,
        "type": "neural",
        "category": "research paper",
        "excludeDomains": ["example.com"],
        "startPublishedDate": "2024-01-02",
        "contents": {"text": True, "highlights": True},
    }


async def test_the_reported_cost_is_spent(search: Search, server: ScriptedServer, call: FakeCall) -> None:
    server.answers = [json_answer({"results": [], "costDollars": {"total": 0.005}})]
    await search("exa")
    assert call.spent == [Usage(cost=Decimal("0.005"))]


async def test_the_examples_of_the_vendor_are_read(
    search: Search, server: ScriptedServer, recorded: Callable[[str], list[dict[str, Any]]]
) -> None:
    for row in recorded("exa"):
        told = row["response"]["json"]
        if "results" not in told:
            continue  # of its other services
        server.answers = [json_answer(told)]
        for full in (True, False):
            page = await search("exa", full_text=full)
            hit, one = page.hits[0], told["results"][0]
            assert (hit.url, hit.title, hit.score) == (one["url"], one["title"], one["score"])
            assert hit.published == "2023-11-16"
            assert hit.snippet == " … ".join(one["highlights"])
            assert hit.text == (one["text"] if full else None)
            assert hit.images == (one["image"],)
            assert hit.csl == {"author": [{"literal": one["author"]}]}
