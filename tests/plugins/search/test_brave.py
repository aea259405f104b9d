"""Brave: what it is asked, and answers after its documentation (no recording of the service was at hand)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from leadline.errors import Denied, QuotaSpent, RateLimited
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]


def params(server: ScriptedServer) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(server.asked[-1].path).query).items()}


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({})]
    await search("brave", country="jp", since="2024-01-02", include_domains=["example.org"], request={"language": "ja"})
    assert server.asked[0].headers["x-subscription-token"] == "tvly-a-secret-of-twenty-four"
    assert params(server) == {
        "q": "kelp forests site:example.org",
        "count": "10",
        "offset": "0",
        "country": "JP",
        "search_lang": "jp",
        "safesearch": "moderate",
        "freshness": "2024-01-02to2099-12-31",
        "text_decorations": "false",
        "result_filter": "web",
    }


@pytest.mark.parametrize(
    ("language", "sent"), [("zh-Hant", "zh-hant"), ("no", "nb"), ("und", None), ("ka", None), ("id", None)]
)
async def test_an_unknown_language_is_not_sent(
    language: str, sent: str | None, search: Search, server: ScriptedServer
) -> None:
    server.answers = [json_answer({})]
    await search("brave", request={"language": language})
    assert params(server).get("search_lang") == sent


async def test_a_query_has_at_most_four_hundred_characters_and_fifty_words(
    search: Search, server: ScriptedServer
) -> None:
    server.answers = [json_answer({})]
    for query in ("a " * 90, "kelpforest" * 60):
        await search("brave", query, exclude_domains=["example.org"])
        sent = params(server)["q"]
        assert len(sent) <= 400
        assert len(sent.split()) <= 50
        assert sent.endswith(" -site:example.org")


async def test_hits(search: Search, server: ScriptedServer) -> None:
    result = {
        "url": "https://example.org/a",
        "title": "A",
        "description": "One.",
        "extra_snippets": ["Two.", "One."],
        "page_age": "2024-05-06T07:08:09",
        "thumbnail": {"src": "https://imgs.example.org/1", "original": "https://example.org/1.png"},
    }
    answer = {"query": {"more_results_available": True}, "web": {"results": [result]}}
    server.answers = [json_answer(answer)]
    page = await search("brave", request={"cursor": "8"})
    (hit,) = page.hits
    assert (hit.snippet, hit.published, hit.images) == ("One. … Two.", "2024-05-06", ("https://example.org/1.png",))
    assert page.cursor == "9"
    assert (await search("brave", request={"cursor": "9"})).cursor is None  # the last page that is served


@pytest.mark.parametrize(
    ("status", "code", "detail", "kind"),
    [
        (422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.", Denied),
        (429, "RATE_LIMITED", "Request rate limit exceeded for plan.", RateLimited),
        (429, "QUOTA_LIMITED", "Request quota limit exceeded for plan.", QuotaSpent),
    ],
)
async def test_refusals(
    status: int, code: str, detail: str, kind: type[Exception], search: Search, server: ScriptedServer
) -> None:
    server.answers = [json_answer({"type": "ErrorResponse", "error": {"code": code, "detail": detail}}, status)]
    with pytest.raises(kind, match=detail):
        await search("brave")
