"""The synthesizer `prose`: a section written by the model of its task, from its own passages and from nothing else.

What cites nothing that is there is not taken: then the section is its passages, quoted, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from leadline.citations import CITATION, cited, uncitable
from leadline.computing import compute
from leadline.contracts import Call
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Question
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Section, SectionRequest
from leadline.task_kinds import TaskKind
from leadline_plugins import drafts, expect
from leadline_plugins.drafts.faults import faults, of_use
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_passages
from leadline_plugins.synthesizers.extractive import quoted
from leadline_plugins.synthesizers.parts import parts
from leadline_plugins.tasks import Passage, SynthesizeRequest, Written
from leadline_plugins.text.foreign import answered_in_language


class Prose:
    """Has each section written by the task `synthesize`."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with its text; the passages, quoted, of a part of which no usable text came."""
        texts = await call.run.each(parts(request), lambda part: write(*part, call))
        notices = tuple(dict.fromkeys(text.notice for text in texts if text.notice))
        unsent = tuple(dict.fromkeys(name for text in texts for name in text.unsent))
        unwritten = tuple(dict.fromkeys(text.unwritten for text in texts if text.unwritten))
        told = {"text": "\n\n".join(text.text for text in texts), "notices": notices, "unsent": unsent}
        return request.section.model_copy(update=told | {"unwritten": unwritten})


@dataclass(frozen=True)
class Part:
    """The text of a part, and what was done with less."""

    text: str
    notice: str = ""
    unsent: tuple[str, ...] = ()
    """Ids of the passages that no writer was shown."""
    unwritten: str = ""
    """Why it is quotes."""


async def write(question: str, request: SectionRequest, call: Call) -> Part:
    """Have a part written; `question` is its own of the section's key questions, none for the whole."""
    asked = asked_for(request, question)
    try:
        text = (await call.run.perform(ASK.of(asked))).text
    except CallFailed as failed:  # refused or not: a budget that is spent shall not cost the report
        made = quotes(request, asked, failed.record.text)
        refused = isinstance(failed, CallRefused)
        return replace(made, unsent=tuple(item.id for item in asked.passages)) if refused else made
    if await call.run.by_chat(ASK.name, ASK.role):
        draft = await drafted(text, request)
    else:
        draft = drafts.Draft(known(text, asked))
    if not cited(draft.text):
        return quotes(request, asked, "its text cited nothing")
    return Part(draft.text, drafts.LEFT_OUT if draft.left_out else "")


async def drafted(text: str, request: SectionRequest) -> drafts.Draft:
    """Return a model's text as that of the section."""
    ids = drafts.Known.of((item.id for item in request.evidence), (item.quote for item in request.evidence))
    return await compute(drafts.normalised, text, ids, (request.section.title,))


def asked_for(request: SectionRequest, part: str = "") -> SynthesizeRequest:
    """Return the task's inputs: the passages with the names of their sources, not the sources themselves."""
    return SynthesizeRequest(
        question=Question(text=request.question, language=request.language),
        title=request.section.title,
        goal=request.section.notes,
        outline=tuple(section.title for section in request.outline),
        length=request.length,
        passages=tuple(_passages(request)),
        part=part,
    )


def _passages(request: SectionRequest) -> Iterator[Passage]:
    sources = {source.id: source for source in request.sources}
    for item in request.evidence:
        source = sources.get(item.source_id)
        yield Passage(
            id=item.id,
            quote=uncitable(item.quote),
            source_id=item.source_id,
            source=source.hit.title if source else "",
            tier=source.tier if source else 3,
        )


IN_LANGUAGE = answered_in_language(lambda written: (written.text,))


def unusable(asked: SynthesizeRequest, written: Written) -> str:
    """Say all that is wrong with a text at once: it is asked for again but once."""
    ids = [passage.id for passage in asked.passages]
    language = asked.question.language
    found = faults(written.text, ids, asked=asked.length, language=language, passages=len(ids))
    return "; ".join(filter(None, (IN_LANGUAGE(asked, written), *found)))


def mended(asked: SynthesizeRequest, written: Written) -> tuple[Written, str] | None:
    """Return what is of use of a text that came with faults twice, and what is told of it."""
    if IN_LANGUAGE(asked, written):
        return None
    ids = [passage.id for passage in asked.passages]
    text, told = of_use(written.text, ids, asked=asked.length, language=asked.question.language)
    return (written.model_copy(update={"text": text}), f"the text of '{asked.title}': {told}") if text else None


ASK = TaskKind(
    "synthesize",
    SynthesizeRequest,
    Written,
    template("synthesize"),
    role="thinking",
    shrink=fewer_passages,
    check=unusable,
    mend=mended,
    shows=("text",),
    expects=expect.synthesize,
)


def known(text: str, asked: SynthesizeRequest) -> str:
    """Return the text of an algorithm, which stands as it is, without citations of what is not there."""
    ids = {passage.id for passage in asked.passages}
    return CITATION.sub(lambda match: match.group() if match.group(1) in ids else "", text).strip()


def quotes(request: SectionRequest, asked: SynthesizeRequest, reason: str) -> Part:
    """Return the passages, quoted, with the reason."""
    return Part(quoted(asked.passages, request.length, request.language), unwritten=reason)


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, Prose]]:
    """Offer the synthesizer."""
    yield Offer(
        lambda settings, context: Prose(),
        PluginSettings,
        "Sections written by a model, every claim cited",
        tasks=(ASK,),
    )
