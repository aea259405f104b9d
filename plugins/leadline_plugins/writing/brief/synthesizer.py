"""Synthesizer `brief`: quotes the passages that answer a section's key questions best, without a language model.

It writes no text. A brief names the words of a question that it did not find, and shows nothing if almost all are
missing. `short_questions` decides on questions of one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from leadline.citations import cited
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Evidence, Section, SectionRequest
from leadline.workers import compute
from leadline_plugins.text import content_words, is_cjk, language
from leadline_plugins.text.scripts import primary
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.brief.entity_chains import STEP
from leadline_plugins.writing.brief.layout import brief_markdown, escape_markdown
from leadline_plugins.writing.brief.selection import Rated, rate, select_first, select_segments
from leadline_plugins.writing.brief.short_questions import advice, is_bare, is_short, openings

# Maximum words (Chinese, Japanese: characters) for a key question.
LENGTH, CJK_LENGTH = 400, 800
# Questions covered at least this far count as answered; five of six answerable questions are.
ANSWERED = 0.8
# Below this coverage nothing is shown; eight of nine answerable questions reach it.
RELATED = 0.63
_CHAINS = 400
# Passages that determine the language of a source.
_SAMPLE = 4


class BriefSynthesizer:
    """Writes sections that quote passages."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with its text; `unanswered` lists what its passages do not answer."""
        return await compute(brief, request)


@dataclass(frozen=True)
class _Answer:
    """The passages shown for one key question."""

    text: str
    # The question with its missing words, if the passages do not answer it.
    unanswered: str = ""


def brief(request: SectionRequest) -> Section:
    """Return the section of a request as a brief."""
    code = request.language or language(request.question)
    # The title of a section only names its aspect of the question, so the question is added.
    questions = request.questions or (f"{request.section.title} ({request.question})",)
    most = (CJK_LENGTH if is_cjk(code) else LENGTH) * len(questions)
    room = min(request.length or most, most) / len(questions)
    passages, foreign = _in_language(request.evidence, code)
    titles = {source.id: source.document.title or source.hit.title for source in request.sources}
    urls = {source.id: source.hit.url for source in request.sources}
    level = 3 if len(questions) == 1 else 4
    answers = [_answer(one, request.question, passages, titles, urls, room, code, level) for one in questions]
    text = "\n\n".join(one.text for one in answers if one.text)
    return request.section.model_copy(
        update={
            "title": phrase("brief", code) if len(request.outline) < 2 else request.section.title,
            "text": text,
            "evidence_ids": tuple(dict.fromkeys(cited(text))),
            "unanswered": tuple(
                _as_titled(one.unanswered, asked, request.section.title)
                for one, asked in zip(answers, questions, strict=True)
                if one.unanswered
            ),
            "notices": ("no passage found is in the language of the question",) if foreign and text else (),
        }
    )


def _as_titled(gap: str, question: str, title: str) -> str:
    """Return a gap with the title of the section for a question that only adds names to it, for the search."""
    part = title.rstrip("?？").casefold()
    return gap.replace(question, title, 1) if part and question.casefold().startswith(part) else gap


def _answer(
    question: str,
    whole: str,
    passages: Sequence[Evidence],
    titles: Mapping[str, str],
    urls: Mapping[str, str],
    room: float,
    code: str,
    level: int,
) -> _Answer:
    rated, select = rate(question, passages, titles, whole), select_segments
    if is_short(f"{question} {whole}"):
        sources = list(dict.fromkeys(map(rated.source, rated.best_first())))
        if named := openings(frozenset(rated.weights), passages, titles):
            rated, select = rate(question, named, titles, whole), select_first
        elif len(sources) != 1 or is_bare(whole):
            return _Answer("", f"{question} ({advice([titles.get(name, '') for name in sources], code)})")
    covered = coverage(rated)
    shown = select(rated, room, code) if covered >= RELATED else []
    lacking = missing_words(question, rated, shown or range(len(rated.segments))) if covered < ANSWERED else []
    gap = phrase("brief_lacking", code, what=_quoted_words(lacking, code)) if lacking else ""
    missing_text = _quoted_words(lacking, code) if shown and gap else f"{question} ({gap})" if gap else question
    parts = [f"### {escape_markdown(question)}"] if level > 3 else []
    about = escape_markdown(_introduction(gap, code))
    parts += [about if is_cjk(code) else f"*{about}*", brief_markdown(rated, shown, titles, urls, level)]
    return _Answer("\n\n".join(parts) if shown else "", missing_text if covered < ANSWERED else "")


def _introduction(gap: str, code: str) -> str:
    return phrase("brief_partial", code, lacking=gap) if gap else phrase("brief_about", code)


def _quoted_words(words: Sequence[str], code: str) -> str:
    return phrase("comma", code).join(f"“{word}”" for word in words)


def _in_language(evidence: Sequence[Evidence], code: str) -> tuple[list[Evidence], bool]:
    """Return the passages in a language, in document order, or all if there are none, with a flag for that case."""
    by_source: dict[str, list[Evidence]] = {}
    for item in sorted(evidence, key=lambda item: item.span):
        by_source.setdefault(item.source_id, []).append(item)
    samples = {name: "\n".join(item.quote for item in own[:_SAMPLE]) for name, own in by_source.items()}
    spoken = {name: primary(language(sample)) for name, sample in samples.items()}
    own = [item for name, items in by_source.items() if spoken[name] in ("und", primary(code)) for item in items]
    return (own, False) if own or code == "und" else ([item for items in by_source.values() for item in items], True)


def coverage(rated: Rated) -> float:
    """Return the coverage of a question by the best sentence and the best chain, from 0 to 2."""
    own = max((_share(rated, link.held) for link in rated.links), default=0.0)
    chained = (
        STEP ** (len(path) - 1) * _share(rated, frozenset().union(*(rated.links[place].held for place in path)))
        for _, path in rated.chains[:_CHAINS]
    )
    return own + max(chained, default=0.0)


def _share(rated: Rated, held: frozenset[str]) -> float:
    # The order of a set differs between processes, and with it the last bit of a sum.
    return sum(weight for term, weight in rated.weights.items() if term in held)


def missing_words(question: str, rated: Rated, shown: Sequence[int]) -> list[str]:
    """Return the words of a question that the shown segments and their headings lack, as written."""
    links = [rated.links[place] for place in shown]
    lacking = frozenset(rated.weights) - frozenset[str]().union(*(link.held | link.titled for link in links))
    found: list[str] = []
    for word in question.split():
        if has_cjk(word):
            found += _uncovered_runs(word, lacking, frozenset(rated.weights) - lacking)
        elif lacking.intersection(content_words(word)):
            found.append(word.strip("?!.,;:\"'“”‘’()"))
    return list(dict.fromkeys(found))


def _uncovered_runs(text: str, lacking: frozenset[str], held: frozenset[str]) -> list[str]:
    """Return the parts of a text without spaces that only lacking pairs of characters cover."""
    pairs = [(at, text[at : at + 2]) for at in range(len(text) - 1)]
    covered = {place for at, pair in pairs if pair in held for place in (at, at + 1)}
    open_ = {place for at, pair in pairs if pair in lacking for place in (at, at + 1)} - covered
    kept = "".join(sign if place in open_ else " " for place, sign in enumerate(text))
    return [run for run in kept.split() if len(run) > 1]


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, BriefSynthesizer]]:
    """Offer the synthesizer."""
    yield Offer(
        lambda settings, context: BriefSynthesizer(), PluginSettings, "The best passages, quoted: no language model"
    )
