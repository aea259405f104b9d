"""Stage `compose`: what stands around the sections, asked for as soon as they do and while charts are being drawn.

Where the settings say so, one call writes the sections anew too, as one text by one hand (`report.write`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from leadline.citations import cited, uncited
from leadline.contracts import Run
from leadline.findings import DIGEST, EVIDENCE, PLAN, QUESTION, SECTIONS, Digest, Findings, Key, Plan
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Section
from leadline.task_kinds import TaskKind
from leadline_plugins import drafts, expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import first_paragraphs
from leadline_plugins.stages import composing, material
from leadline_plugins.stages.degrade import perform_or, tell_once
from leadline_plugins.stages.showing import asked, today
from leadline_plugins.tasks.writing import Composition, WriteRequest

ASK = TaskKind(
    "write",
    WriteRequest,
    Composition,
    template("write"),
    role="thinking",
    shrink=first_paragraphs,
    check=composing.unusable,
    mend=composing.mended,
    shows=("title", "summary", "text", "conclusion"),
    expects=expect.write,
)
WHOLE = TaskKind(
    "write_whole",
    WriteRequest,
    Composition,
    template("write_whole"),
    role="thinking",
    shrink=first_paragraphs,
    check=composing.unusable_whole,
    mend=composing.mended_whole,
    shows=("title", "summary", "text", "conclusion"),
    expects=expect.write_whole,
)
COMPOSITION: Key[Composition] = Key("composition", Composition)


class Composing:
    """Has title, summary and conclusion written; where that fails, the sections stand as they are."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the composition, its citations of what is not there taken out."""
        sections, evidence = findings[SECTIONS], findings[EVIDENCE]
        cites = used(sections)
        request = WriteRequest(
            question=asked(findings[QUESTION]),
            plan=findings[PLAN],
            sections=sections,
            evidence=tuple(item for item in evidence if item.id in cites),
            length=run.settings.report.length,
            today=today(run),
            **hints(findings.get(DIGEST), sections if await material.written(run) else ()),
        )
        chat = await run.by_chat(ASK.name, ASK.role)
        whole = await in_one(request, run)
        composed = whole or await around(texts_only(request) if chat else request, run)
        read = composing.drafted(evidence) if whole or chat else composing.known(evidence)
        kept = composing.taken(composed, sections, read, anew=whole is not None)
        planned = request.plan.title
        title = planned if composed.title == planned else drafts.title(composed.title) or planned
        findings[COMPOSITION] = kept.composition.model_copy(update={"title": title})
        for message in kept.told:
            await tell_once(run, message)


async def in_one(request: WriteRequest, run: Run) -> Composition | None:
    """Return the report as one call wrote it, where the settings want that; None where they do not, or it failed."""
    if run.settings.report.write != "single":
        return None
    if not await run.by_chat(WHOLE.name, WHOLE.role):
        await tell_once(run, "the sections stand: only a model writes them anew (report.write = single)")
        return None
    none = Composition()
    composed = await perform_or(
        run, WHOLE.of(texts_only(request)), none, "the sections stand: they were not written anew"
    )
    return None if composed is none else composed


async def around(request: WriteRequest, run: Run) -> Composition:
    """Return what was written around the sections; where that fails, nothing but the title."""
    stand = Composition(title=request.plan.title)
    return await perform_or(run, ASK.of(request), stand, "summary and conclusion were not written: the sections stand")


def used(sections: Iterable[Section]) -> set[str]:
    """Return the ids of the evidence that sections cite."""
    return {name for section in sections for name in cited(section.text or "")}


_TEXT_ALONE: dict[str, Any] = {
    "evidence_ids": (),
    "notes": "",
    "notices": (),
    "unsent": (),
    "unwritten": (),
    "unanswered": (),
}


def hints(digest: Digest | None, written: Sequence[Section] = ()) -> dict[str, Any]:
    """Return what the last round came to: a summary is better for the whole, which no writer of one section saw.

    Of sections that a model has `written` the gaps are those its writers tell: what the last review missed one of them
    may have found, and a summary would call open what its section settles.
    """
    said = {"synthesis": uncited(digest.synthesis)} if digest else {}
    if written:
        return {**said, "gaps": tuple(f"{one.title}: {gap}" for one in written for gap in one.unanswered)}
    if digest is None:
        return {}
    return {**said, "gaps": digest.knowledge_gaps or (digest.review.priority_gaps if digest.review else ())}


def texts_only(request: WriteRequest) -> WriteRequest:
    """Return the request as a chat needs it: the texts hold every statement with its citation, the plan its title.

    What was told of their writing goes too: it names what was spent by then, and no resumed run would ask the same.
    """
    sections = tuple(section.model_copy(update=_TEXT_ALONE) for section in request.sections)
    plan = Plan(title=request.plan.title, sections=())
    return request.model_copy(update={"sections": sections, "evidence": (), "plan": plan})


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Composing(),
        PluginSettings,
        "Has title, summary and conclusion written around the sections",
        needs=(QUESTION, PLAN, SECTIONS),
        wants=(EVIDENCE, DIGEST),
        gives=(COMPOSITION,),
        closing=True,
        tasks=(ASK, WHOLE),
    )
