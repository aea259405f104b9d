"""DuckDuckGo: saved pages of the service, its shut door, and what it is asked; ddgs sends the requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from leadline.errors import BadReply, RateLimited
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedAnswer, ScriptedServer

Search = Callable[..., Awaitable[SearchPage]]
EMPTY = ScriptedAnswer(b'<html><div class="serp__results"><div class="no-results">No results.</div></div></html>')


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [EMPTY]
    await search("duckduckgo", since="2024-01-02", exclude_domains=["example.com"], request={"language": "ja"})
    (asked,) = server.asked
    assert asked.method == "POST"
    form = {name: value for name, (value,) in parse_qs(asked.body.decode()).items()}
    assert form == {"q": "kelp forests -site:example.com", "l": "jp-jp", "df": "2024-01-02..2099-12-31"}


async def test_advertisements_are_left_out(search: Search, server: ScriptedServer) -> None:
    ad = '<div class="result result--ad"><h2><a class="result__a" href="https://ad.example">Buy</a></h2></div>'
    paid = '<div class="result"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a></div>'
    real = '<div class="result"><h2><a class="result__a" href="https://example.org/a">A</a></h2></div>'
    server.answers = [ScriptedAnswer(f'<div class="serp__results">{ad}{paid}{real}</div>'.encode())]
    assert [hit.url for hit in (await search("duckduckgo")).hits] == ["https://example.org/a"]


@pytest.mark.parametrize(
    "said",
    [
        ScriptedAnswer(b"<html>Unfortunately, bots use DuckDuckGo too.</html>", 202),
        ScriptedAnswer(b'<form id="challenge-form"><div class="anomaly-modal__title">Are you human?</div></form>'),
    ],
)
async def test_a_block_is_a_rate_limit(said: ScriptedAnswer, search: Search, server: ScriptedServer) -> None:
    server.answers = [said]
    with pytest.raises(RateLimited, match="takes this machine for a robot"):
        await search("duckduckgo")


async def test_saved_pages_are_read(
    search: Search, server: ScriptedServer, recorded: Callable[[str], list[dict[str, Any]]]
) -> None:
    for row in recorded("duckduckgo-html"):
        text, found = row["response"]["text"], row["n_result_links"]
        server.answers = [ScriptedAnswer(text.encode(), headers={"content-type": "text/html; charset=utf-8"})]
        if not found:  # the page for browsers with scripts: it holds no results
            with pytest.raises(BadReply, match="not a page of results"):
                await search("duckduckgo")
            continue
        page = await search("duckduckgo", request={"limit": 20})
        advertised = text.count("result--ad ")
        assert len(page.hits) == found - advertised
        assert all(hit.url.startswith("http") and "duckduckgo.com/l/" not in hit.url for hit in page.hits)
        assert all(hit.title and hit.snippet for hit in page.hits)
        if "OpenAI" in row["id"]:
            assert page.hits[0].url == "https://openai.com/newsroom/"
            assert page.hits[0].published == "2026-02-13"
