"""The plugin `model`: a language model's own web search as an engine, and the chat model as a judge of claims.

The pages that the model cites are the hits, which are fetched and quoted like any others. The text of the model about
them is a snippet and never evidence.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context
from leadline.errors import ProviderError
from leadline.plugin import Limits, claim_judge, search_provider
from leadline.records import Hit, SearchPage, SearchRequest, Usage
from leadline_plugins.search.filters import Country, Domains, limited
from leadline_plugins.search.http import Api
from leadline_plugins.search.results import hit, joined
from leadline_plugins.verification.judges.model import ModelJudge
from leadline_plugins.verification.tasks import VERIFY_TASK

__all__ = ["ModelSearch", "ModelSearchSettings"]

# Seconds: the model searches several times and reads pages.
_TIMEOUT = 120.0
# Characters of a snippet.
_SNIPPET = 500
_OPENROUTER_LIMIT = 25
# Gemini names pages by redirects, which expire. Only addresses that begin like this are resolved: a model must not
# choose the hosts that this machine contacts.
REDIRECTS = "https://vertexaisearch.cloud.google.com"
_LINK = re.compile(r"\(?\[[^\]]*\]\([^)\s]*\)\)?")
_MARKS = re.compile(r"[*_`#>]+")
_TRACKING = re.compile(r"[?&]utm_source=[a-z.]+$")


class ModelSearchSettings(Domains):
    """The vendor of the model; each search costs tokens, and a fee per search."""

    vendor: Literal["auto", "openai", "gemini", "openrouter"] = Field("auto", description="auto: the first with a key")
    model: str = Field(
        "",
        description="the model; by default gpt-5-mini at openai, gemini-2.5-flash at gemini, "
        "openai/gpt-5-mini at openrouter",
    )
    openai_api_key: SecretStr = Field(SecretStr(""), description="OpenAI's key")
    gemini_api_key: SecretStr = Field(SecretStr(""), description="Gemini's key")
    openrouter_api_key: SecretStr = Field(SecretStr(""), description="OpenRouter's key")
    base_url: str = Field("", description="the address, if it is not the usual one of the vendor")
    country: Country = Field("", description="country of the searches, as two letters (OpenAI, OpenRouter)")
    context_size: Literal["low", "medium", "high"] = Field(
        "medium", description="how much of the pages the model reads (OpenAI, OpenRouter)"
    )

    def key(self, vendor: str) -> SecretStr:
        """Return the key of a vendor."""
        key: SecretStr = getattr(self, f"{vendor}_api_key")
        return key


def vendor_of(settings: ModelSearchSettings) -> str:
    """Return the vendor of the settings, else the first with a key."""
    if settings.vendor != "auto":
        return settings.vendor
    return next((name for name in _VENDORS if settings.key(name).get_secret_value()), "openai")


def ready(settings: ModelSearchSettings) -> str | None:
    """Return that the key is missing; None if it is there."""
    vendor = vendor_of(settings)
    if settings.key(vendor).get_secret_value():
        return None
    names = [vendor] if settings.vendor != "auto" else _VENDORS
    return f"no key: set {' or '.join(f'{name.upper()}_API_KEY' for name in names)}, or the key in its section"


@search_provider(
    "The web search of a language model: OpenAI, Gemini, OpenRouter",
    settings=ModelSearchSettings,
    env={
        "openai_api_key": "OPENAI_API_KEY",
        "gemini_api_key": "GEMINI_API_KEY",
        "openrouter_api_key": "OPENROUTER_API_KEY",
    },
    ready=ready,
    limits=Limits(timeout=_TIMEOUT),
    priced=True,
)
class ModelSearch:
    """Searches with the model of one vendor."""

    def __init__(self, settings: ModelSearchSettings, context: Context) -> None:
        name = vendor_of(settings)
        self._settings = settings
        self._context = context
        self._vendor = vendor = _VENDORS[name]
        self._api = Api(
            vendor.title,
            context,
            settings.base_url or vendor.url,
            key=settings.key(name),
            key_field=f"{name}_api_key",
            headers={vendor.header: f"{vendor.scheme}{{key}}"},
        )
        self._redirects = Api("Google", context, REDIRECTS)  # without the key: it is another service

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the pages that the model cites, in the order of its citations, each once."""
        vendor, model = self._vendor, self._settings.model or self._vendor.model
        answer = await self._api.post(
            vendor.path.format(model=model), vendor.body(self._settings, model, request), call
        )
        if usage := _usage(answer):
            call.spend(usage)
        if not isinstance(answer.get(vendor.replies), list) or (vendor.needs_reply and not answer[vendor.replies]):
            raise self._api.bad(f"the answer has no list `{vendor.replies}`")
        hits = [page for page in vendor.hits(answer) if page.url]
        urls = await asyncio.gather(*(self._target(page.url, call) for page in hits))
        pages: dict[str, Hit] = {}
        for page, url in zip(hits, urls, strict=True):
            if self._allowed(url):
                pages.setdefault(url, page.model_copy(update={"url": url}))
        return SearchPage(hits=tuple(pages.values())[: request.limit])

    async def _target(self, url: str, call: Call) -> str:
        """Return the target of a redirect of Gemini; the address itself if it is none or cannot be resolved."""
        if not url.startswith(f"{REDIRECTS}/"):
            return url
        try:
            return _without_tracking(await self._redirects.location(url.removeprefix(REDIRECTS), call)) or url
        except ProviderError as error:
            self._context.log.info("the redirect of a page from Gemini was not resolved: %s", error)
            return url

    def _allowed(self, url: str) -> bool:
        """Return whether a page is on an allowed site: models do not always respect the settings."""
        settings = self._settings
        if any(_is_of(url, domain) for domain in settings.exclude_domains):
            return False
        return not settings.include_domains or any(_is_of(url, domain) for domain in settings.include_domains)


def _is_of(url: str, domain: str) -> bool:
    parts, (host, _, path) = urlsplit(url), domain.partition("/")
    name = parts.hostname or ""
    return (name == host or name.endswith(f".{host}")) and (parts.path or "/").startswith(f"/{path}")


@claim_judge(
    "Verdicts by the chat model, with the exact words of the passage",
    settings=ModelSearchSettings,
    work="composite",
    cache_key=(),
    uses=(VERIFY_TASK,),
)
def _judge() -> ModelJudge:
    """Return the judge, which uses the models of the run and none of these settings."""
    return ModelJudge()


# --- requests --------------------------------------------------------------------------------------------------------


def _prompt(request: SearchRequest) -> str:
    return (
        f"Search the web for: {request.query}\n\n"
        f"List the {request.limit} most relevant pages you find, the best first: for each one line that says what it "
        "tells about this, with a citation of the page. Prefer primary and official sources. Add nothing that no page "
        "says, and no introduction."
    )


def _location(settings: ModelSearchSettings) -> dict[str, Any]:
    country = settings.country.upper()
    return {"user_location": {"type": "approximate", "country": country}} if country else {}


def _openai_body(settings: ModelSearchSettings, model: str, request: SearchRequest) -> dict[str, object]:
    tool: dict[str, Any] = {"type": "web_search", "search_context_size": settings.context_size}
    if settings.include_domains:
        tool["filters"] = {"allowed_domains": settings.include_domains}
    return {
        "model": model,
        "input": _prompt(request),
        "tools": [tool | _location(settings)],
        "tool_choice": {"type": "web_search"},
        "include": ["web_search_call.action.sources"],
        "store": False,
    }


def _openrouter_body(settings: ModelSearchSettings, model: str, request: SearchRequest) -> dict[str, object]:
    parameters = {
        "max_results": limited(request.limit, _OPENROUTER_LIMIT),
        "search_context_size": settings.context_size,
        "allowed_domains": settings.include_domains,
        "excluded_domains": settings.exclude_domains,
    } | _location(settings)
    sent = {name: value for name, value in parameters.items() if value}
    return {
        "model": model,
        "messages": [{"role": "user", "content": _prompt(request)}],
        "tools": [{"type": "openrouter:web_search", "parameters": sent}],
    }


def _gemini_body(settings: ModelSearchSettings, model: str, request: SearchRequest) -> dict[str, object]:
    return {"contents": [{"role": "user", "parts": [{"text": _prompt(request)}]}], "tools": [{"googleSearch": {}}]}


# --- citations -------------------------------------------------------------------------------------------------------


def _openai_hits(answer: Mapping[str, Any]) -> Iterator[Hit]:
    """Yield the cited pages, then those that the model only read."""
    items = _objects_at(answer, "output")
    for part in (part for item in items for part in _objects_at(item, "content")):
        yield from _cited(part, str(part.get("text") or ""))
    for source in (source for item in items for source in _objects_at(item, "action", "sources")):
        yield _hit(source)


def _openrouter_hits(answer: Mapping[str, Any]) -> Iterator[Hit]:
    """Yield the cited pages, with the text that the search read."""
    message = _objects_at(answer, "choices")[0].get("message") if _objects_at(answer, "choices") else None
    yield from _cited(message, str(message.get("content") or "") if isinstance(message, dict) else "")


def _cited(holder: object, text: str) -> Iterator[Hit]:
    for annotation in _objects_at(holder, "annotations"):
        citation = annotation.get("url_citation", annotation)
        if annotation.get("type", "url_citation") == "url_citation" and isinstance(citation, dict):
            read = str(citation.get("content") or "")[:_SNIPPET]
            yield _hit(citation, read or around(text, citation.get("start_index"), citation.get("end_index")))


def _gemini_hits(answer: Mapping[str, Any]) -> Iterator[Hit]:
    """Yield the pages that support the reply, with the supported sentences."""
    candidates = _objects_at(answer, "candidates")
    grounding = candidates[0].get("groundingMetadata") if candidates else None
    sentences: dict[int, list[str]] = {}
    for support in _objects_at(grounding, "groundingSupports"):
        segment, indexes = support.get("segment"), support.get("groundingChunkIndices")
        text = segment.get("text") if isinstance(segment, dict) else None
        if isinstance(indexes, list) and isinstance(text, str):
            for index in indexes:
                sentences.setdefault(index, []).append(text)
    for index, chunk in enumerate(_objects_at(grounding, "groundingChunks")):
        web = chunk.get("web")
        page = web if isinstance(web, dict) else {}
        yield _hit({"url": page.get("uri"), "title": page.get("title")}, joined(sentences.get(index, ()), " "))


def _hit(page: Mapping[str, Any], snippet: str = "") -> Hit:
    return hit(_without_tracking(page.get("url")), str(page.get("title") or ""), snippet)


def around(text: str, start: object, end: object) -> str:
    """Return the line of a reply around a citation, without links and Markdown."""
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= len(text)):
        return ""
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin : text.find("\n", end) if "\n" in text[end:] else len(text)]
    return " ".join(_MARKS.sub("", _LINK.sub("", line)).split())[:_SNIPPET]


def _without_tracking(url: object) -> str:
    """Return a URL without the tracking parameter of the vendor; empty if it is not a URL."""
    return _TRACKING.sub("", url) if isinstance(url, str) and url.startswith(("https://", "http://")) else ""


def _objects_at(data: Any, *path: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list at a path in JSON; empty if there is no such list."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    from leadline_plugins.ai.openai.replies import objects_in  # loads a plugin, which other runs do without

    return objects_in(data)


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    if isinstance(usage := answer.get("usage"), dict):
        from leadline_plugins.ai.openai.replies import parse_usage

        return parse_usage(usage)
    counts = answer.get("usageMetadata")  # Gemini
    if not isinstance(counts, dict):
        return None
    prompt, tools, output, thoughts = (
        count if isinstance(count := counts.get(f"{name}TokenCount"), int) else 0
        for name in ("prompt", "toolUsePrompt", "candidates", "thoughts")
    )
    return Usage(input_tokens=prompt + tools, output_tokens=output + thoughts, reasoning_tokens=thoughts)


@dataclass(frozen=True)
class _Vendor:
    """The search of a vendor; `replies` is the list of its answer that must be there, not empty if `needs_reply`."""

    title: str
    model: str
    url: str
    path: str
    body: Callable[[ModelSearchSettings, str, SearchRequest], dict[str, object]]
    hits: Callable[[Mapping[str, Any]], Iterator[Hit]]
    replies: str
    needs_reply: bool = True
    header: str = "Authorization"
    scheme: str = "Bearer "


_VENDORS = {
    # The tool `web_search` of its responses.
    "openai": _Vendor(
        "OpenAI",
        "gpt-5-mini",
        "https://api.openai.com/v1",
        "/responses",
        _openai_body,
        _openai_hits,
        replies="output",
        needs_reply=False,
    ),
    # Grounding in Google's search.
    "gemini": _Vendor(
        "Gemini",
        "gemini-2.5-flash",
        "https://generativelanguage.googleapis.com/v1beta",
        "/models/{model}:generateContent",
        _gemini_body,
        _gemini_hits,
        replies="candidates",
        header="x-goog-api-key",
        scheme="",
    ),
    # The server tool that all of its models may call.
    "openrouter": _Vendor(
        "OpenRouter",
        "openai/gpt-5-mini",
        "https://openrouter.ai/api/v1",
        "/chat/completions",
        _openrouter_body,
        _openrouter_hits,
        replies="choices",
    ),
}
