"""The models' own searches: each vendor's request, its recorded answers, and what is done with citations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline.errors import Denied
from leadline.records import SearchPage
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer
from leadline_plugins.search import model
from leadline_plugins.search.model import ModelSearchSettings, around, ready, vendor_of

Search = Callable[..., Awaitable[SearchPage]]
Recorded = Callable[[str], list[dict[str, Any]]]
GEMINI = {"vendor": "gemini", "gemini_api_key": "gemini-key-of-nothing"}
ROUTER = {"vendor": "openrouter", "openrouter_api_key": "router-key-of-nothing"}


def answer(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (row,) = [row for row in rows if row["id"] == name]
    return dict(row["response"]["json"])


async def test_the_request_to_openai(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"output": []})]
    await search("model", include_domains=["example.org"], country="jp")
    (asked,) = server.asked
    assert asked.path == "/responses"
    assert asked.body["tools"] == [
        {
            "type": "web_search",
            "search_context_size": "medium",
            "filters": {"allowed_domains": ["example.org"]},
            "user_location": {"type": "approximate", "country": "JP"},
        }
    ]
    assert asked.body["tool_choice"] == {"type": "web_search"}
    assert "kelp forests" in asked.body["input"]


async def test_citations_of_openai_are_hits(
    search: Search, server: ScriptedServer, call: FakeCall, recorded: Recorded
) -> None:
    told = answer(recorded("openai-responses"), "openai-responses/test_openai_include_raw_annotations_non_streaming#0")
    server.answers = [json_answer(told)]
    (hit,) = (await search("model")).hits
    assert hit.url == "https://www.britannica.com/place/Mount-Columbia"
    assert hit.snippet.startswith("The tallest mountain in Alberta is Mount Columbia")
    assert hit.snippet.endswith("highest point.")
    assert hit.text is None  # the page is read, and quoted: never the model
    assert (call.spent[0].input_tokens, call.spent[0].output_tokens) == (8530, 98)


async def test_sources_of_openai_follow_its_citations(
    search: Search, server: ScriptedServer, recorded: Recorded
) -> None:
    server.answers = [json_answer(answer(recorded("openai-vercel"), "openai-vercel/openai-web-search-tool.1.json"))]
    page = await search("model", request={"limit": 50})
    assert page.hits[0].title == "Why OpenAI declared a code red for ChatGPT | The Verge"
    assert len({hit.url for hit in page.hits}) == len(page.hits) > 5
    assert any(not hit.title for hit in page.hits)
    only = await search("model", include_domains=["theverge.com"], request={"limit": 50})
    assert {hit.url.split("/")[2] for hit in only.hits} == {"www.theverge.com"}


async def test_citations_of_openrouter_are_hits(
    search: Search, server: ScriptedServer, call: FakeCall, recorded: Recorded
) -> None:
    rows = recorded("openrouter")
    server.answers = [json_answer(answer(rows, "openrouter/test_openrouter_web_search_annotations#0"))]
    page = await search("model", **ROUTER, exclude_domains=["pydantic.dev"])
    (asked,) = server.asked
    assert asked.body["tools"][0]["type"] == "openrouter:web_search"
    assert asked.body["tools"][0]["parameters"]["excluded_domains"] == ["pydantic.dev"]
    assert page.hits[0].url == "https://github.com/pydantic/pydantic-ai"
    assert "Stars: 19265" in page.hits[0].snippet
    assert not any("pydantic.dev/" in hit.url for hit in page.hits)
    assert str(call.spent[0].cost) == "0.007637029"
    server.answers = [json_answer(answer(rows, "openrouter/test_openrouter_web_search_tool_usage#0"))]
    assert (await search("model", **ROUTER)).hits == ()  # it cited nothing: what it says is no page


async def test_grounding_of_gemini_becomes_hits(
    search: Search,
    server: ScriptedServer,
    call: FakeCall,
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = answer(recorded("gemini"), "gemini/test_google_model_web_search_tool#0")
    for chunk in told["candidates"][0]["groundingMetadata"]["groundingChunks"]:
        chunk["web"]["uri"] = chunk["web"]["uri"].replace(model.REDIRECTS, server.url)
    monkeypatch.setattr(model, "REDIRECTS", server.url)
    server.answers = [
        json_answer(told),
        ScriptedAnswer(b"", 302, {"location": "https://example.org/weather"}),
        ScriptedAnswer(b"", 404),
    ]
    page = await search("model", **GEMINI)
    first, *leads = server.asked
    assert first.path == "/models/gemini-2.5-flash:generateContent"
    assert first.body["tools"] == [{"googleSearch": {}}]
    assert first.headers["x-goog-api-key"] == "gemini-key-of-nothing"
    assert [asked.method for asked in leads] == ["HEAD", "HEAD"]
    assert not any("x-goog-api-key" in asked.headers for asked in leads)
    assert page.hits[0].url.startswith("https://www.google.com/search?")
    assert "San Francisco" in page.hits[0].snippet
    assert "https://example.org/weather" in {hit.url for hit in page.hits}
    assert any("/grounding-api-redirect/" in hit.url for hit in page.hits)  # where that cannot be learnt
    assert (call.spent[0].input_tokens, call.spent[0].output_tokens) == (17 + 119, 201 + 213)


async def test_a_bad_key_of_gemini_is_denied(search: Search, server: ScriptedServer) -> None:
    said = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}
    server.answers = [json_answer(said, 400)]
    with pytest.raises(Denied, match=r"check plugins\.engine\.gemini_api_key"):
        await search("model", **GEMINI)


def test_auto_is_the_first_vendor_with_a_key() -> None:
    assert vendor_of(ModelSearchSettings(openrouter_api_key="x")) == "openrouter"
    assert ready(ModelSearchSettings(gemini_api_key="x")) is None
    assert "OPENAI_API_KEY or GEMINI_API_KEY" in (ready(ModelSearchSettings()) or "")
    assert "set GEMINI_API_KEY," in (ready(ModelSearchSettings(vendor="gemini")) or "")


@pytest.mark.parametrize(("start", "end", "line"), [(7, 9, "Two"), (0, 0, "One"), (5, 99, ""), (None, 2, "")])
def test_the_snippet_is_the_line_of_the_citation(start: Any, end: Any, line: str) -> None:
    assert around("One\n- **Two** ([x](https://e.org))\nThree", start, end).strip("- ") == line
