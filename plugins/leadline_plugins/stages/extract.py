"""Stage `extract`: cuts each source into passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import EVIDENCE, PLAN, QUESTION, SOURCES, TASKS, Findings
from leadline.hookspecs import MapOffer, PluginSettings, hookimpl
from leadline.records import Evidence, Source
from leadline_plugins.passages.cut import passages_of
from leadline_plugins.passages.rank import KeyQuestion, by_words
from leadline_plugins.text import sentences

_LONG = 30_000
"""Characters from which a document is cut off the event loop."""
_MOST = 200
"""Passages of one source that are kept: of a long one the best for the questions of the run."""


class Extraction:
    """Keeps all passages of a source; of a long one those that serve the run's questions best."""

    async def map(self, item: Source, findings: Findings, run: Run, /) -> Sequence[Evidence]:
        """Return the passages of one source, in the order of its document."""
        if any(evidence.source_id == item.id for evidence in findings[EVIDENCE]):
            return ()  # the source was found again by a later search
        questions = _questions(item, findings)
        long = len(item.document.text) > _LONG
        found = await compute(extracted, item, questions) if long else extracted(item, questions)
        if found:
            first = next(iter(sentences(found[0].quote)), (0, len(found[0].quote)))
            text = found[0].quote[slice(*first)]
            await run.emit("message", {"kind": "learning", "text": text, "source": item.hit.url})
        return found


def _questions(source: Source, findings: Findings) -> list[str]:
    plan = findings.get(PLAN)
    planned = [question for section in plan.sections for question in section.questions] if plan else []
    searched = [task.query for task in findings[TASKS] if task.id == source.task_id]
    return list(dict.fromkeys((findings[QUESTION].text, *planned, *searched)))


def extracted(source: Source, questions: Sequence[str]) -> list[Evidence]:
    """Return the passages of a source in order; of more than `_MOST` those that serve some questions best."""
    found = passages_of(source)
    if len(found) <= _MOST:
        return found
    titles = {source.id: source.hit.title or source.document.title}
    best = [0.0] * len(found)
    for scores in by_words(found, titles, [KeyQuestion(question) for question in questions]):
        for place, score in scores.items():
            best[place] = max(best[place], score)
    kept = sorted(range(len(found)), key=lambda place: (-best[place], place))[:_MOST]
    return [found[place] for place in sorted(kept)]


@hookimpl
def leadline_stages() -> Iterator[MapOffer[Any]]:
    """Offer the stage."""
    yield MapOffer(
        lambda settings, context: Extraction(),
        PluginSettings,
        "Cuts each source into passages: whole blocks with their headings and page",
        over=SOURCES,
        gives=EVIDENCE,
        needs=(QUESTION,),
        wants=(PLAN, TASKS, EVIDENCE),
    )
