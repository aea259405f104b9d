"""OpenRouter's web search: its server tool, which any of its models may call (its older plugin `web` is deprecated)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Call, Context
from leadline.records import Hit, SearchRequest
from leadline_plugins.ai.openai.usage import read_usage
from leadline_plugins.search.filters import limited
from leadline_plugins.search.model.settings import ModelSettings
from leadline_plugins.search.model.vendors import api, around, asked, bare, listed
from leadline_plugins.search.results import hit

_MOST = 25
_SHOWN = 500
"""Characters of a snippet."""


class OpenRouter:
    """Asks a model at OpenRouter."""

    def __init__(self, settings: ModelSettings, context: Context) -> None:
        self._settings = settings
        self._api = api("OpenRouter", settings, context, "Authorization", "Bearer %s")

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]:
        """Return the cited pages, with what the search read of them."""
        found = await self._api.post("/chat/completions", self._body(request), call)
        if isinstance(usage := found.get("usage"), dict):
            call.spend(read_usage(usage))
        choices = listed(found, "choices")
        if not choices:
            raise self._api.bad("the answer is no chat completion")
        return list(_cited(choices[0].get("message")))

    def _body(self, request: SearchRequest) -> dict[str, object]:
        settings = self._settings
        parameters: dict[str, Any] = {
            "max_results": limited(request.limit, _MOST),
            "search_context_size": settings.context_size,
            "allowed_domains": settings.include_domains,
            "excluded_domains": settings.exclude_domains,
        }
        if settings.country:
            parameters["user_location"] = {"type": "approximate", "country": settings.country.upper()}
        return {
            "model": settings.asked,
            "messages": [{"role": "user", "content": asked(request)}],
            "tools": [
                {"type": "openrouter:web_search", "parameters": {k: v for k, v in parameters.items() if v}},
            ],
        }


def _cited(message: object) -> Iterator[Hit]:
    text = str(message.get("content") or "") if isinstance(message, dict) else ""
    for one in listed(message, "annotations"):
        told = one.get("url_citation")
        if isinstance(told, dict) and (url := bare(told.get("url"))):
            read = str(told.get("content") or "")[:_SHOWN]
            snippet = read or around(text, told.get("start_index"), told.get("end_index"))
            yield hit(url, str(told.get("title") or ""), snippet)
