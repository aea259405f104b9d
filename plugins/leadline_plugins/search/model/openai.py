"""OpenAI's web search: the tool `web_search` of its responses, whose text carries citations of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadline.contracts import Call, Context
from leadline.records import Hit, SearchRequest
from leadline_plugins.ai.openai.usage import read_usage
from leadline_plugins.search.model.settings import ModelSettings
from leadline_plugins.search.model.vendors import api, around, asked, bare, listed
from leadline_plugins.search.results import hit


class OpenAI:
    """Asks a model of OpenAI's."""

    def __init__(self, settings: ModelSettings, context: Context) -> None:
        self._settings = settings
        self._api = api("OpenAI", settings, context, "Authorization", "Bearer %s")

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]:
        """Return the cited pages, then those that were only looked at."""
        found = await self._api.post("/responses", self._body(request), call)
        if isinstance(usage := found.get("usage"), dict):
            call.spend(read_usage(usage))
        if not isinstance(found.get("output"), list):
            raise self._api.bad("the answer is no response")
        items = listed(found, "output")
        return [*_cited(items), *_seen(items)]

    def _body(self, request: SearchRequest) -> dict[str, object]:
        settings = self._settings
        tool: dict[str, Any] = {"type": "web_search", "search_context_size": settings.context_size}
        if settings.include_domains:
            tool["filters"] = {"allowed_domains": settings.include_domains}
        if settings.country:
            tool["user_location"] = {"type": "approximate", "country": settings.country.upper()}
        return {
            "model": settings.asked,
            "input": asked(request),
            "tools": [tool],
            "tool_choice": {"type": "web_search"},
            "include": ["web_search_call.action.sources"],
            "store": False,
        }


def _cited(items: Sequence[Mapping[str, Any]]) -> Iterator[Hit]:
    for part in (part for item in items for part in listed(item, "content")):
        text = str(part.get("text") or "")
        for one in listed(part, "annotations"):
            if one.get("type") == "url_citation" and (url := bare(one.get("url"))):
                snippet = around(text, one.get("start_index"), one.get("end_index"))
                yield hit(url, str(one.get("title") or ""), snippet)


def _seen(items: Sequence[Mapping[str, Any]]) -> Iterator[Hit]:
    sources = (source for item in items for source in listed(item, "action", "sources"))
    return (hit(url) for source in sources if (url := bare(source.get("url"))))
