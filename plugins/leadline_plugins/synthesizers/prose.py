"""The synthesizer `prose`: a section written by the model of its task, from its own passages and from nothing else.

What cites nothing that is there is not taken: then the section is its passages, quoted, and the report says so; without
those of pages that name nothing of what the question names, which a writer would have left out. Where
the writer says that the passages do not answer, they are not quoted either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from leadline.citations import cited, cited_only, uncitable
from leadline.computing import compute
from leadline.contracts import Call
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Question
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Evidence, Section, SectionRequest
from leadline.task_kinds import TaskKind
from leadline_plugins import drafts, expect
from leadline_plugins.drafts.faults import cites_nothing, faults, of_use
from leadline_plugins.drafts.nothing import told_gap
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_passages
from leadline_plugins.stages.gaps import still_open
from leadline_plugins.synthesizers import lengths
from leadline_plugins.synthesizers.extractive import quoted
from leadline_plugins.synthesizers.naming import naming
from leadline_plugins.synthesizers.parts import Part, parts
from leadline_plugins.tasks.sorting import PassageSource
from leadline_plugins.tasks.writing import Passage, SynthesizeRequest, Written
from leadline_plugins.text.foreign import answered_in_language, strays
from leadline_plugins.text.hanging import AROUND, hangs_on, opening
from leadline_plugins.text.headings import unnamed

_HEADING = re.compile(r"^#{2,6} ", re.MULTILINE)
_GAP = 300
"""Characters that are told of what is not answered."""


class Prose:
    """Has each section written by the task `synthesize`."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with its text; the passages, quoted, of a part of which no usable text came.

        What the writers say the passages do not answer stands beside it; where that is all, there is no text.
        """
        made = await call.run.each(parts(request), lambda part: write(part, call))
        sent = {item.id for one in made for item in one.passages if not one.refused}
        unsent = (item.id for one in made for item in one.passages if item.id not in sent)
        quotes = all(one.unwritten for one in made)
        kept = (
            await compute(naming, request.question, request.evidence, request.sources)
            if any(one.unwritten for one in made)
            else frozenset[str]()
        )
        missing = () if quotes else (_missing(request.section.title, one) for one in made if one.unwritten)
        told: dict[str, object] = {
            "text": "\n\n".join(text for text in _texts(made, request.language, kept) if text),
            "notices": _each((*missing, drafts.left_out(request.section.title, (one.draft for one in made)))),
            "unsent": _each(unsent),
            "unwritten": _each(one.unwritten for one in made) if quotes else (),
            "unanswered": _each(one.unanswered for one in made),
        }
        return request.section.model_copy(update=told)


@dataclass(frozen=True)
class Made:
    """What came of a part: its text, or why there is none, and what was done with less."""

    passages: tuple[Passage, ...]
    length: int
    questions: tuple[str, ...] = ()
    draft: drafts.Draft = field(default_factory=drafts.Draft)
    unwritten: str = ""
    """Why it is quotes."""
    refused: bool = False
    """Whether no writer was asked."""
    unanswered: str = ""
    """What its writer says that the passages do not answer."""

    @property
    def text(self) -> str:
        """Its text; empty where none came."""
        return self.draft.text


def _missing(title: str, made: Made) -> str:
    return f"the part of section '{title}'{_on(made.questions)} is quotes, for it was not written ({made.unwritten})"


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _texts(made: Sequence[Made], language: str, kept: Collection[str]) -> Iterator[str]:
    """Yield the texts of the parts; in place of one that did not come its passages, without those that others cite.

    Of the passages only those are quoted that are `kept`.
    """
    told = {name for one in made for name in cited(one.text)}
    under = False
    for one in made:
        text = one.text
        if one.unwritten:
            text = quoted(
                [item for item in one.passages if item.id in kept and item.id not in told], one.length, language
            )
            told.update(cited(text))
        yield _headed(text, one.questions) if under else text
        under = under or bool(_HEADING.search(text))


def _headed(text: str, questions: Sequence[str]) -> str:
    """Return the text of a part under its question where it has no heading: it would stand under that of another."""
    return f"### {questions[0]}\n\n{text}" if text and questions and not text.startswith("#") else text


async def write(part: Part, call: Call) -> Made:
    """Have a part written."""
    asked = asked_for(part, f"{call.run.now():%Y-%m-%d}")
    made = Made(asked.passages, asked.length, asked.questions)
    try:
        said = await call.run.perform(ASK.of(asked))
    except CallFailed as failed:  # refused or not: a budget that is spent shall not cost the report
        return replace(made, unwritten=failed.record.text, refused=isinstance(failed, CallRefused))
    if await call.run.by_chat(ASK.name, ASK.role):
        draft = await drafted(said.text, part.request)
    else:
        draft = drafts.Draft(cited_only(said.text, {passage.id for passage in asked.passages}).strip())
    gap = unanswered(said)[:_GAP]
    if cited(draft.text):
        return replace(made, draft=draft, unanswered=gap)
    return replace(made, unanswered=gap) if _rejects(said) else replace(made, unwritten="its text cited nothing")


async def drafted(text: str, request: SectionRequest) -> drafts.Draft:
    """Return a model's text as that of the section."""
    known = drafts.Known.of_evidence(request.evidence)
    return await compute(drafts.normalised, text, known, (request.section.title,))


def asked_for(part: Part, today: str) -> SynthesizeRequest:
    """Return the task's inputs: the passages with the names of their sources, not the sources themselves."""
    request = part.request
    return SynthesizeRequest(
        question=Question(text=request.question, language=request.language, assumptions=request.assumptions),
        today=today,
        title=request.section.title,
        goal=request.section.notes,
        questions=request.questions,
        others=part.others,
        outline=tuple(section.title for section in request.outline),
        length=request.length,
        sources=tuple(_sources(request)),
        passages=tuple(_passages(request)),
    )


def _sources(request: SectionRequest) -> Iterator[PassageSource]:
    own = {item.source_id for item in request.evidence}
    for source in request.sources:
        if source.id in own:
            yield PassageSource(id=source.id, title=source.hit.title, tier=source.tier)


def _passages(request: SectionRequest) -> Iterator[Passage]:
    texts = {source.id: source.document.text for source in request.sources}
    for item in request.evidence:
        yield Passage(
            id=item.id,
            quote=uncitable(item.quote),
            source_id=item.source_id,
            under=unnamed(item.under, item.quote),
            before=uncitable(_before(item, texts.get(item.source_id, ""))),
        )


def _before(item: Evidence, text: str) -> str:
    """Return what a passage hangs on that stands before it in its source; of one that says itself whom, nothing."""
    start = item.span[0]
    stands = hangs_on(item.quote) and text.startswith(item.quote, start)
    return opening(item.quote, text[max(0, start - AROUND) : start]) if stands else ""


def _rejects(written: Written) -> bool:
    """Return whether a writer says that its passages do not answer, and writes nothing else."""
    return bool(unanswered(written)) and not written.text.strip()


def unanswered(written: Written) -> str:
    """Return what a writer says that its passages do not answer, on one line; empty for a word that says nothing."""
    return told_gap(written.unanswered)


IN_LANGUAGE = answered_in_language(lambda written: (written.text,))


def unusable(asked: SynthesizeRequest, written: Written) -> str:
    """Say all that is wrong with a text at once: it is asked for again but once.

    What says that its passages do not answer is no text at all: who writes one that cites nothing does not do as told,
    and is not believed either that nothing answers. A part of a section may be as short as the answer to its questions.
    """
    known = drafts.Known.of_evidence(asked.passages)
    bare = cites_nothing(written.text, known)
    if bare and _rejects(written):
        return ""
    language = asked.question.language
    may_be_short = asked.others or unanswered(written)
    held = 0 if may_be_short else lengths.held((passage.quote for passage in asked.passages), language)
    found = faults(written.text, known, asked=asked.length, language=language, held=held)
    wrong = "; ".join(filter(None, (IN_LANGUAGE(asked, written) or _strays(asked, written), *found)))
    return f"{wrong} (where the passages do not answer, `text` is empty and `unanswered` says so)" if bare else wrong


def _strays(asked: SynthesizeRequest, written: Written) -> str:
    return strays((written.text, unanswered(written)), asked.question)


def mended(asked: SynthesizeRequest, written: Written) -> tuple[Written, str] | None:
    """Return what is of use of a text that came with faults twice, and what is told of it."""
    if IN_LANGUAGE(asked, written):
        return None
    known = drafts.Known.of_evidence(asked.passages)
    text, told = of_use(written.text, known, asked=asked.length, language=asked.question.language)
    if not text:
        return None
    told = "; ".join(filter(None, (told, _strays(asked, written))))
    part = _on(asked.questions) if asked.others else ""
    return written.model_copy(update={"text": text}), f"the text of '{asked.title}'{part}: {told}" if told else ""


def lacking(asked: SynthesizeRequest, written: Written) -> str:
    """Return what a text may lack that was cut off: what it would have said of its gaps came last."""
    text = Section(id="", title=asked.title, text=written.text)
    questions = ", ".join(f"'{question}'" for question in still_open(asked.questions, (text,)))
    if questions:
        return f"section '{asked.title}' may not answer {questions}"
    return f"section '{asked.title}' may lack its end"


def _on(questions: Iterable[str]) -> str:
    """Return what names a part of a section: its questions."""
    return f" on '{' '.join(questions)}'"


ASK = TaskKind(
    "synthesize",
    SynthesizeRequest,
    Written,
    template("synthesize"),
    role="thinking",
    shrink=fewer_passages,
    check=unusable,
    mend=mended,
    lacks=lacking,
    shows=("text",),
    expects=expect.synthesize,
)


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, Prose]]:
    """Offer the synthesizer."""
    yield Offer(
        lambda settings, context: Prose(),
        PluginSettings,
        "Sections written by a model, every claim cited",
        tasks=(ASK,),
    )
