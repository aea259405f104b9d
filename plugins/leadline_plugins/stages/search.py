"""Stage `search`: runs each search task on the configured engines."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.contracts import StageRun
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Findings
from leadline.plugin import map_stage
from leadline.records import SearchRequest
from leadline.research_findings import FOUND, QUESTION, TASKS, Found, SearchTask


@map_stage("Searches for each task", over=TASKS, gives=FOUND, needs=(QUESTION,), uses=("search.engines",))
class SearchStage:
    """Runs one search per task; failed searches stay in the findings, so that later queries learn from them."""

    async def map(self, item: SearchTask, findings: Findings, run: StageRun, /) -> Sequence[Found]:
        try:
            return (await search_task(item, findings[QUESTION].language, run),)
        except CallRefused:
            raise
        except CallFailed as failed:
            return (Found(id=item.id, task=item, failure=failed.record.text),)


async def search_task(task: SearchTask, language: str, run: StageRun) -> Found:
    """Search for a task, and emit the events `query` and `found`. Raises `CallFailed`."""
    await run.emit("query", task.model_dump(mode="json", include={"id", "query", "goal", "section", "round"}))
    try:
        page = await run.search(search_request(task.query, language, run))
    except CallFailed as failed:
        await run.emit("found", {"id": task.id, "hits": 0, "failure": failed.record.text})
        raise
    await run.emit("found", {"id": task.id, "hits": len(page.hits), "failure": ""})
    return Found(id=task.id, task=task, hits=page.hits, engine_failures=page.failures, suggestion=page.suggestion)


def search_request(query: str, language: str, run: StageRun) -> SearchRequest:
    return SearchRequest(query=" ".join(query.split()), limit=run.settings.search.results_per_query, language=language)
