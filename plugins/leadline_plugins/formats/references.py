"""The checks, the lists of sources, the cited passages and the statistics, as blocks of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from leadline.citations import Numbered
from leadline.records import Evidence, Report, Source
from leadline_plugins.formats.address import common_folder, shown, titled
from leadline_plugins.formats.marks import Mark, failures, legend, only_quotes, summary
from leadline_plugins.formats.passages import Passages, places
from leadline_plugins.formats.tree import (
    Node,
    attributes,
    bullets,
    div,
    header,
    link,
    para,
    plain,
    spaced,
    strong,
    words,
)
from leadline_plugins.wording import say

Cited = Mapping[str, Sequence[Evidence]]
"""The cited passages by the id of their source."""
_LETTERS = re.compile(r"\W+")


def statistics(numbered: Numbered, language: str) -> tuple[str, str]:
    """Return the two lines: cited share, total."""
    cited, total = len(numbered.cited), len(numbered.cited) + len(numbered.additional)
    share = f" ({cited / total:.0%})" if total else ""
    return say("share", language, cited=cited, total=total, share=share), say("total", language, total=total)


class Lists:
    """Sets the lists. `entries` are their texts where a citation style makes them, by source id.

    With `below`, the passages are folded below their source; otherwise they follow the cited sources as a list, but
    for those that the report itself quotes whole.
    """

    def __init__(
        self,
        report: Report,
        numbered: Numbered,
        cited: Cited,
        passages: Passages,
        entries: Mapping[str, list[Node]],
        name: Callable[[], str],
        *,
        below: bool,
    ) -> None:
        self._report = report
        self._numbered = numbered
        self._cited = cited
        self._passages = passages
        self._entries = entries
        self._name = name
        self._below = below
        self._language = report.language
        self._folder = common_folder(source.hit.url for source in report.sources)
        self._places = {item.id: f"quote-{place}" for place, item in enumerate(report.evidence, start=1)}

    def blocks(self) -> Iterator[Node]:
        """Yield both lists, the passages and the statistics."""
        yield self._heading("cited")
        if self._numbered.cited:
            yield from self._list(self._numbered.cited)
        else:
            yield para(words(say("none", self._language)))
        if not self._below and (passages := list(self._endnotes())):
            yield self._heading("evidence")
            yield from passages
        if self._numbered.additional:
            yield self._heading("additional")
            yield from self._list(self._numbered.additional, "additional")
        yield self._heading("statistics")
        yield bullets([[plain(words(line))] for line in statistics(self._numbered, self._language)])

    def _heading(self, name: str) -> Node:
        return header(1, self._name(), words(say(name, self._language)))

    def _list(self, sources: Sequence[tuple[int, Source]], *classes: str) -> Iterator[Node]:
        for number, source in sources:
            said = self._entries.get(source.id) or entry(source, self._folder)
            cited = self._cited.get(source.id, ())
            where = places(cited, source, self._language)
            shown: list[Node] = [{"t": "Span", "c": [attributes("", "where"), words(f"({where})")]}] if where else []
            line = para(spaced([words(f"[{number}]"), said, shown]))
            passages = [self._quote(item, source) for item in cited] if self._below else []
            if passages:
                title = para(words(f"{say('evidence', self._language)} ({len(passages)})"))
                passages = [div([title, *passages], attributes("", "folded", "passages"))]
            yield div([line, *passages], attributes(f"ref-{number}", "reference", *classes))

    def _quote(self, item: Evidence, source: Source) -> Node:
        quoted: Node = {"t": "BlockQuote", "c": self._passages.blocks(item)}
        return div([self._passages.line(item, source), quoted], attributes(self._places[item.id], "quote"))

    def _endnotes(self) -> Iterator[Node]:
        """Yield the passages of each source, in their order there."""
        told = _bare(" ".join(section.text or "" for section in self._report.sections))
        for number, source in self._numbered.cited:
            for item in sorted(self._cited.get(source.id, ()), key=lambda item: item.span):
                if _bare(item.quote) not in told:
                    made = self._quote(item, source)
                    made["c"][1][0]["c"][:0] = [strong(words(f"[{number}]")), {"t": "Space"}]
                    yield made


def _bare(text: str) -> str:
    return _LETTERS.sub("", text)


def entry(source: Source, folder: str) -> list[Node]:
    """Return a source as `Title - URL`."""
    url = source.hit.url
    return spaced([words(titled(source.hit.title) or url), words("-"), shown(url, folder)])


def checked(report: Report, marks: Sequence[Mark], name: Callable[[], str], placed: frozenset[int]) -> Iterator[Node]:
    """Yield the section on the checks; nothing for a report that was not judged.

    `placed` are the numbers of the marks that the text has: the list leads to their places.
    """
    language = report.language
    if only_quotes(marks):
        return
    yield header(1, name(), words(say("checks", language)))
    yield from (para(words(line)) for line in (summary(marks, language), legend(marks, language)) if line)
    if rows := [[plain(_failure(group, language, placed))] for group in failures(marks)]:
        yield bullets(rows)


def _failure(group: Sequence[Mark], language: str, placed: frozenset[int]) -> list[Node]:
    """Return a claim that is not supported: sign, verdict, words, and the reason."""
    first = group[0]
    kind = strong(words(f"{first.sign} {say(first.kind, language)}{say('colon', language).rstrip()}"))
    said = words(first.text)
    claim = [link(said, f"#claim-{first.number}")] if first.number in placed else said
    times = f" × {len(group)}" if len(group) > 1 else ""
    why = first.why(language)
    gap = say("space", language)
    end = f"{times}{gap and ' '}{bracketed(why, language)}" if why else times
    anchor = {"t": "Span", "c": [attributes(f"check-{first.number}"), [kind]]}
    return [anchor, *([{"t": "Space"}] if gap else []), *claim, *words(end)]


def bracketed(text: str, language: str) -> str:
    """Return a text in brackets as wide as the characters of its language."""
    return f"({text})" if say("space", language) else f"（{text}）"
