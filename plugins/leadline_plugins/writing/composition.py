"""Compose a report from its sections: one model call adds title, summary, conclusion and cross-references.

With `report.write = "single"` one call rewrites all sections instead; of a long report one call writes introduction,
summary or abstract, insights and conclusions, and changes no section. A changed section is accepted only if every
passage that it cited is still cited somewhere in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from leadline.citations import CITATION, cited
from leadline.contracts import Run
from leadline.records import Section, Text
from leadline.research_findings import Question
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify_once, perform_or
from leadline_plugins.prompting.inputs import template
from leadline_plugins.prompting.lengths import is_long
from leadline_plugins.prompting.shrinking import halve_sections
from leadline_plugins.prompting.writing_tasks import (
    LONG_EXAMPLE,
    LONG_SCHEMA,
    WHOLE_EXAMPLE,
    WRITE_EXAMPLE,
    WRITE_SCHEMA,
    Composition,
    SectionText,
    WriteRequest,
)
from leadline_plugins.text.reply_language import answered_in_language, foreign_paragraph
from leadline_plugins.writing.model_markdown import parse_section, plain_title

# The parts around the sections; those of a standard report are the first and the last.
PARTS = ("summary", "introduction", "insights", "conclusion")
_IN_LANGUAGE = answered_in_language(lambda composed: tuple(_texts(composed)))


@dataclass(frozen=True)
class ComposedReport:
    """A composed report: texts cite `[@evidence-id]`; missing parts are empty."""

    title: str
    sections: tuple[Section, ...]
    summary: str = ""
    introduction: str = ""
    insights: str = ""
    conclusion: str = ""
    keywords: tuple[Text, ...] = ()
    notices: tuple[Text, ...] = ()


async def compose(
    question: Question,
    title: str,
    sections: Sequence[Section],
    figures: Iterable[str],
    run: Run,
    analysis: str = "",
) -> ComposedReport:
    """Return the report with the title, summary and conclusion of a model; without a model only the sections.

    `analysis` is the critical analysis, which the conclusion weighs.
    """
    long = is_long(run.settings)
    whole = run.settings.report.write == "single" and not long
    kind = LONG_TASK if long else REWRITE_TASK if whole else WRITE_TASK
    failed = "the sections were not rewritten" if whole else "there is no summary and no conclusion"
    if not await run.by_chat(kind.name, kind.role):
        if whole:
            await notify_once(run, f"{failed} (report.write = single needs a language model)")
        return ComposedReport(title, tuple(sections))
    texts = (*(section.text or "" for section in sections), analysis)
    ids = list(dict.fromkeys(name for text in texts for name in cited(text)))
    read = [one for one in sections if (one.text or "").strip()]
    shown = [SectionText(id=one.id, title=one.title, text=_numbered(one.text or "", ids)) for one in read]
    request = WriteRequest(
        question=question,
        today=run.now().date().isoformat(),
        title=title,
        sections=tuple(shown),
        passages=len(ids),
        unanswered=tuple(f"{one.title}: {gap}" for one in sections for gap in one.unanswered),
        figures=tuple(figures),
        analysis=_numbered(analysis, ids),
        academic=run.settings.report.form == "academic",
        length=0 if long else run.settings.report.length,
    )
    reply = await perform_or(run, kind.of(request), Composition(), failed, closing=True)
    composed = await compute(merge_reply, reply, sections, ids, title, whole=whole)
    for notice in composed.notices:
        await notify_once(run, notice)
    return composed


def merge_reply(
    reply: Composition, sections: Sequence[Section], ids: Sequence[str], title: str, *, whole: bool
) -> ComposedReport:
    """Return the accepted parts of a reply: texts that cite, and changed sections that lose no citation."""
    numbers = dict(enumerate(ids, start=1))
    around = {part: parse_section(getattr(reply, part), numbers, part) for part in PARTS}
    notices = [f"the {part} was left out because it cited nothing" for part in PARTS if _lacks_citations(around[part])]
    changed = {one.id: parse_section(one.text, numbers, one.title) for one in reply.sections if one.text.strip()}
    texts = {one.id: changed.get(one.id) or one.text or "" for one in sections}
    for section in sections:
        before, after = section.text or "", texts[section.id]
        if before == after:
            continue
        lost = set(cited(before)).difference(*(cited(text) for text in texts.values()))
        if not cited(after) or (lost and not whole):
            texts[section.id] = before
            notices.append(f"section '{section.title}' was not changed: the new text lost its citations")
    if whole and (missing := [f"'{one.title}'" for one in sections if one.id not in changed]):
        notices.append(f"kept as first written, because the rewritten report lacks them: {', '.join(missing)}")
    return ComposedReport(
        title=plain_title(reply.title) or title,
        sections=tuple(one.model_copy(update={"text": texts[one.id]}) for one in sections),
        keywords=tuple(dict.fromkeys(word for one in reply.keywords if (word := plain_title(one)))),
        notices=tuple(notices),
        **{part: "" if _lacks_citations(text) else text for part, text in around.items()},
    )


def reply_faults(request: WriteRequest, composed: Composition) -> str:
    """Return all faults of a reply at once, because the model has only one more attempt."""
    numbers = {number: str(number) for number in range(1, request.passages + 1)}
    uncited_parts = [part for part in PARTS if _lacks_citations(parse_section(getattr(composed, part), numbers))]
    faults = [f"the {part} cites no passage: put its number, as [1], after every statement" for part in uncited_parts]
    foreign = _IN_LANGUAGE(request, composed) or foreign_paragraph(_texts(composed), request.question)
    return "; ".join(filter(None, (*faults, foreign)))


def accept_after_retry(request: WriteRequest, composed: Composition) -> tuple[Composition, str] | None:
    """Accept the second reply unless it is in another language."""
    if _IN_LANGUAGE(request, composed):
        return None
    return composed, foreign_paragraph(_texts(composed), request.question)


def _numbered(text: str, ids: Sequence[str]) -> str:
    """Return a text whose citations are numbers of passages in the report."""
    return CITATION.sub(lambda match: "".join(f"[{ids.index(name) + 1}]" for name in cited(match[0])), text)


def _lacks_citations(text: str) -> bool:
    return bool(text) and not cited(text)


def _texts(composed: Composition) -> Iterator[str]:
    yield from (*(getattr(composed, part) for part in PARTS), *(section.text for section in composed.sections))


WRITE_TASK = TaskKind(
    "write",
    WriteRequest,
    Composition,
    template("write"),
    role="thinking",
    shrink=halve_sections,
    check=reply_faults,
    mend=accept_after_retry,
    shows=("title", "summary", "text", "conclusion"),
    expects=estimates.write,
    schema=WRITE_SCHEMA,
    example=WRITE_EXAMPLE,
    show=WriteRequest.as_text,
)
REWRITE_TASK = replace(
    WRITE_TASK,
    name="write_whole",
    prompt=template("write_whole"),
    expects=estimates.write_whole,
    example=WHOLE_EXAMPLE,
)
LONG_TASK = replace(
    WRITE_TASK,
    name="write_long",
    prompt=template("write_long"),
    shows=("title", *PARTS),
    expects=estimates.write_long,
    schema=LONG_SCHEMA,
    example=LONG_EXAMPLE,
)
