"""The plugin `model`: a language model's own web search as an engine, and the chat model as a judge of claims.

The pages that the model cites are the hits, which are fetched and quoted like any others. The text of the model about
them is a snippet and never evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from leadline.contracts import Call, Context
from leadline.plugin import Limits, claim_judge, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline_plugins.search.model.settings import ModelSearchSettings, ready, vendor_of
from leadline_plugins.verification.judges.model import ModelJudge
from leadline_plugins.verification.tasks import VERIFY_TASK

if TYPE_CHECKING:  # most runs use the judge alone, which needs no client of a search engine
    from leadline_plugins.search.model.vendors import Vendor

__all__ = ["ModelSearch", "ModelSearchSettings"]

# Seconds: the model searches several times and reads pages.
_TIMEOUT = 120.0


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
        self._settings = settings
        self._vendor = _vendor(settings, context)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the pages that the model cites, in the order of its citations, each once."""
        hits = await self._vendor.search(request, call)
        wanted = {hit.url: hit for hit in reversed(hits) if self._allowed(hit)}
        return SearchPage(hits=tuple(reversed(wanted.values()))[: request.limit])

    def _allowed(self, hit: Hit) -> bool:
        """Return whether a page is on an allowed site: models do not always respect the settings."""
        settings = self._settings
        if any(_of(hit.url, domain) for domain in settings.exclude_domains):
            return False
        return not settings.include_domains or any(_of(hit.url, domain) for domain in settings.include_domains)


def _of(url: str, domain: str) -> bool:
    parts, (host, _, path) = urlsplit(url), domain.partition("/")
    name = parts.hostname or ""
    return (name == host or name.endswith(f".{host}")) and (parts.path or "/").startswith(f"/{path}")


def _vendor(settings: ModelSearchSettings, context: Context) -> Vendor:
    from leadline_plugins.search.model.vendors import GeminiSearch, OpenAISearch, OpenRouterSearch

    makers: dict[str, Callable[[ModelSearchSettings, Context], Vendor]]
    makers = {"openai": OpenAISearch, "gemini": GeminiSearch, "openrouter": OpenRouterSearch}
    return makers[vendor_of(settings)](settings, context)


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
