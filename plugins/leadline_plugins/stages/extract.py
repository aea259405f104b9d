"""Stage `extract`: cuts each source into passages."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import map_stage
from leadline.records import Evidence, Json, Source
from leadline.research_findings import EVIDENCE, PLAN, QUESTION, SOURCES, TASKS
from leadline.workers import compute
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.passages.ranking import KeyQuestion, by_words
from leadline_plugins.text import sentences

# Passages kept of one source, the best for the questions of the run.
_MAX_PASSAGES = 200


@map_stage(
    "Cuts each source into passages: whole blocks with their headings and page",
    over=SOURCES,
    gives=EVIDENCE,
    needs=(QUESTION,),
    wants=(PLAN, TASKS, EVIDENCE),
)
class ExtractStage:
    """Keeps all passages of a source; of a long one those that match the questions of the run best."""

    async def map(self, item: Source, findings: Findings, run: StageRun, /) -> Sequence[Evidence]:
        """Return the passages of one source, in the order of its document."""
        if any(evidence.source_id == item.id for evidence in findings[EVIDENCE]):
            return ()  # a later search found the source again
        questions = _questions(item, findings)
        # Short documents as well: hundreds of them come at once, and would be cut in one step of the event loop.
        passages = await compute(best_passages, item, questions)
        if passages:
            first = next(iter(sentences(passages[0].quote)), (0, len(passages[0].quote)))
            text = passages[0].quote[slice(*first)]
            about: Json = {"kind": "learning", "text": text, "source": item.hit.url, "passages": len(passages)}
            await run.emit("message", about)
        return passages


def _questions(source: Source, findings: Findings) -> list[str]:
    plan = findings.get(PLAN)
    planned = [question for section in plan.sections for question in section.questions] if plan else []
    searched = [task.query for task in findings[TASKS] if task.id == source.task_id]
    return list(dict.fromkeys((findings[QUESTION].topic, *planned, *searched)))


def best_passages(source: Source, questions: Sequence[str]) -> list[Evidence]:
    """Return the passages of a source in order, at most `_MAX_PASSAGES`: the best for any of the questions."""
    passages = passages_of(source)
    if len(passages) <= _MAX_PASSAGES:
        return passages
    titles = {source.id: source.hit.title or source.document.title}
    best = [0.0] * len(passages)
    for scores in by_words(passages, titles, [KeyQuestion(question) for question in questions]):
        for index, score in scores.items():
            best[index] = max(best[index], score)
    chosen = sorted(range(len(passages)), key=lambda index: (-best[index], index))[:_MAX_PASSAGES]
    return [passages[index] for index in sorted(chosen)]
