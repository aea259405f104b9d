"""Synthesizer `prose`: model calls that write sections and the parts around them from the book of a report.

All calls of a report send the same instructions, reply schema and passages, and differ only in the last lines: vendors
cache the rest. What a reply lacks, because it was cut off or forgot it, is asked for again. If no usable text comes, a
section becomes the brief of its passages, and the report notes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from leadline.citations import CITATION, cited
from leadline.contracts import Call
from leadline.errors import CallFailed, CallRefused
from leadline.plugin import synthesizer
from leadline.records import REPORT_PARTS, DataPoint, Notice, Section, Synthesis, SynthesisRequest
from leadline.research_findings import Question
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.prompting.inputs import template
from leadline_plugins.prompting.lengths import is_long, part_length
from leadline_plugins.prompting.numbered_passages import group_by_source, ids_by_number
from leadline_plugins.prompting.writing_tasks import (
    SYNTHESIZE_EXAMPLE,
    Disagreement,
    OutlinedSection,
    PartToWrite,
    SectionText,
    SynthesizeRequest,
    WrittenSections,
    shrunk,
)
from leadline_plugins.text.reply_language import answered_in_language, foreign_paragraph
from leadline_plugins.writing.brief import brief
from leadline_plugins.writing.model_markdown import parse_section, plain_title, unknown_numbers

# Entries that models write into lists that should be empty.
_EMPTY_ENTRIES = frozenset({"", "-", "none", "n/a", "nothing", "无", "無", "なし"})


class ProseSynthesizer:
    """Has a model write sections with the task `synthesize`."""

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis:
        """Return the sections with text, gaps, inferences and figures, and the parts around them.

        Without a language model a section is the brief of its passages.
        """
        if not await call.run.by_chat(TASK.name, TASK.role):
            return Synthesis(sections=tuple([await compute(brief, request, section) for section in request.wanted]))
        written: dict[str, Section] = {}
        inputs = task_inputs(request, call.run.now().date().isoformat(), long=is_long(call.run.settings))
        known = ids_by_number(inputs.sources)
        sources: list[JsonValue] = [source.id for source in inputs.sources for _ in source.passages]
        await call.run.emit("message", {"kind": "passages", "text": "", "sources": sources})
        reason, unsent = Notice("its text cites no passage", "no_citation"), False
        while missing := [name for name in request.sections if name not in written]:
            asked = extended(inputs, missing, (*request.written, *written.values()))
            try:
                reply = await call.run.perform(TASK.of(asked))
            except CallFailed as failed:  # refused or failed: a spent budget must not cost the report
                reason, unsent = failed.record.text, isinstance(failed, CallRefused)
                break
            for text in reply.sections:
                if unknown := unknown_numbers(text.text, known):
                    numbers = ", ".join(map(str, unknown))
                    where = f"section '{_title(request, text.id)}'"
                    await notify(call.run, f"{where}: citations of passages that do not exist were removed: {numbers}")
            new = await compute(read_reply, reply, request, missing, known)
            if not new:
                break
            written |= new
        sections = [
            written.get(section.id) or await _brief(request, section, reason, unsent=unsent)
            for section in request.wanted
        ]
        parts = [name for name in request.sections if name in REPORT_PARTS]
        if any(name not in written and name != "keywords" for name in parts):
            await notify(call.run, "a summary, analysis or conclusion is missing ({reason})", "alone", reason=reason)
        return Synthesis(sections=(*sections, *(written[name] for name in parts if name in written)))


def _title(request: SynthesisRequest, name: str) -> str:
    return next((section.title for section in request.book.outline if section.id == name), name)


def task_inputs(request: SynthesisRequest, today: str, *, long: bool = False) -> SynthesizeRequest:
    """Return the inputs of the first call; those of the others differ in the last fields."""
    book = request.book
    sources = group_by_source(book.evidence, book.sources)
    numbers = {name: number for number, name in ids_by_number(sources).items()}

    def numbered(names: Iterable[str]) -> tuple[int, ...]:
        return tuple(numbers[name] for name in names if name in numbers)

    return SynthesizeRequest(
        question=Question(text=request.question, language=request.language, assumptions=request.assumptions),
        today=today,
        scope=request.scope,
        form=request.form,
        outline=tuple(
            OutlinedSection(
                id=section.id,
                title=section.title,
                goal=section.notes,
                questions=section.questions,
                passages=numbered(section.evidence_ids),
            )
            for section in book.outline
        ),
        sources=sources,
        best_first=tuple(item.id for item in book.evidence),
        conflicts=tuple(
            Disagreement(
                about=conflict.about,
                passages=numbered(conflict.evidence_ids),
                primary=sum(numbered([conflict.primary])),
            )
            for conflict in book.conflicts
        ),
        figures=request.figures,
        wanted=tuple(
            PartToWrite(id=name, length=part_length(name, request.language, long=long) or request.length)
            for name in request.sections
        ),
    )


def extended(inputs: SynthesizeRequest, missing: Sequence[str], written: Iterable[Section]) -> SynthesizeRequest:
    """Return the inputs to write the missing parts beside the written ones."""
    sections = [section for section in written if (section.text or "").strip()]
    numbers = {name: number for number, name in ids_by_number(inputs.sources).items()}

    def numbered(text: str) -> str:
        return CITATION.sub(
            lambda match: "".join(f"[{numbers[name]}]" for name in cited(match[0]) if name in numbers), text
        )

    return inputs.model_copy(
        update={
            "written": tuple(SectionText(id=section.id, text=numbered(section.text or "")) for section in sections),
            "inferences": tuple(text for section in sections for text in section.inferences),
            "wanted": tuple(part for part in inputs.wanted if part.id in missing),
        }
    )


def read_reply(
    reply: WrittenSections, request: SynthesisRequest, missing: Sequence[str], known: Mapping[int, str]
) -> dict[str, Section]:
    """Return the usable sections and parts of a reply by id; a section without text has open questions."""
    planned = {section.id: section for section in request.wanted}
    # What names no section belongs to the first.
    first = next((name for name in missing if name in planned), missing[0])
    sections: dict[str, Section] = {}
    for part in reply.sections:
        name = part.id.strip() if len(missing) > 1 else missing[0]
        if name not in missing or name in sections:
            continue
        section = planned.get(name, Section(id=name, title=""))
        unanswered = _lines(row.question for row in reply.unanswered if _owner(row.section, missing, first) == name)
        text = plain_title(part.text) if name == "keywords" else parse_section(part.text, known, section.title)
        if not (cited(text) or name == "keywords" or (not text and unanswered)):
            continue
        sections[name] = section.model_copy(
            update={
                "text": text,
                "unanswered": unanswered,
                "inferences": _lines(
                    row.inference for row in reply.inferences if _owner(row.section, missing, first) == name
                ),
                "data_points": tuple(_data_points(reply, text, known)),
            }
        )
    return sections


def _owner(name: str, missing: Sequence[str], first: str) -> str:
    return name.strip() if name.strip() in missing else first


def _data_points(reply: WrittenSections, text: str, known: Mapping[int, str]) -> Iterator[DataPoint]:
    """Yield the figures of the reply whose passages a text cites."""
    own = set(cited(text))
    for figure in reply.figures:
        passage = known.get(figure.passage, "")
        if passage in own and figure.value.strip():
            yield DataPoint(label=figure.label, value=figure.value, unit=figure.unit, evidence_id=passage)


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts as plain lines, without repetitions and empty entries such as "none"."""
    return tuple(
        dict.fromkeys(line for text in texts if (line := plain_title(text)).casefold().strip(".") not in _EMPTY_ENTRIES)
    )


async def _brief(request: SynthesisRequest, section: Section, reason: str, *, unsent: bool) -> Section:
    made = await compute(brief, request, section)
    sent = section.evidence_ids if unsent else ()
    return made.model_copy(update={"title": section.title, "unwritten": (reason,), "unsent": sent})


def reply_faults(asked: SynthesizeRequest, reply: WrittenSections) -> str:
    """Return all faults of a reply at once, because the model has only one more attempt."""
    known = ids_by_number(asked.sources)
    wanted = [part.id for part in asked.wanted]
    texts = {
        part.id.strip(): part.text for part in reply.sections if part.text.strip() and part.id.strip() != "keywords"
    }
    bare = [name for name, text in texts.items() if not cited(parse_section(text, known))]
    citing = "put the number of a passage, as [1], after every statement"
    faults = [Notice(f"'{name}' cites no passage").because(citing) for name in bare]
    if len(wanted) > 1 and not {part.id.strip() for part in reply.sections} & {*wanted}:
        faults.append(Notice("it has none of the sections to write").because(f"give each its id ({', '.join(wanted)})"))
    if not texts and not _lines(row.question for row in reply.unanswered):
        faults.append(Notice("it has no text").because("write the sections"))
    language = _IN_LANGUAGE(asked, reply) or foreign_paragraph(_texts(reply), asked.question)
    return Notice.several([*faults, language] if language else faults)


def accept_after_retry(asked: SynthesizeRequest, reply: WrittenSections) -> tuple[WrittenSections, str] | None:
    """Accept the second reply if a section cites and only single paragraphs are in another language."""
    known = ids_by_number(asked.sources)
    if _IN_LANGUAGE(asked, reply) or not any(cited(parse_section(part.text, known)) for part in reply.sections):
        return None
    foreign = foreign_paragraph(_texts(reply), asked.question)
    titles = ", ".join(section.title for section in asked.outline if section.id in {part.id for part in asked.wanted})
    return reply, f"section '{titles}': {foreign}" if foreign else ""


def _texts(reply: WrittenSections) -> Iterator[str]:
    yield from (part.text for part in reply.sections)
    yield from (row.question for row in reply.unanswered)


_IN_LANGUAGE = answered_in_language(_texts)
TASK = TaskKind(
    "synthesize",
    SynthesizeRequest,
    WrittenSections,
    template("synthesize"),
    {"guidelines": template("guidelines")},
    role="thinking",
    shrink=shrunk,
    check=reply_faults,
    mend=accept_after_retry,
    continues=True,
    shows=("text",),
    drafts=True,
    expects=estimates.synthesize,
    example=SYNTHESIZE_EXAMPLE,
    show=SynthesizeRequest.as_text,
)


synthesizer("Sections written by a model, every claim cited", uses=(TASK,))(ProseSynthesizer)
