"""Stage `search`: runs each search task on the configured engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Findings
from leadline.hookspecs import MapOffer, PluginSettings, hookimpl
from leadline.records import SearchRequest
from leadline.research_findings import FOUND, QUESTION, TASKS, Found, SearchTask


class SearchStage:
    """Runs one search per task; failed searches stay in the findings, so that later queries learn from them."""

    async def map(self, item: SearchTask, findings: Findings, run: Run, /) -> Sequence[Found]:
        """Search for one task."""
        request = search_request(item.query, findings[QUESTION].language, run)
        try:
            page = await run.search(request)
        except CallRefused:
            raise
        except CallFailed as failed:
            return (Found(id=item.id, task=item, failure=failed.record.text),)
        found = Found(id=item.id, task=item, hits=page.hits, engine_failures=page.failures, suggestion=page.suggestion)
        return (found,)


def search_request(query: str, language: str, run: Run) -> SearchRequest:
    """Return the request for a query."""
    return SearchRequest(query=" ".join(query.split()), limit=run.settings.search.results_per_query, language=language)


@hookimpl
def leadline_stages() -> Iterator[MapOffer[Any]]:
    """Offer the stage."""
    yield MapOffer(
        lambda settings, context: SearchStage(),
        PluginSettings,
        "Searches for each task",
        over=TASKS,
        gives=FOUND,
        needs=(QUESTION,),
        uses=("search.engines",),
    )
