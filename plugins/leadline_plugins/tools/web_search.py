"""The tool `web_search`: one search with the run's engines and strategy, counted like any other."""

from __future__ import annotations

from collections.abc import Awaitable

from pydantic import Field, JsonValue

from leadline.errors import CallFailed, CallRefused
from leadline.findings import Found, Query, SearchTask
from leadline.records import Hit, Json, Text
from leadline_plugins.stages.search import request_for
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.tool import Arguments, ToolKind

_SNIPPET = 300
"""Characters of a snippet that are shown."""


class WebSearch(Arguments):
    """What to search for."""

    query: Text = Field(min_length=1, description="a few words, as typed into a search engine")
    goal: Text = Field("", description="what it is for, in one sentence")
    section: str = Field("", description="the id of the plan's section that it serves")


def _search(said: WebSearch, desk: Desk) -> Awaitable[Json]:
    if desk.searches_left <= 0:
        return _refused("all searches of this run are made (research.max_queries): read, or respond")
    task = desk.task(Query(query=said.query, goal=said.goal, section=said.section))
    return _found(task, desk) if task else _refused("this was searched before: say it otherwise, or read what it found")


async def _refused(reason: str) -> Json:
    return {"error": reason}


async def _found(task: SearchTask, desk: Desk) -> Json:
    run = desk.run
    try:
        page = await run.search(request_for(task.query, desk.question.language, run))
    except CallRefused:
        raise
    except CallFailed as failed:
        desk.keep(Found(id=task.id, task=task, failure=failed.record.text))
        raise
    desk.keep(Found(id=task.id, task=task, hits=page.hits, engine_failures=page.failures))
    return {"results": [_shown(hit) for hit in page.hits if hit.citable]}


def _shown(hit: Hit) -> dict[str, JsonValue]:
    snippet = hit.snippet if len(hit.snippet) <= _SNIPPET else f"{hit.snippet[:_SNIPPET]}…"
    shown: dict[str, JsonValue] = {
        "url": hit.url,
        "title": hit.title,
        "snippet": snippet,
        "published": hit.published,
        "tier": hit.tier,
    }
    return {name: value for name, value in shown.items() if value}


WEB_SEARCH = ToolKind(
    "web_search",
    "Search. Gives addresses with titles and snippets, best first; tier 1 is primary and official, 2 reputable, 3 "
    "other. Several searches in one reply are made side by side.",
    WebSearch,
    _search,
)
