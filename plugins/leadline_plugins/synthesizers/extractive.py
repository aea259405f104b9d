"""The extractive synthesizer: a section is its evidence, quoted, each quote with its citation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from leadline.citations import cite, cited
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Evidence, Section, SectionRequest
from leadline_plugins.ai.embedded.names import telling
from leadline_plugins.synthesizers.verbatim import is_block, markdown
from leadline_plugins.text import Said, content_words, is_cjk, language, length

_MARKER, _CJK_MARKER = 1, 4
"""Length of a citation: ` [1]` is a word, or up to four characters."""


class Extractive:
    """Writes nothing of its own: it sets quotes, in the order of the section's evidence, and repeats none."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with its text, within the length asked for."""
        text = quoted(_ordered(request), request.length, request.language or language(request.question))
        return request.section.model_copy(update={"text": text, "evidence_ids": tuple(dict.fromkeys(cited(text)))})


class Quote(Protocol):
    """What is set: a quote with the id it is cited by, and its source's."""

    @property
    def id(self) -> str: ...
    @property
    def quote(self) -> str: ...
    @property
    def source_id(self) -> str: ...


def quoted(quotes: Iterable[Quote], room: int, code: str) -> str:
    """Return quotes as Markdown, each with its citation, none repeated, within `room` words (CJK: characters)."""
    return "\n\n".join(_paragraphs(list(_within(quotes, room, code))))


def _ordered(request: SectionRequest) -> list[Evidence]:
    by_id = {item.id: item for item in request.evidence}
    return [by_id[name] for name in request.section.evidence_ids or by_id if name in by_id]


def _within(evidence: Iterable[Quote], room: int, code: str) -> Iterator[Quote]:
    """Yield what fits and says something new; a room of 0 holds everything."""
    said = Said()
    left = room or float("inf")
    for item in evidence:
        size = length(item.quote, code) + (_CJK_MARKER if is_cjk(code) else _MARKER)
        words = frozenset(content_words(item.quote))
        if size <= left and item.quote.strip() and not said.repeats(words, telling(item.quote)):
            said.add(words)
            left -= size
            yield item


def _paragraphs(evidence: Sequence[Quote]) -> list[str]:
    """Set quotes of one source that follow each other as one paragraph; blocks stand alone."""
    paragraphs: list[str] = []
    last = ""
    for item in evidence:
        text, alone = markdown(item.quote, cite(item.id)), is_block(item.quote)
        if item.source_id == last and not alone:
            paragraphs[-1] += f" {text}"
        else:
            paragraphs.append(text)
        last = "" if alone else item.source_id
    return paragraphs


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, Extractive]]:
    """Offer the synthesizer."""
    yield Offer(lambda settings, context: Extractive(), PluginSettings, "Sections of verbatim quotes, each cited")
