"""The synthesizer `prose`: one model call writes a section from its passages.

A text that cites no passage is asked for once more. If no usable text comes, the section is the evidence brief of its
passages, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leadline.citations import cited, uncited
from leadline.computing import compute
from leadline.contracts import Call
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Question
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import DataPoint, Section, SectionRequest
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompting.passages import numbers, shown
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_passages
from leadline_plugins.synthesizers import draft
from leadline_plugins.synthesizers.brief import brief
from leadline_plugins.tasks.writing import (
    SYNTHESIZE_EXAMPLE,
    SYNTHESIZE_SCHEMA,
    OutlinedSection,
    SynthesizeRequest,
    Written,
)
from leadline_plugins.text.foreign import answered_in_language, strays

CITES_NOTHING = "it cites no passage: put the number of a passage, as [1], after every statement"
_NONE = frozenset({"", "-", "none", "n/a", "nothing", "无", "無", "なし"})
"""What models write into a list that should be empty."""
_IN_LANGUAGE = answered_in_language(lambda written: (written.text,))


class Prose:
    """Has each section written by the task `synthesize`."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with text, gaps, inferences and figures; its text is empty if no passage answers.

        Without a language model it is the evidence brief of its passages.
        """
        if not await call.run.by_chat(ASK.name, ASK.role):
            return await compute(brief, request)
        asked = asked_for(request, call.run.now().date().isoformat())
        try:
            written = await call.run.perform(ASK.of(asked))
        except CallFailed as failed:  # refused or not: an exhausted budget must not cost the report
            refused = isinstance(failed, CallRefused)
            return await _brief(request, failed.record.text, unsent=_ids(request) if refused else ())
        known = numbers(asked.sources)
        text = await compute(draft.read, written.text, known, request.section.title)
        if not cited(text) and (text or not written.unanswered):
            return await _brief(request, "its text cites no passage")
        told = {
            "text": text,
            "unanswered": _said(written.unanswered),
            "inferences": _said(written.inferences),
            "data_points": tuple(_data_points(written, known)),
        }
        return request.section.model_copy(update=told)


def asked_for(request: SectionRequest, today: str) -> SynthesizeRequest:
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
        sources=shown(request.evidence, request.sources),
        best_first=_ids(request),
    )


def unusable(asked: SynthesizeRequest, written: Written) -> str:
    """Return everything that is wrong with a text: it is asked for only once more."""
    text = draft.read(written.text, numbers(asked.sources))
    if not text and _said(written.unanswered):
        return ""
    bare = "" if cited(text) else CITES_NOTHING
    foreign = _IN_LANGUAGE(asked, written) or _strays(asked, written)
    return "; ".join(filter(None, (bare, foreign)))


def mended(asked: SynthesizeRequest, written: Written) -> tuple[Written, str] | None:
    """Return a text that is unusable only because a paragraph of it is in another language; None for any other."""
    if _IN_LANGUAGE(asked, written) or not cited(draft.read(written.text, numbers(asked.sources))):
        return None
    return written, f"section '{asked.title}': {_strays(asked, written)}"


def _strays(asked: SynthesizeRequest, written: Written) -> str:
    return strays((written.text, *written.unanswered), asked.question)


async def _brief(request: SectionRequest, reason: str, unsent: tuple[str, ...] = ()) -> Section:
    """Return the section as the evidence brief of its passages; `reason` is why it was not written."""
    section = await compute(brief, request)
    title = request.section.title
    return section.model_copy(update={"title": title, "unwritten": (reason,), "unsent": unsent})


def _ids(request: SectionRequest) -> tuple[str, ...]:
    return tuple(item.id for item in request.evidence)


def _said(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts as plain lines, without repetitions and lines that say nothing."""
    return tuple(
        dict.fromkeys(line for text in texts if (line := draft.title(text)).casefold().strip(".") not in _NONE)
    )


def _data_points(written: Written, known: Mapping[int, str]) -> Iterable[DataPoint]:
    for figure in written.figures:
        if figure.passage in known and figure.value.strip():
            yield DataPoint(label=figure.label, value=figure.value, unit=figure.unit, evidence_id=known[figure.passage])


ASK = TaskKind(
    "synthesize",
    SynthesizeRequest,
    Written,
    template("synthesize"),
    role="thinking",
    shrink=fewer_passages,
    check=unusable,
    mend=mended,
    lacks=lambda asked, written: f"section '{asked.title}' may lack its end",
    shows=("text",),
    expects=expect.synthesize,
    schema=SYNTHESIZE_SCHEMA,
    example=SYNTHESIZE_EXAMPLE,
    show=SynthesizeRequest.as_text,
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
