"""Stage `fetch`: reads the best pages of the searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from leadline.contracts import StageRun
from leadline.errors import CallFailed
from leadline.findings import Findings
from leadline.plugin import map_stage
from leadline.records import Document, FetchRequest, Hit, Json, Source
from leadline.research_findings import FOUND, SOURCES, UNREAD, Found, Unread
from leadline_plugins.canonical import canonical, source_id
from leadline_plugins.duplicates import copies
from leadline_plugins.passages.cutting import as_document
from leadline_plugins.prompting.fallback import model_writes

# Pages below this share of the best hit's score are not read: in tests none of them had an answer.
_WEAK = 0.25


@map_stage(
    "Reads the best pages of each search, and fetches none twice",
    over=FOUND,
    gives=SOURCES,
    may_give=(UNREAD,),
    wants=(SOURCES,),
    uses=("read.fetchers",),
)
class FetchStage:
    """Reads two pages of each search at once; when all searches have returned, it reads more up to the limit.

    So the choice of pages never depends on which search returned first.
    """

    async def map(self, item: Found, findings: Findings, run: StageRun, /) -> Sequence[Source | Unread]:
        """Read the first pages of one search."""
        sources, near = findings[SOURCES], await model_writes(run)
        known = known_addresses(sources)
        if not near and (hits := [hit for hit in readable_hits(item, near=False) if hit.passages]):
            return [await _quoted(hit, item.task.id, run) for hit in hits if canonical(hit.url) not in known]
        chosen = first_pages(item, known, pages_at_once(run), near=near)
        return await without_duplicates(await run.each(chosen, lambda hit: read_page(hit, item.task.id, run)), sources)

    async def rest(self, items: Sequence[Found], findings: Findings, run: StageRun, /) -> Sequence[Source | Unread]:
        """Read the next best pages of all searches together."""
        sources = findings[SOURCES]
        near = await model_writes(run)
        unread = [item for item in items if near or not any(hit.passages for hit in item.hits)]
        chosen = more_pages(unread, known_addresses(sources), run, near=near)
        return await without_duplicates(await run.each(chosen, lambda pair: read_page(*pair, run)), sources)


def pages_at_once(run: StageRun) -> int:
    """Return the number of pages that are read of each search before the others have returned."""
    return min(2, run.settings.research.pages_per_query)


def known_addresses(sources: Iterable[Source]) -> set[str]:
    return {canonical(source.hit.url) for source in sources}


def readable_hits(item: Found, *, near: bool = True) -> list[Hit]:
    """Return the hits of one search that may be cited, without weak ones if `near` is set.

    Weak hits distract a model. The algorithms need them, to learn which words are rare.
    """
    best: dict[str, float] = {}
    for hit in item.hits:
        best[hit.engine] = max(best.get(hit.engine, 0.0), hit.score or 0.0)
    return [hit for hit in item.hits if hit.citable and not (near and _is_weak(hit.score, best[hit.engine]))]


def _is_weak(score: float | None, best: float) -> bool:
    return score is not None and best > 0 and score < _WEAK * best


def first_pages(item: Found, before: set[str], count: int, *, near: bool = True) -> list[Hit]:
    """Return the best new pages of one search."""
    new = {canonical(hit.url): hit for hit in reversed(readable_hits(item, near=near))}
    return [hit for name, hit in reversed(new.items()) if name not in before][:count]


def more_pages(items: Sequence[Found], before: set[str], run: StageRun, *, near: bool = True) -> list[tuple[Hit, str]]:
    """Return the next best new pages of all searches, up to the limit, each with the id of its search task."""
    taken = {canonical(hit.url) for item in items for hit in first_pages(item, before, pages_at_once(run), near=near)}
    wanted = run.settings.research.pages_per_query * len([item for item in items if item.hits])
    more = [pair for pair in hits_by_rank(items, near=near) if canonical(pair[0].url) not in taken | before]
    unique = list({canonical(hit.url): (hit, task) for hit, task in reversed(more)}.values())[::-1]
    return unique[: max(0, wanted - len(taken))]


async def without_duplicates(read: Sequence[Source | Unread], before: Sequence[Source]) -> list[Source | Unread]:
    """Return the pages, with an `Unread` in place of near copies of another page.

    Copies that two searches of the same round find are left to the stage `synthesize`.
    """
    new = [(item.id, item.document.text) for item in read if isinstance(item, Source)]
    if not new:
        return list(read)
    earlier = {source.id: source.document.text for source in before}
    same = await copies(new, earlier)
    urls = {item.id: item.hit.url for item in (*before, *read) if isinstance(item, Source)}
    return [_duplicate(item, urls[same[item.id]]) if item.id in same else item for item in read]


def _duplicate(item: Source | Unread, original: str) -> Unread:
    url = item.hit.url if isinstance(item, Source) else item.url
    return Unread(id=item.id, url=url, reason=f"it has the same text as {original}")


def hits_by_rank(items: Sequence[Found], *, near: bool = True) -> Iterator[tuple[Hit, str]]:
    """Yield all readable hits with the ids of their search tasks: the best of each search, then the second best."""
    ranks = zip_longest(*([(hit, item.task.id) for hit in readable_hits(item, near=near)] for item in items))
    return (pair for rank in ranks for pair in rank if pair is not None)


async def read_page(hit: Hit, task_id: str, run: StageRun) -> Source | Unread:
    """Read one page. A failed or refused page is recorded as unread."""
    try:
        document = await fetch_document(hit, run)
    except CallFailed as failed:
        return await _unread(hit, task_id, failed.record.text, run)
    if not document.text.strip():
        return await _unread(hit, task_id, "the page has no text", run)
    return await _source(hit.model_copy(update={"passages": ()}), document, task_id, run)


async def _quoted(hit: Hit, task_id: str, run: StageRun) -> Source:
    """Return a hit whose passages are all that a run without a model needs of it; nothing is fetched."""
    document = as_document(hit.passages, hit.title)
    return await _source(hit.model_copy(update={"passages": ()}), document, task_id, run)


async def _source(hit: Hit, document: Document, task_id: str, run: StageRun) -> Source:
    title, published = hit.title or document.title or hit.url, hit.published or document.published
    source = Source(
        id=source_id(hit.url),
        hit=hit.model_copy(update={"title": title, "text": None, "published": published}),
        document=document,
        engine=hit.engine,
        tier=hit.tier,
        labels=hit.labels | document.labels,
        task_id=task_id,
    )
    await announce(source, run, query=task_id)
    return source


async def announce(source: Source, run: StageRun, **more: str) -> None:
    """Emit the event `source`."""
    about: Json = {"id": source.id, "url": source.hit.url, "title": source.hit.title, "published": source.hit.published}
    await run.emit("source", {**about, "engine": source.engine, "tier": source.tier, **more})


async def _unread(hit: Hit, task_id: str, reason: str, run: StageRun) -> Unread:
    await run.emit("unread", {"url": hit.url, "reason": reason, "query": task_id})
    return Unread(id=source_id(hit.url), url=hit.url, reason=reason)


async def fetch_document(hit: Hit, run: StageRun) -> Document:
    """Return the document of a hit: the engine's own text if there is one, else the fetched page."""
    if hit.text is not None:
        return Document(text=hit.text, title=hit.title)
    return await run.fetch(FetchRequest(url=hit.content_url or hit.url, engine=hit.engine))
