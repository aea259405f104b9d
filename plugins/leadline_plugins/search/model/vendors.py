"""The web searches of OpenAI, OpenRouter and Gemini; each has its own form of requests and citations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from leadline.contracts import Call, Context
from leadline.errors import ProviderError
from leadline.records import Hit, SearchRequest, Usage
from leadline_plugins.ai.openai.replies import parse_usage
from leadline_plugins.search.filters import limited
from leadline_plugins.search.http import Api, plain
from leadline_plugins.search.model.settings import ModelSearchSettings, vendor_of
from leadline_plugins.search.results import hit, joined

_LINK = re.compile(r"\(?\[[^\]]*\]\([^)\s]*\)\)?")
_MARKS = re.compile(r"[*_`#>]+")
_TRACKING = re.compile(r"[?&]utm_source=[a-z.]+$")
# Characters of a snippet.
_SNIPPET = 500
_OPENROUTER_LIMIT = 25
# Gemini names pages by redirects, which expire. Only addresses that begin like this are resolved: a model must not
# choose the hosts that this machine contacts.
REDIRECTS = "https://vertexaisearch.cloud.google.com"


class Vendor(Protocol):
    """The search of a vendor, which returns the pages that its model cites."""

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]: ...


def prompt(request: SearchRequest) -> str:
    """Return the prompt for the model."""
    return (
        f"Search the web for: {request.query}\n\n"
        f"List the {request.limit} most relevant pages you find, the best first: for each one line that says what it "
        "tells about this, with a citation of the page. Prefer primary and official sources. Add nothing that no page "
        "says, and no introduction."
    )


def api(name: str, settings: ModelSearchSettings, context: Context, header: str, value: str = "%s") -> Api:
    """Return a client of the vendor, which sends the key in a header; `value` is its format."""
    vendor = vendor_of(settings)
    key = settings.key(vendor)
    headers = {header: value % plain(key)}
    return Api(name, context, settings.url, key=key, key_field=f"{vendor}_api_key", headers=headers)


def around(text: str, start: object, end: object) -> str:
    """Return the line of a reply around a citation, without links and Markdown."""
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= len(text)):
        return ""
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin : text.find("\n", end) if "\n" in text[end:] else len(text)]
    return " ".join(_MARKS.sub("", _LINK.sub("", line)).split())[:_SNIPPET]


def without_tracking(url: object) -> str:
    """Return a URL without the tracking parameter of the vendor; empty if it is not a URL."""
    return _TRACKING.sub("", url) if isinstance(url, str) and url.startswith(("https://", "http://")) else ""


def objects_at(data: object, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list at a path in JSON; empty if there is no such list."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []


# --- OpenAI: the tool `web_search` of its responses -------------------------------------------------------------------


class OpenAISearch:
    """Searches with a model of OpenAI."""

    def __init__(self, settings: ModelSearchSettings, context: Context) -> None:
        self._settings = settings
        self._api = api("OpenAI", settings, context, "Authorization", "Bearer %s")

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]:
        """Return the cited pages, then those that the model only read."""
        found = await self._api.post("/responses", self._body(request), call)
        if isinstance(usage := found.get("usage"), dict):
            call.spend(parse_usage(usage))
        if not isinstance(found.get("output"), list):
            raise self._api.bad("the reply has no list `output`")
        items = objects_at(found, "output")
        return [*_openai_citations(items), *_openai_sources(items)]

    def _body(self, request: SearchRequest) -> dict[str, object]:
        settings = self._settings
        tool: dict[str, Any] = {"type": "web_search", "search_context_size": settings.context_size}
        if settings.include_domains:
            tool["filters"] = {"allowed_domains": settings.include_domains}
        if settings.country:
            tool["user_location"] = {"type": "approximate", "country": settings.country.upper()}
        return {
            "model": settings.asked,
            "input": prompt(request),
            "tools": [tool],
            "tool_choice": {"type": "web_search"},
            "include": ["web_search_call.action.sources"],
            "store": False,
        }


def _openai_citations(items: Sequence[Mapping[str, Any]]) -> Iterator[Hit]:
    for part in (part for item in items for part in objects_at(item, "content")):
        text = str(part.get("text") or "")
        for one in objects_at(part, "annotations"):
            if one.get("type") == "url_citation" and (url := without_tracking(one.get("url"))):
                snippet = around(text, one.get("start_index"), one.get("end_index"))
                yield hit(url, str(one.get("title") or ""), snippet)


def _openai_sources(items: Sequence[Mapping[str, Any]]) -> Iterator[Hit]:
    sources = (source for item in items for source in objects_at(item, "action", "sources"))
    return (hit(url) for source in sources if (url := without_tracking(source.get("url"))))


# --- OpenRouter: the server tool that all of its models may call ------------------------------------------------------


class OpenRouterSearch:
    """Searches with a model at OpenRouter."""

    def __init__(self, settings: ModelSearchSettings, context: Context) -> None:
        self._settings = settings
        self._api = api("OpenRouter", settings, context, "Authorization", "Bearer %s")

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]:
        """Return the cited pages, with the text that the search read."""
        found = await self._api.post("/chat/completions", self._body(request), call)
        if isinstance(usage := found.get("usage"), dict):
            call.spend(parse_usage(usage))
        choices = objects_at(found, "choices")
        if not choices:
            raise self._api.bad("the answer is not a chat completion")
        return list(_openrouter_citations(choices[0].get("message")))

    def _body(self, request: SearchRequest) -> dict[str, object]:
        settings = self._settings
        parameters: dict[str, Any] = {
            "max_results": limited(request.limit, _OPENROUTER_LIMIT),
            "search_context_size": settings.context_size,
            "allowed_domains": settings.include_domains,
            "excluded_domains": settings.exclude_domains,
        }
        if settings.country:
            parameters["user_location"] = {"type": "approximate", "country": settings.country.upper()}
        return {
            "model": settings.asked,
            "messages": [{"role": "user", "content": prompt(request)}],
            "tools": [
                {"type": "openrouter:web_search", "parameters": {k: v for k, v in parameters.items() if v}},
            ],
        }


def _openrouter_citations(message: object) -> Iterator[Hit]:
    text = str(message.get("content") or "") if isinstance(message, dict) else ""
    for one in objects_at(message, "annotations"):
        told = one.get("url_citation")
        if isinstance(told, dict) and (url := without_tracking(told.get("url"))):
            read = str(told.get("content") or "")[:_SNIPPET]
            snippet = read or around(text, told.get("start_index"), told.get("end_index"))
            yield hit(url, str(told.get("title") or ""), snippet)


# --- Gemini: grounding in Google's search -----------------------------------------------------------------------------


class GeminiSearch:
    """Searches with a model of Google."""

    def __init__(self, settings: ModelSearchSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._api = api("Gemini", settings, context, "x-goog-api-key")
        self._redirects = Api("Google", context, REDIRECTS)  # without the key: it is another service

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]:
        """Return the pages that support the reply, with the supported sentences."""
        body = {"contents": [{"role": "user", "parts": [{"text": prompt(request)}]}], "tools": [{"googleSearch": {}}]}
        found = await self._api.post(f"/models/{self._settings.asked}:generateContent", body, call)
        if isinstance(told := found.get("usageMetadata"), dict):
            call.spend(_gemini_usage(told))
        candidates = objects_at(found, "candidates")
        if not candidates:
            raise self._api.bad("the answer has no candidate")
        grounding = candidates[0].get("groundingMetadata")
        pages = [_gemini_page(one) for one in objects_at(grounding, "groundingChunks")]
        said = _gemini_snippets(objects_at(grounding, "groundingSupports"))
        urls = await asyncio.gather(*(self._target(without_tracking(page.get("uri")), call) for page in pages))
        return [
            hit(url, str(page.get("title") or ""), joined(said.get(place, ()), " "))
            for place, (url, page) in enumerate(zip(urls, pages, strict=True))
            if url
        ]

    async def _target(self, url: str, call: Call) -> str:
        """Return the target of a redirect; the address itself if it is none or cannot be resolved."""
        if not url.startswith(f"{REDIRECTS}/"):
            return url
        try:
            return without_tracking(await self._redirects.location(url.removeprefix(REDIRECTS), call)) or url
        except ProviderError as error:
            self._context.log.info("the redirect of a page from Gemini was not resolved: %s", error)
            return url


def _gemini_page(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    web = chunk.get("web")
    return web if isinstance(web, dict) else {}


def _gemini_snippets(supports: Sequence[Mapping[str, Any]]) -> dict[int, list[str]]:
    """Return the supported sentences by the index of their page."""
    said: dict[int, list[str]] = {}
    for one in supports:
        segment, places = one.get("segment"), one.get("groundingChunkIndices")
        text = segment.get("text") if isinstance(segment, dict) else None
        for place in places if isinstance(places, list) and isinstance(text, str) else ():
            said.setdefault(place, []).append(str(text))
    return said


def _gemini_usage(told: Mapping[str, Any]) -> Usage:
    prompt, tools, output, thoughts = (
        count if isinstance(count := told.get(f"{name}TokenCount"), int) else 0
        for name in ("prompt", "toolUsePrompt", "candidates", "thoughts")
    )
    return Usage(input_tokens=prompt + tools, output_tokens=output + thoughts, reasoning_tokens=thoughts)
