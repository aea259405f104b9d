"""The synthesizer `brief`: the passages that answer a section's key questions best, quoted, without a language model.

It writes nothing of its own. A brief says which words of a question it did not find, and shows nothing where next to
nothing of the question is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from leadline.citations import cited
from leadline.computing import compute
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Evidence, Section, SectionRequest
from leadline_plugins.synthesizers.brief.answering import ENOUGH, SOMETHING, coverage, missing
from leadline_plugins.synthesizers.brief.choice import choose, rate
from leadline_plugins.synthesizers.brief.layout import markdown, plain
from leadline_plugins.text import is_cjk, language
from leadline_plugins.text.scripts import primary
from leadline_plugins.wording import say

LENGTH, CJK_LENGTH = 400, 800
"""Words (Chinese, Japanese: characters) for a key question at most."""
_SAMPLE = 4
"""Passages of a source by which its language is judged."""


class Brief:
    """Shows passages in the place of a text."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with its text; what its passages do not answer is `unanswered`."""
        return await compute(brief, request)


@dataclass(frozen=True)
class _Answer:
    """What is shown for one key question."""

    text: str
    unanswered: str = ""
    """The question with the words that were not found, where the passages do not answer it."""


def brief(request: SectionRequest) -> Section:
    """Return the section of a request as passages."""
    code = request.language or language(request.question)
    # The title of a section says what it adds to the question, not what it is about.
    questions = request.questions or (f"{request.section.title} ({request.question})",)
    most = (CJK_LENGTH if is_cjk(code) else LENGTH) * len(questions)
    room = min(request.length or most, most) / len(questions)
    passages, foreign = _readable(request.evidence, code)
    titles = {source.id: source.document.title or source.hit.title for source in request.sources}
    level = 3 if len(questions) == 1 else 4
    answers = [_answer(one, request.question, passages, titles, room, code, level) for one in questions]
    text = "\n\n".join(one.text for one in answers if one.text)
    return request.section.model_copy(
        update={
            "title": say("brief", code) if len(request.outline) < 2 else request.section.title,
            "text": text,
            "evidence_ids": tuple(dict.fromkeys(cited(text))),
            "unanswered": tuple(one.unanswered for one in answers if one.unanswered),
            "notices": ("all passages found are in another language than the question",) if foreign and text else (),
        }
    )


def _answer(
    question: str,
    whole: str,
    passages: Sequence[Evidence],
    titles: Mapping[str, str],
    room: float,
    code: str,
    level: int,
) -> _Answer:
    rated = rate(question, passages, titles, whole)
    covered = coverage(rated)
    shown = choose(rated, room, code) if covered >= SOMETHING else []
    lacking = missing(question, rated, shown or range(len(rated.units))) if covered < ENOUGH else []
    gap = say("brief_lacking", code, what=_listed(lacking, code)) if lacking else ""
    told = _listed(lacking, code) if shown and gap else f"{question} ({gap})" if gap else question
    parts = [f"### {plain(question)}"] if level > 3 else []
    about = plain(_about(gap, code))
    parts += [about if is_cjk(code) else f"*{about}*", markdown(rated, shown, titles, level)]
    return _Answer("\n\n".join(parts) if shown else "", told if covered < ENOUGH else "")


def _about(gap: str, code: str) -> str:
    return say("brief_partial", code, lacking=gap) if gap else say("brief_about", code)


def _listed(words: Sequence[str], code: str) -> str:
    return say("comma", code).join(f"“{word}”" for word in words)


def _readable(evidence: Sequence[Evidence], code: str) -> tuple[list[Evidence], bool]:
    """Return the passages in a language, in the order of their documents; all where there are none, and whether so."""
    by_source: dict[str, list[Evidence]] = {}
    for item in sorted(evidence, key=lambda item: item.span):
        by_source.setdefault(item.source_id, []).append(item)
    samples = {name: "\n".join(item.quote for item in own[:_SAMPLE]) for name, own in by_source.items()}
    spoken = {name: primary(language(sample)) for name, sample in samples.items()}
    own = [item for name, items in by_source.items() if spoken[name] in ("und", primary(code)) for item in items]
    return (own, False) if own or code == "und" else ([item for items in by_source.values() for item in items], True)


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, Brief]]:
    """Offer the synthesizer."""
    yield Offer(lambda settings, context: Brief(), PluginSettings, "The best passages, quoted: no language model")
