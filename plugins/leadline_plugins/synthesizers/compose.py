"""Compose a report from its sections: one model call adds title, summary, conclusion and cross-references.

With `report.write = "single"` one call writes all sections anew instead. A change of a section is taken only if every
passage that it cited is still cited somewhere in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from leadline.citations import CITATION, cited
from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import Question
from leadline.records import Section, Text
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import first_paragraphs
from leadline_plugins.stages.degrade import perform_or, tell_once
from leadline_plugins.synthesizers import draft
from leadline_plugins.tasks.writing import (
    WHOLE_EXAMPLE,
    WRITE_EXAMPLE,
    WRITE_SCHEMA,
    Composition,
    SectionText,
    WriteRequest,
)
from leadline_plugins.text.foreign import answered_in_language, strays

_AROUND = ("summary", "conclusion")
_IN_LANGUAGE = answered_in_language(lambda composed: tuple(_texts(composed)))


@dataclass(frozen=True)
class Composed:
    """A report as composed: texts cite `[@evidence-id]`; empty ones are left out."""

    title: str
    sections: tuple[Section, ...]
    summary: str = ""
    conclusion: str = ""
    notices: tuple[Text, ...] = ()


async def compose(
    question: Question, title: str, sections: Sequence[Section], figures: Iterable[str], run: Run
) -> Composed:
    """Return the report with what a model wrote around its sections; without a model as it is."""
    whole = run.settings.report.write == "single"
    kind = WHOLE if whole else ASK
    failed = "the sections were not rewritten" if whole else "there is no summary and no conclusion"
    if not await run.by_chat(kind.name, kind.role):
        if whole:
            await tell_once(run, f"{failed} (report.write = single needs a language model)")
        return Composed(title, tuple(sections))
    ids = list(dict.fromkeys(name for section in sections for name in cited(section.text or "")))
    shown = [SectionText(id=one.id, title=one.title, text=_numbered(one.text or "", ids)) for one in sections]
    request = WriteRequest(
        question=question,
        today=run.now().date().isoformat(),
        title=title,
        sections=tuple(shown),
        passages=len(ids),
        unanswered=tuple(f"{one.title}: {gap}" for one in sections for gap in one.unanswered),
        figures=tuple(figures),
        length=run.settings.report.length,
    )
    reply = await perform_or(run, kind.of(request), Composition(), failed, closing=True)
    composed = await compute(taken, reply, sections, ids, title, whole=whole)
    for notice in composed.notices:
        await tell_once(run, notice)
    return composed


def taken(reply: Composition, sections: Sequence[Section], ids: Sequence[str], title: str, *, whole: bool) -> Composed:
    """Return what is taken of a reply: texts that cite, and changed sections that lose no citation of the report."""
    numbers = dict(enumerate(ids, start=1))
    around = {part: draft.read(getattr(reply, part), numbers, part) for part in _AROUND}
    notices = [f"the {part} was left out, for it cited nothing" for part in _AROUND if _bare(around[part])]
    changed = {one.id: draft.read(one.text, numbers, one.title) for one in reply.sections if one.text.strip()}
    texts = {one.id: changed.get(one.id) or one.text or "" for one in sections}
    for section in sections:
        before, after = section.text or "", texts[section.id]
        if before == after:
            continue
        lost = set(cited(before)).difference(*(cited(text) for text in texts.values()))
        if not cited(after) or (lost and not whole):
            texts[section.id] = before
            notices.append(f"section '{section.title}' is as first written: its citations were lost")
    if whole and (missing := [f"'{one.title}'" for one in sections if one.id not in changed]):
        notices.append(f"as first written, because the rewritten report lacks them: {', '.join(missing)}")
    return Composed(
        title=draft.title(reply.title) or title,
        sections=tuple(one.model_copy(update={"text": texts[one.id]}) for one in sections),
        notices=tuple(notices),
        **{part: "" if _bare(text) else text for part, text in around.items()},
    )


def unusable(request: WriteRequest, composed: Composition) -> str:
    """Return everything that is wrong with a composition: it is asked for only once more."""
    numbers = {number: str(number) for number in range(1, request.passages + 1)}
    bare = [part for part in _AROUND if _bare(draft.read(getattr(composed, part), numbers))]
    faults = [f"the {part} cites no passage: put its number, as [1], after every statement" for part in bare]
    foreign = _IN_LANGUAGE(request, composed) or strays(_texts(composed), request.question)
    return "; ".join(filter(None, (*faults, foreign)))


def mended(request: WriteRequest, composed: Composition) -> tuple[Composition, str] | None:
    """Return a composition that was asked for twice, unless it is in another language."""
    return None if _IN_LANGUAGE(request, composed) else (composed, strays(_texts(composed), request.question))


def _numbered(text: str, ids: Sequence[str]) -> str:
    """Return a text whose citations are the numbers of passages in the report."""
    return CITATION.sub(lambda match: f"[{ids.index(match[1]) + 1}]", text)


def _bare(text: str) -> bool:
    return bool(text) and not cited(text)


def _texts(composed: Composition) -> Iterator[str]:
    yield from (composed.summary, *(section.text for section in composed.sections), composed.conclusion)


ASK = TaskKind(
    "write",
    WriteRequest,
    Composition,
    template("write"),
    role="thinking",
    shrink=first_paragraphs,
    check=unusable,
    mend=mended,
    shows=("title", "summary", "text", "conclusion"),
    expects=expect.write,
    schema=WRITE_SCHEMA,
    example=WRITE_EXAMPLE,
    show=WriteRequest.as_text,
)
WHOLE = TaskKind(
    "write_whole",
    WriteRequest,
    Composition,
    template("write_whole"),
    role="thinking",
    shrink=first_paragraphs,
    check=unusable,
    mend=mended,
    shows=("title", "summary", "text", "conclusion"),
    expects=expect.write_whole,
    schema=WRITE_SCHEMA,
    example=WHOLE_EXAMPLE,
    show=WriteRequest.as_text,
)
