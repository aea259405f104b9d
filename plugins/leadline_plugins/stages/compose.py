"""Stage `compose`: what stands around the sections, asked for as soon as they do and while charts are being drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from leadline.citations import CITATION, cited
from leadline.contracts import Run
from leadline.findings import EVIDENCE, PLAN, QUESTION, SECTIONS, Findings, Key
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Section
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import first_paragraphs
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.tasks import Composition, WriteRequest
from leadline_plugins.text.foreign import answered_in_language

IN_LANGUAGE = answered_in_language(lambda composed: (composed.summary, composed.conclusion))
ASK = TaskKind(
    "write",
    WriteRequest,
    Composition,
    template("write"),
    role="thinking",
    shrink=first_paragraphs,
    check=IN_LANGUAGE,
    expects=expect.write,
)
COMPOSITION: Key[Composition] = Key("composition", Composition)


class Composing:
    """Has title, summary and conclusion written; where that fails, the sections stand as they are."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the composition, its citations of what is not there taken out."""
        sections, evidence = findings[SECTIONS], findings[EVIDENCE]
        cites = used(sections)
        request = WriteRequest(
            question=findings[QUESTION],
            plan=findings[PLAN],
            sections=sections,
            evidence=tuple(item for item in evidence if item.id in cites),
            length=run.settings.report.length,
        )
        if await run.by_chat("write", "thinking"):
            request = texts_only(request)
        stand = Composition(title=findings[PLAN].title)
        saying = "summary and conclusion were not written: the sections stand"
        composed = await perform_or(run, ASK.of(request), stand, saying)
        kept = known(composed, {item.id for item in evidence})
        findings[COMPOSITION] = kept if kept.title.strip() else kept.model_copy(update={"title": stand.title})
        for part in ("summary", "conclusion"):
            if getattr(composed, part).strip() and not getattr(kept, part):
                await tell(run, f"the {part} was left out, for it cited nothing")


def used(sections: Iterable[Section]) -> set[str]:
    """Return the ids of the evidence that sections cite."""
    return {name for section in sections for name in cited(section.text or "")}


def texts_only(request: WriteRequest) -> WriteRequest:
    """Return the request as a chat needs it: the texts hold every statement with its citation."""
    sections = tuple(section.model_copy(update={"evidence_ids": (), "notes": ""}) for section in request.sections)
    return request.model_copy(update={"sections": sections, "evidence": ()})


def known(composed: Composition, ids: set[str]) -> Composition:
    """Return a composition without citations of what is not there; a text that cites nothing else is not taken."""

    def clean(text: str) -> str:
        text = CITATION.sub(lambda match: match.group() if match.group(1) in ids else "", text).strip()
        return text if cited(text) else ""

    sections = tuple(section.model_copy(update={"text": clean(section.text or "")}) for section in composed.sections)
    changes = {"summary": clean(composed.summary), "conclusion": clean(composed.conclusion), "sections": sections}
    return composed.model_copy(update=changes)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Composing(),
        PluginSettings,
        "Has title, summary and conclusion written around the sections",
        needs=(QUESTION, PLAN, SECTIONS),
        wants=(EVIDENCE,),
        gives=(COMPOSITION,),
        closing=True,
        tasks=(ASK,),
    )
