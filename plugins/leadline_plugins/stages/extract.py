"""Stage `extract`: from each source the learnings, each with the verbatim quote that bears it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

from leadline.computing import compute
from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.findings import EVIDENCE, QUESTION, SOURCES, TASKS, UNREAD, Findings, SearchTask, Unread
from leadline.hookspecs import MapOffer, PluginSettings, hookimpl
from leadline.records import Evidence, Source
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import shorter_source
from leadline_plugins.stages.material import learnings, written
from leadline_plugins.stages.showing import asked
from leadline_plugins.tasks.reading import ExtractRequest, Learning, Learnings
from leadline_plugins.text.headings import BETWEEN, headings
from leadline_plugins.text.rows import heads_over

ASK = TaskKind("extract", ExtractRequest, Learnings, template("extract"), shrink=shorter_source, expects=expect.extract)

_LONG = 30_000
"""Characters of a page from which its quotes are looked for off the event loop; a shorter one takes less than that."""
_MANY = 0.25
"""The share of the pages read in vain from which that is said."""


class Extraction:
    """Keeps only learnings whose quote stands in the source, word for word."""

    async def map(self, item: Source, findings: Findings, run: Run, /) -> Sequence[Evidence | Unread]:
        """Extract from one source."""
        task = next((task for task in findings[TASKS] if task.id == item.task_id), SearchTask(id="", query=""))
        request = ExtractRequest(
            question=asked(findings[QUESTION]),
            query=task.query,
            goal=task.goal,
            source=item,
            snippet=item.hit.snippet,
            limit=await learnings(item, run),
            material=await written(run),
            again=any(evidence.source_id == item.id for evidence in findings[EVIDENCE]),
        )
        try:
            reply = await run.perform(ASK.of(request))
        except CallRefused:
            raise
        except CallFailed as failed:
            return (Unread(id=item.id, url=item.hit.url, reason=failed.record.text),)
        long = len(item.document.text) > _LONG
        found = await compute(evidence_of, reply.learnings, item) if long else evidence_of(reply.learnings, item)
        if found:
            await run.emit("message", {"kind": "learning", "text": found[0].claim, "source": item.hit.url})
        elif reply.learnings:
            reason = f"none of the {len(reply.learnings)} quotes that were given stands on the page"
            return (Unread(id=item.id, url=item.hit.url, reason=reason),)
        return found


def unused(unread: Sequence[Unread], sources: Sequence[Source], evidence: Sequence[Evidence]) -> str:
    """Say how many pages were read in vain, and why at first; nothing where they are few: the method names each."""
    vain = {source.id for source in sources} - {item.source_id for item in evidence}
    lost = [item for item in unread if item.id in vain]
    if not lost or len(lost) < _MANY * len(sources):
        return ""
    # No reply came, or one that was of no use: the reason says which, so what stands before it is true of both.
    pages = f"{len(lost)} of {len(sources)} pages were read, but nothing usable came of them from the model"
    first = "" if len({item.reason for item in lost}) == 1 else "of the first, "
    return f"{pages}: {first}{lost[0].reason}"


def evidence_of(found: Sequence[Learning], source: Source) -> list[Evidence]:
    """Return the learnings whose quote stands in the source, as evidence."""
    return [evidence for learning in found if (evidence := borne(learning, source))]


def borne(learning: Learning, source: Source) -> Evidence | None:
    """Return a learning as evidence, or None where its quote does not stand in the source."""
    span = find(learning.quote, source.document.text, learning.start)
    if span is None:
        return None
    return Evidence(
        id=evidence_id(source.id, span),
        source_id=source.id,
        quote=source.document.text[span[0] : span[1]],
        span=span,
        claim=learning.claim or learning.quote,
        confidence=learning.confidence,
        score=learning.score,
        task_id=source.task_id,
        under=under(source, span[0]),
    )


def under(source: Source, place: int) -> str:
    """Return the headings over a place of a source, and of a row of a table the head of that.

    Its own title stands over all of it, and is left out.
    """
    titles, text = {source.hit.title.strip(), source.document.title.strip(), ""}, source.document.text
    return BETWEEN.join(one for one in (*headings(text).over(place), heads_over(text, place)) if one not in titles)


def find(quote: str, text: str, start: int = -1) -> tuple[int, int] | None:
    """Return where a quote stands in a text, white space aside."""
    if start >= 0 and quote and text.startswith(quote, start):
        return start, start + len(quote)
    place = text.find(quote) if quote.strip() else -1
    if place >= 0:
        return place, place + len(quote)
    words = quote.split()
    match = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return match.span() if match else None


def evidence_id(source: str, span: tuple[int, int]) -> str:
    """Return the id of a passage: the same passage is the same evidence, in every run."""
    return "e" + blake2b(f"{source}:{span[0]}:{span[1]}".encode(), digest_size=5).hexdigest()


@hookimpl
def leadline_stages() -> Iterator[MapOffer[Any]]:
    """Offer the stage."""
    yield MapOffer(
        lambda settings, context: Extraction(),
        PluginSettings,
        "Extracts claims with their verbatim quotes from each source",
        over=SOURCES,
        gives=EVIDENCE,
        may_give=(UNREAD,),
        needs=(QUESTION,),
        wants=(TASKS, EVIDENCE),
        tasks=(ASK,),
    )
