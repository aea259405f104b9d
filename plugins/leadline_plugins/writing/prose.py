"""Synthesizer `prose`: one model call writes a section from its passages.

A text without citations is requested once more. If no usable text comes, the section becomes the brief of its
passages, and the report notes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leadline.citations import cited, uncited
from leadline.contracts import Call
from leadline.errors import CallFailed, CallRefused
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import DataPoint, Section, SectionRequest
from leadline.research_findings import Question
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.prompting.inputs import template
from leadline_plugins.prompting.numbered_passages import group_by_source, ids_by_number
from leadline_plugins.prompting.shrinking import halve_request_passages
from leadline_plugins.prompting.writing_tasks import (
    SYNTHESIZE_EXAMPLE,
    SYNTHESIZE_SCHEMA,
    OutlinedSection,
    SynthesizeRequest,
    WrittenSection,
)
from leadline_plugins.text.reply_language import answered_in_language, foreign_paragraph
from leadline_plugins.writing.brief import brief
from leadline_plugins.writing.model_markdown import parse_section, plain_title, unknown_numbers

CITES_NOTHING = "it cites no passage: put the number of a passage, as [1], after every statement"
# Entries that models write into lists that should be empty.
_EMPTY_ENTRIES = frozenset({"", "-", "none", "n/a", "nothing", "无", "無", "なし"})
_IN_LANGUAGE = answered_in_language(lambda written: (written.text,))


class ProseSynthesizer:
    """Has a model write each section with the task `synthesize`."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with text, gaps, inferences and figures; the text is empty if no passage answers.

        Without a language model the section is the brief of its passages.
        """
        if not await call.run.by_chat(TASK.name, TASK.role):
            return await compute(brief, request)
        asked = task_inputs(request, call.run.now().date().isoformat())
        try:
            written = await call.run.perform(TASK.of(asked))
        except CallFailed as failed:  # refused or failed: a spent budget must not cost the report
            refused = isinstance(failed, CallRefused)
            return await _brief(request, failed.record.text, unsent=_ids(request) if refused else ())
        known = ids_by_number(asked.sources)
        text = await compute(parse_section, written.text, known, request.section.title)
        if unknown := unknown_numbers(written.text, known):
            numbers = ", ".join(map(str, unknown))
            where = f"section '{request.section.title}'"
            await notify(call.run, f"{where}: citations of passages that do not exist were removed: {numbers}")
        if not cited(text) and (text or not written.unanswered):
            return await _brief(request, "its text cites no passage")
        update = {
            "text": text,
            "unanswered": _clean_lines(written.unanswered),
            "inferences": _clean_lines(written.inferences),
            "data_points": tuple(_data_points(written, known)),
        }
        return request.section.model_copy(update=update)


def task_inputs(request: SectionRequest, today: str) -> SynthesizeRequest:
    """Return the inputs of the task; `request.evidence` is best first."""
    return SynthesizeRequest(
        question=Question(text=request.question, language=request.language, assumptions=request.assumptions),
        today=today,
        digest=uncited(request.digest),
        outline=tuple(OutlinedSection(title=one.title, goal=one.notes) for one in request.outline),
        title=request.section.title,
        goal=request.section.notes,
        questions=request.questions,
        length=request.length,
        sources=group_by_source(request.evidence, request.sources),
        best_first=_ids(request),
    )


def reply_faults(asked: SynthesizeRequest, written: WrittenSection) -> str:
    """Return all faults of a text at once, because the model has only one more attempt."""
    text = parse_section(written.text, ids_by_number(asked.sources))
    if not text and _clean_lines(written.unanswered):
        return ""
    fault = "" if cited(text) else CITES_NOTHING
    foreign = _IN_LANGUAGE(asked, written) or _foreign_paragraph(asked, written)
    return "; ".join(filter(None, (fault, foreign)))


def accept_after_retry(asked: SynthesizeRequest, written: WrittenSection) -> tuple[WrittenSection, str] | None:
    """Accept the second reply if it cites and only single paragraphs are in another language."""
    if _IN_LANGUAGE(asked, written) or not cited(parse_section(written.text, ids_by_number(asked.sources))):
        return None
    return written, f"section '{asked.title}': {_foreign_paragraph(asked, written)}"


def _foreign_paragraph(asked: SynthesizeRequest, written: WrittenSection) -> str:
    return foreign_paragraph((written.text, *written.unanswered), asked.question)


async def _brief(request: SectionRequest, reason: str, unsent: tuple[str, ...] = ()) -> Section:
    """Return the section as the brief of its passages, with the reason."""
    section = await compute(brief, request)
    title = request.section.title
    return section.model_copy(update={"title": title, "unwritten": (reason,), "unsent": unsent})


def _ids(request: SectionRequest) -> tuple[str, ...]:
    return tuple(item.id for item in request.evidence)


def _clean_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts as plain lines, without repetitions and empty entries such as "none"."""
    return tuple(
        dict.fromkeys(line for text in texts if (line := plain_title(text)).casefold().strip(".") not in _EMPTY_ENTRIES)
    )


def _data_points(written: WrittenSection, known: Mapping[int, str]) -> Iterable[DataPoint]:
    for figure in written.figures:
        if figure.passage in known and figure.value.strip():
            yield DataPoint(label=figure.label, value=figure.value, unit=figure.unit, evidence_id=known[figure.passage])


TASK = TaskKind(
    "synthesize",
    SynthesizeRequest,
    WrittenSection,
    template("synthesize"),
    role="thinking",
    shrink=halve_request_passages,
    check=reply_faults,
    mend=accept_after_retry,
    lacks=lambda asked, written: f"section '{asked.title}' may be incomplete",
    shows=("text",),
    expects=estimates.synthesize,
    schema=SYNTHESIZE_SCHEMA,
    example=SYNTHESIZE_EXAMPLE,
    show=SynthesizeRequest.as_text,
)


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, ProseSynthesizer]]:
    """Offer the synthesizer."""
    yield Offer(
        lambda settings, context: ProseSynthesizer(),
        PluginSettings,
        "Sections written by a model, every claim cited",
        tasks=(TASK,),
    )
