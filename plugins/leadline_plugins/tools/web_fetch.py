"""The tool `web_fetch`: reads a page that a search found; what it reads is a source of the report.

Only addresses that a search brought, or that stand in the question, are read. So a page cannot have a model call an
address that the page made up, with what the model knows in its query.
"""

from __future__ import annotations

from collections.abc import Awaitable

from pydantic import Field

from leadline.records import Hit, Json, Source
from leadline_plugins.stages.fetch import once, read
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.tool import Arguments, ToolKind


class WebFetch(Arguments):
    """What to read."""

    url: str = Field(min_length=1, description="an address that web_search gave")
    start: int = Field(0, ge=0, description="the character to begin at, to read on in a long text")


def _fetch(said: WebFetch, desk: Desk) -> Awaitable[Json]:
    if source := desk.source(said.url):
        return _again(source, said, desk)
    known = desk.hit(said.url)
    if known is None:
        return _refused("no search gave this address, and others are not read: search for it")
    hit, task_id = known
    if not hit.citable:
        return _refused("this result is no page, and nothing may rest on it")
    if desk.pages_left <= 0:
        return _refused("all pages of this run are read (research.pages_per_query): respond")
    desk.reserve(hit.url)
    return _read(hit, task_id, said, desk, (*desk.read_before, *desk.sources))


async def _refused(reason: str) -> Json:
    return {"error": reason}


async def _again(source: Source, said: WebFetch, desk: Desk) -> Json:
    return _shown(source, said, desk)


async def _read(hit: Hit, task_id: str, said: WebFetch, desk: Desk, before: tuple[Source, ...]) -> Json:
    (item,) = await once([await read(hit, task_id, desk.run)], before)
    desk.place(item)
    return _shown(item, said, desk) if isinstance(item, Source) else {"url": item.url, "error": item.reason}


def _shown(source: Source, said: WebFetch, desk: Desk) -> Json:
    text = source.document.text
    part = text[said.start : said.start + desk.page]
    shown: dict[str, str | int | None] = {"url": source.hit.url, "title": source.hit.title, "text": part}
    if source.hit.published:
        shown["published"] = source.hit.published
    if left := max(0, len(text) - said.start - len(part)):
        shown["left"] = f"{left} more characters, from start={said.start + len(part)}"
    return shown


WEB_FETCH = ToolKind(
    "web_fetch",
    "Read a page that web_search gave. Whatever is read becomes a source: quotes are taken from the whole page later, "
    "so there is no need to read on unless it matters for the next step. Several in one reply are read side by side.",
    WebFetch,
    _fetch,
)
