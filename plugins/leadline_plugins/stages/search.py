"""Stage `search`: runs each search task on the configured engines with the configured strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.findings import FOUND, QUESTION, TASKS, Findings, Found, SearchTask
from leadline.hookspecs import MapOffer, PluginSettings, hookimpl
from leadline.records import SearchRequest


class Searching:
    """One task, one search; a failed search is kept, so that later queries learn from it."""

    async def map(self, item: SearchTask, findings: Findings, run: Run, /) -> Sequence[Found]:
        """Search for one task."""
        request = request_for(item.query, findings[QUESTION].language, run)
        try:
            page = await run.search(request)
        except CallRefused:
            raise
        except CallFailed as failed:
            return (Found(id=item.id, task=item, failure=failed.record.text),)
        return (Found(id=item.id, task=item, hits=page.hits, engine_failures=page.failures),)


def request_for(query: str, language: str, run: Run) -> SearchRequest:
    """Return the request for a query."""
    return SearchRequest(query=" ".join(query.split()), limit=run.settings.search.results_per_query, language=language)


@hookimpl
def leadline_stages() -> Iterator[MapOffer[Any]]:
    """Offer the stage."""
    yield MapOffer(
        lambda settings, context: Searching(),
        PluginSettings,
        "Searches for each task",
        over=TASKS,
        gives=FOUND,
        needs=(QUESTION,),
    )
