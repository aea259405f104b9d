"""Stage `fetch`: reads the best pages that the searches found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.findings import FOUND, SOURCES, UNREAD, Findings, Found, Unread
from leadline.hookspecs import MapOffer, PluginSettings, hookimpl
from leadline.records import Document, FetchRequest, Hit, Source
from leadline_plugins.canonical import canonical
from leadline_plugins.duplicates import copies
from leadline_plugins.stages.rounds import writes

_FAR = 0.25
"""The share of the best hit's score below which a page is not read: of what answers a question, nothing stood there."""


class Reading:
    """Reads two pages of each search at once, and when all searches are through fills up to the wanted number.

    So the choice of pages never depends on which search answered first.
    """

    async def map(self, item: Found, findings: Findings, run: Run, /) -> Sequence[Source | Unread]:
        """Read the first helping of one search."""
        sources, near = findings[SOURCES], await writes(run)
        chosen = helping(item, known(sources), first(run), near=near)
        return await once(await run.each(chosen, lambda hit: read(hit, item.task.id, run)), sources)

    async def rest(self, items: Sequence[Found], findings: Findings, run: Run, /) -> Sequence[Source | Unread]:
        """Fill up with the next best pages of all searches together."""
        sources = findings[SOURCES]
        chosen = second_helping(items, known(sources), run, near=await writes(run))
        return await once(await run.each(chosen, lambda pair: read(*pair, run)), sources)


def first(run: Run) -> int:
    """Return how many pages of one search are read at once."""
    return min(2, run.settings.research.pages_per_query)


def known(sources: Iterable[Source]) -> set[str]:
    """Return the addresses read in earlier rounds, in their canonical form."""
    return {canonical(source.hit.url) for source in sources}


def worth_reading(item: Found, *, near: bool = True) -> list[Hit]:
    """Return the hits of one search that may be cited; `near`: without those far behind the best of their engine.

    For a model they are noise. The algorithms tell by them which words are rare, and so what answers a question.
    """
    best: dict[str, float] = {}
    for hit in item.hits:
        best[hit.engine] = max(best.get(hit.engine, 0.0), hit.score or 0.0)
    return [hit for hit in item.hits if hit.citable and not (near and _far(hit.score, best[hit.engine]))]


def _far(score: float | None, best: float) -> bool:
    return score is not None and best > 0 and score < _FAR * best


def helping(item: Found, before: set[str], count: int, *, near: bool = True) -> list[Hit]:
    """Return the best new pages of one search."""
    new = {canonical(hit.url): hit for hit in reversed(worth_reading(item, near=near))}
    return [hit for name, hit in reversed(new.items()) if name not in before][:count]


def second_helping(items: Sequence[Found], before: set[str], run: Run, *, near: bool = True) -> list[tuple[Hit, str]]:
    """Return the next best new pages of all searches together, up to the wanted number, with their search tasks."""
    taken = {canonical(hit.url) for item in items for hit in helping(item, before, first(run), near=near)}
    wanted = run.settings.research.pages_per_query * len([item for item in items if item.hits])
    more = [pair for pair in by_rank(items, near=near) if canonical(pair[0].url) not in taken | before]
    unique = list({canonical(hit.url): (hit, task) for hit, task in reversed(more)}.values())[::-1]
    return unique[: max(0, wanted - len(taken))]


async def once(read: Sequence[Source | Unread], before: Sequence[Source]) -> list[Source | Unread]:
    """Return what was read, without the pages that say nearly the same as one of them, or as one read before.

    Copies that two searches of one round bring are left to `synthesize`: here neither knows of the other.
    """
    new = [(item.id, item.document.text) for item in read if isinstance(item, Source)]
    if not new:
        return list(read)
    earlier = {source.id: source.document.text for source in before}
    same = await copies(new, earlier)
    urls = {item.id: item.hit.url for item in (*before, *read) if isinstance(item, Source)}
    return [_copy(item, urls[same[item.id]]) if item.id in same else item for item in read]


def _copy(item: Source | Unread, original: str) -> Unread:
    url = item.hit.url if isinstance(item, Source) else item.url
    return Unread(id=item.id, url=url, reason=f"it says the same as {original}")


def by_rank(items: Sequence[Found], *, near: bool = True) -> Iterator[tuple[Hit, str]]:
    """Yield all hits that are worth it, the first of every search first, with the id of the search task."""
    ranks = zip_longest(*([(hit, item.task.id) for hit in worth_reading(item, near=near)] for item in items))
    return (pair for rank in ranks for pair in rank if pair is not None)


async def read(hit: Hit, task_id: str, run: Run) -> Source | Unread:
    """Read one page; a page that fails is recorded and skipped, and so is one that is refused: others were read."""
    try:
        document = await document_of(hit, run)
    except CallFailed as failed:
        return Unread(id=source_id(hit.url), url=hit.url, reason=failed.record.text)
    if not document.text.strip():
        return Unread(id=source_id(hit.url), url=hit.url, reason="there is no text in it")
    title = hit.title or document.title or hit.url
    await run.emit("source", {"url": hit.url, "title": title, "engine": hit.engine, "tier": hit.tier})
    return Source(
        id=source_id(hit.url),
        hit=hit.model_copy(update={"title": title, "text": None, "published": hit.published or document.published}),
        document=document,
        engine=hit.engine,
        tier=hit.tier,
        labels=hit.labels,
        task_id=task_id,
    )


async def document_of(hit: Hit, run: Run) -> Document:
    """Return what a hit leads to; an engine may have brought it along."""
    if hit.text is not None:
        return Document(text=hit.text, title=hit.title)
    return await run.fetch(FetchRequest(url=hit.content_url or hit.url))


def source_id(url: str) -> str:
    """Return the id of a source: all addresses of a page are the same source, in every run."""
    return "s" + blake2b(canonical(url).encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


@hookimpl
def leadline_stages() -> Iterator[MapOffer[Any]]:
    """Offer the stage."""
    yield MapOffer(
        lambda settings, context: Reading(),
        PluginSettings,
        "Reads the best pages of each search, and fetches none twice",
        over=FOUND,
        gives=SOURCES,
        may_give=(UNREAD,),
        wants=(SOURCES,),
    )
