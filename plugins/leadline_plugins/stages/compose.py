"""Stage `compose`: what stands around the sections, asked for as soon as they do and while charts are being drawn.

Where the settings say so, one call writes the sections anew too, as one text by one hand (`report.write`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from leadline.citations import cited, cited_only, uncited
from leadline.contracts import Run
from leadline.findings import DIGEST, EVIDENCE, PLAN, QUESTION, SECTIONS, Digest, Findings, Key, Plan
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence, Section
from leadline.task_kinds import TaskKind
from leadline_plugins import drafts, expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import first_paragraphs
from leadline_plugins.stages import composing
from leadline_plugins.stages.degrade import perform_or, tell_once
from leadline_plugins.stages.showing import asked, today
from leadline_plugins.tasks.writing import ChangedSection, Composition, WriteRequest

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
_ALSO_CALLED = {
    "summary": (
        "executive summary",
        "abstract",
        "key findings",
        "Zusammenfassung",
        "résumé",
        "resumen",
        "摘要",
        "要約",
    ),
    "conclusion": ("conclusions", "Fazit", "Schluss", "conclusión", "结论", "結論", "まとめ"),
}
"""Titles that models give to what stands around the sections, which has one already."""
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
            **hints(findings.get(DIGEST)),
        )
        chat = await run.by_chat(ASK.name, ASK.role)
        whole = await in_one(request, run)
        composed = whole or await around(texts_only(request) if chat else request, run)
        kept = taken(
            composed, sections, _drafts(evidence) if whole or chat else _known(evidence), anew=whole is not None
        )
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


_TEXT_ALONE: dict[str, Any] = {"evidence_ids": (), "notes": "", "notices": (), "unsent": ()}


def hints(digest: Digest | None) -> dict[str, Any]:
    """Return what the last round came to: a summary is better for the whole, which no writer of one section saw."""
    if digest is None:
        return {}
    gaps = digest.knowledge_gaps or (digest.review.priority_gaps if digest.review else ())
    return {"synthesis": uncited(digest.synthesis), "gaps": gaps}


def texts_only(request: WriteRequest) -> WriteRequest:
    """Return the request as a chat needs it: the texts hold every statement with its citation, the plan its title.

    What was told of their writing goes too: it names what was spent by then, and no resumed run would ask the same.
    """
    sections = tuple(section.model_copy(update=_TEXT_ALONE) for section in request.sections)
    plan = Plan(title=request.plan.title, sections=())
    return request.model_copy(update={"sections": sections, "evidence": (), "plan": plan})


@dataclass(frozen=True)
class Taken:
    """What is taken of a composition, and what is to be told of the rest."""

    composition: Composition
    told: tuple[str, ...] = ()


def taken(
    composed: Composition,
    stand: Iterable[Section],
    read: Callable[[str, str], drafts.Draft],
    *,
    anew: bool = False,
) -> Taken:
    """Return a composition as it is taken: texts that cite, and changes of sections that lose nothing.

    `read` makes a text that of a section, by its title. Where all was written `anew`, a section may say less than
    before, for another says it; one that cites nothing, or did not come back, stands as it was.
    """
    around = {part: read(getattr(composed, part), part) for part in ("summary", "conclusion")}
    texts = {part: draft.text if cited(draft.text) else "" for part, draft in around.items()}
    lost = [part for part, text in texts.items() if getattr(composed, part).strip() and not text]
    told = [f"the {part} was left out, for it cited nothing" for part in lost]
    standing = {section.id: section for section in stand}
    changed: dict[str, ChangedSection] = {}
    left_out = [draft.left_out for draft in around.values()]
    for section in composed.sections:
        old = standing.get(section.id)
        if old is None or not section.text.strip():
            continue
        draft = read(section.text, old.title)
        if anew:
            refused = "" if cited(draft.text) else "it cites nothing"
        else:
            refused = composing.lost(old.text or "", draft.text, [one.title for one in standing.values()])
        if not refused:
            title = drafts.title(section.title) or old.title
            changed[old.id] = ChangedSection(id=old.id, title=title, text=draft.text)
            left_out.append(draft.left_out)
        elif not anew:
            told.append(f"section '{old.title}' stands as it was, for {refused} when it was changed")
    if anew and (same := [f"'{old.title}'" for old in standing.values() if old.id not in changed]):
        told.append(f"what was written anew lacks {', '.join(same)}, or the citations there: as first written")
    told += [drafts.LEFT_OUT] if any(left_out) else []
    return Taken(composed.model_copy(update={"sections": tuple(changed.values()), **texts}), tuple(told))


def _drafts(evidence: Iterable[Evidence]) -> Callable[[str, str], drafts.Draft]:
    """Return what reads the texts of a model."""
    known = drafts.Known.of_evidence(tuple(evidence))
    return lambda text, title: drafts.normalised(text, known, (title, *_ALSO_CALLED.get(title, ())))


def _known(evidence: Iterable[Evidence]) -> Callable[[str, str], drafts.Draft]:
    """Return what reads the texts of an algorithm, which stand as they are; only what they cite must be there."""
    ids = {item.id for item in evidence}

    def read(text: str, title: str) -> drafts.Draft:
        return drafts.Draft(cited_only(text, ids).strip())

    return read


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
