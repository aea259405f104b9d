"""What every search engine does alike, whatever its service: empty answers, refusals, nonsense, limits, markup."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from html import escape
from typing import Any
from urllib.parse import parse_qs, quote, unquote_plus, urlsplit

import pytest

from leadline.errors import BadReply, Denied, ProviderError, RateLimited, Unavailable, Unsupported
from leadline.hookspecs import Offer
from leadline.records import SearchPage, SearchRequest
from leadline.testing.context import FakeCall
from leadline.testing.contracts import SearchProviderContract
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer, scripted_server

KEY = "tvly-a-secret-of-twenty-four"
TITLE = "<b>Kelp</b> &amp; tides"
Search = Callable[..., Awaitable[SearchPage]]


def urls(count: int) -> list[str]:
    return [f"https://example.org/{place}" for place in range(count)]


def tavily(count: int) -> ScriptedAnswer:
    return json_answer({"results": [{"url": url, "title": TITLE, "content": "c", "score": 0.5} for url in urls(count)]})


def serper(count: int) -> ScriptedAnswer:
    return json_answer({"organic": [{"link": url, "title": TITLE, "snippet": "c"} for url in urls(count)]})


def exa(count: int) -> ScriptedAnswer:
    return json_answer({"results": [{"url": url, "title": TITLE, "highlights": ["c"]} for url in urls(count)]})


def brave(count: int) -> ScriptedAnswer:
    listed = [{"url": url, "title": TITLE, "description": "<strong>c</strong>"} for url in urls(count)]
    return json_answer({"type": "search", "web": {"results": listed}} if listed else {"type": "search"})


def searxng(count: int) -> ScriptedAnswer:
    return json_answer({"results": [{"url": url, "title": TITLE, "content": "<em>c</em>"} for url in urls(count)]})


def wikipedia(count: int) -> ScriptedAnswer:
    pages = [
        {"index": place, "title": TITLE, "extract": "c", "canonicalurl": url} for place, url in enumerate(urls(count))
    ]
    return json_answer({"batchcomplete": True, "query": {"pages": pages}} if pages else {"batchcomplete": True})


def openalex(count: int) -> ScriptedAnswer:
    words = {"kelp": [1], "The": [0], "grows": [2]}
    works = [{"id": url, "display_name": TITLE, "abstract_inverted_index": words} for url in urls(count)]
    return json_answer({"meta": {"count": count}, "results": works})


def arxiv(count: int) -> ScriptedAnswer:
    entries = "".join(
        f"<entry><id>http://arxiv.org/abs/2401.0000{place}v1</id><title>{escape(TITLE)}</title><summary>c</summary>"
        "</entry>"
        for place in range(count)
    )
    return ScriptedAnswer(f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode())


def duckduckgo(count: int) -> ScriptedAnswer:
    found = "".join(
        f'<div class="result web-result"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg={quote(url)}&rut=0">'
        f'{TITLE}</a></h2><a class="result__snippet">c</a></div>'
        for url in urls(count)
    )
    return ScriptedAnswer(
        f'<html><div class="serp__results">{found}</div></html>'.encode(), headers={"content-type": "text/html"}
    )


def model(count: int) -> ScriptedAnswer:
    told = [
        {"type": "url_citation", "url": url, "title": TITLE, "start_index": 0, "end_index": 4} for url in urls(count)
    ]
    part = {"type": "output_text", "text": "Kelp grows.", "annotations": told}
    return json_answer({"object": "response", "output": [{"type": "message", "content": [part]}]})


def recall(count: int) -> ScriptedAnswer:
    told = json.dumps({"statements": [{"title": TITLE, "text": f"Kelp grows {place}."} for place in range(count)]})
    reply = {"choices": [{"message": {"role": "assistant", "content": told}, "finish_reason": "stop"}], "model": "m"}
    return json_answer(reply)


ANSWERS: dict[str, Callable[[int], ScriptedAnswer]] = {
    "tavily": tavily,
    "serper": serper,
    "exa": exa,
    "brave": brave,
    "duckduckgo": duckduckgo,
    "searxng": searxng,
    "wikipedia": wikipedia,
    "arxiv": arxiv,
    "openalex": openalex,
    "model": model,
    "recall": recall,
}
ENGINES = pytest.mark.parametrize("name", ANSWERS)


def asked_text(server: ScriptedServer) -> str:
    """Return what the last request said, address and body, decoded."""
    asked = server.asked[-1]
    body = asked.body if isinstance(asked.body, bytes) else json.dumps(asked.body, ensure_ascii=False).encode()
    return unquote_plus(asked.path) + unquote_plus(body.decode())


async def failure(search: Search, name: str, server: ScriptedServer, *said: ScriptedAnswer) -> ProviderError:
    server.answers = list(said)
    with pytest.raises(ProviderError) as caught:
        await search(name)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


@ENGINES
async def test_hits_have_address_title_and_snippet(name: str, search: Search, server: ScriptedServer) -> None:
    server.answers = [ANSWERS[name](3)]
    page = await search(name)
    assert len(page.hits) == 3
    assert len({hit.url for hit in page.hits}) == 3
    assert len(server.asked) == 1
    assert all(hit.snippet for hit in page.hits)


@ENGINES
async def test_titles_have_no_markup(name: str, search: Search, server: ScriptedServer) -> None:
    server.answers = [ANSWERS[name](1)]
    (hit,) = (await search(name)).hits
    assert hit.title.startswith("Kelp & tides")
    assert "<" not in hit.title + hit.snippet


@ENGINES
async def test_an_empty_result_is_no_failure(name: str, search: Search, server: ScriptedServer) -> None:
    server.answers = [ANSWERS[name](0)]
    assert (await search(name)).hits == ()


@ENGINES
async def test_a_query_may_be_in_any_script(name: str, search: Search, server: ScriptedServer) -> None:
    server.answers = [ANSWERS[name](1)]
    await search(name, "海藻の森 ecology 숲 \U0001f30a", request={"language": "ja"})
    for word in ("海藻の森", "ecology", "숲"):
        assert word in asked_text(server)


@ENGINES
@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejected_key_is_denied(
    name: str, status: int, search: Search, server: ScriptedServer, offer_of: Callable[[str], Offer[Any]]
) -> None:
    keyed = "api_key" in offer_of(name).settings.model_fields
    words = f"no such account: {KEY}" if keyed else "no such account"
    error = await failure(search, name, server, json_answer({"error": words}, status))
    assert isinstance(error, Denied)
    assert f"(HTTP {status})" in str(error)
    assert not error.retry


@ENGINES
async def test_a_rate_limit_keeps_its_wait(name: str, search: Search, server: ScriptedServer) -> None:
    error = await failure(search, name, server, json_answer({"error": "slow down"}, 429, retry_after="7"))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 7


@ENGINES
async def test_a_redirect_is_not_followed(name: str, search: Search, server: ScriptedServer) -> None:
    error = await failure(search, name, server, ScriptedAnswer(b"", 302, {"location": "https://login.example.org"}))
    assert isinstance(error, ProviderError)
    assert not error.retry
    assert len(server.asked) == 1


@ENGINES
@pytest.mark.parametrize("body", [b"", b"<html>Sign in</html>", b"[1, 2]", b'{"a', b"\xff\xfe\x00", b'"words"', b"{}"])
async def test_nonsense_is_a_bad_reply(name: str, body: bytes, search: Search, server: ScriptedServer) -> None:
    if body == b"{}" and name in ("brave", "serper", "tavily"):
        # An empty object is how two of these say that nothing was found, and what Tavily's SDK makes of it.
        body = b'{"web": 3, "organic": 3, "results": 3}'
    error = await failure(search, name, server, ScriptedAnswer(body))
    # Where models are asked a web page says that the address is wrong, and it will be there the next time, too.
    assert isinstance(error, Unsupported if (name, body[:1]) == ("recall", b"<") else BadReply)


@ENGINES
async def test_a_cut_answer_is_retried(name: str, search: Search, server: ScriptedServer) -> None:
    whole = ANSWERS[name](3).body
    error = await failure(search, name, server, ScriptedAnswer(whole[: len(whole) // 2], cut=True))
    assert isinstance(error, Unavailable | BadReply)
    assert error.retry


@ENGINES
async def test_a_silent_server_is_unavailable(name: str, make: Callable[..., Any], server: ScriptedServer) -> None:
    server.answers = [ScriptedAnswer(b"{}", wait=2)]
    own = {"read_timeout": 0.1} if name == "recall" else {}  # its call is a chat, which may take long
    engine = make(name, **own)
    with pytest.raises(Unavailable):
        await engine.search(SearchRequest(query="kelp"), FakeCall(seconds=0.1))


@ENGINES
async def test_a_missing_server_is_unavailable(name: str, search: Search) -> None:
    with pytest.raises(Unavailable) as caught:
        await search(name, base_url="http://127.0.0.1:9")
    assert KEY not in str(caught.value)


@ENGINES
async def test_addresses_contain_no_key(name: str, search: Search, server: ScriptedServer) -> None:
    server.answers = [ANSWERS[name](1)]
    await search(name)
    assert KEY not in server.asked[-1].path
    assert parse_qs(urlsplit(server.asked[-1].path).query).get("api_key") is None


@ENGINES
class TestEngines(SearchProviderContract):
    """What engines do that speak no HTTP, too."""

    @pytest.fixture
    def offer(self, name: str, offer_of: Callable[[str], Offer[Any]]) -> Offer[Any]:
        return offer_of(name)

    @pytest.fixture
    def plugin(self, name: str, make: Callable[..., Any], server: ScriptedServer) -> Any:
        server.answers = [ANSWERS[name](12)]
        return make(name)

    @pytest.fixture
    def settings(self, name: str, settings_of: Callable[..., Any]) -> Any:
        return settings_of(name)

    @pytest.fixture
    async def refused(self, name: str, make: Callable[..., Any]) -> AsyncIterator[Any]:
        async with scripted_server(json_answer({"error": f"no such account: {KEY}"}, 401)) as shut:
            yield make(name, base_url=shut.url)
