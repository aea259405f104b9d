"""The list of checks, the lists of sources, the cited passages and the statistics, as blocks of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from leadline.citations import Numbered
from leadline.records import Evidence, Report, Source
from leadline.rendering import plain_title, readable_url
from leadline_plugins.formats.marks import Mark, failures, legend, summary
from leadline_plugins.formats.passages import Passages, places
from leadline_plugins.formats.tree import (
    Node,
    address_nodes,
    attributes,
    bullets,
    div,
    header,
    joined,
    link,
    para,
    plain,
    strong,
    words,
)
from leadline_plugins.wording.phrases import phrase

# The cited passages by the id of their source.
Cited = Mapping[str, Sequence[Evidence]]
_LETTERS = re.compile(r"\W+")


def statistics(numbered: Numbered, language: str) -> tuple[str, str]:
    """Return two lines: the cited share and the total."""
    cited, total = len(numbered.cited), len(numbered.cited) + len(numbered.additional)
    share = f" ({cited / total:.0%})" if total else ""
    return phrase("share", language, cited=cited, total=total, share=share), phrase("total", language, total=total)


class SourceLists:
    """Renders the lists. `entries` are the texts of a citation style by source id.

    On a screen the passages are folded below their source. In print they follow the cited sources as a list, except
    those that the report quotes whole. Without `passages` they are left out.
    """

    def __init__(
        self,
        report: Report,
        numbered: Numbered,
        cited: Cited,
        passages: Passages | None,
        entries: Mapping[str, list[Node]],
        name: Callable[[], str],
    ) -> None:
        self._report = report
        self._numbered = numbered
        self._cited = cited
        self._passages = passages
        self._entries = entries
        self._name = name
        self._language = report.language
        self._places = {item.id: f"quote-{number}" for number, item in enumerate(report.evidence, start=1)}

    def blocks(self) -> Iterator[Node]:
        """Yield both lists, the passages and, in a file, the statistics."""
        yield self._heading("cited")
        if self._numbered.cited:
            yield from self._list(self._numbered.cited)
        else:
            yield para(words(phrase("none", self._language)))
        if self._passages and not self._passages.screen and (passages := list(self._endnotes(self._passages))):
            yield self._heading("evidence")
            yield from passages
        if self._numbered.additional:
            yield self._heading("additional")
            yield from self._list(self._numbered.additional, "additional")
        if "addresses" not in self._report.metadata:
            yield self._heading("statistics")
            yield bullets([[plain(words(line))] for line in statistics(self._numbered, self._language)])

    def _heading(self, name: str) -> Node:
        return header(1, self._name(), words(phrase(name, self._language)))

    def _list(self, sources: Sequence[tuple[int, Source]], *classes: str) -> Iterator[Node]:
        for number, source in sources:
            reference = self._entries.get(source.id) or entry(source)
            cited = self._cited.get(source.id, ())
            where = places(cited, source, self._language)
            location: list[Node] = [{"t": "Span", "c": [attributes("", "where"), words(f"({where})")]}] if where else []
            line = para(joined([words(f"[{number}]"), reference, location]))
            passages: list[Node] = []
            if cited and self._passages and self._passages.screen:
                passages = [self._quote(self._passages, item, source) for item in cited]
                title = para(words(f"{phrase('evidence', self._language)} ({len(passages)})"))
                passages = [div([title, *passages], attributes("", "folded", "passages"))]
            yield div([line, *passages], attributes(f"ref-{number}", "reference", *classes))

    def _quote(self, passages: Passages, item: Evidence, source: Source) -> Node:
        quoted: Node = {"t": "BlockQuote", "c": passages.blocks(item)}
        return div([passages.line(item, source), quoted], attributes(self._places[item.id], "quote"))

    def _endnotes(self, passages: Passages) -> Iterator[Node]:
        written = _letters(" ".join(section.text or "" for section in self._report.sections))
        for number, source in self._numbered.cited:
            for item in sorted(self._cited.get(source.id, ()), key=lambda item: item.span):
                if _letters(item.quote) not in written:
                    quote = self._quote(passages, item, source)
                    quote["c"][1][0]["c"][:0] = [strong(words(f"[{number}]")), {"t": "Space"}]
                    yield quote


def _letters(text: str) -> str:
    return _LETTERS.sub("", text)


def entry(source: Source) -> list[Node]:
    """Return a source as `Title - URL`."""
    url = source.hit.url
    return joined([words(plain_title(source.hit.title) or readable_url(url)), words("-"), address_nodes(url)])


def checks_section(
    report: Report, marks: Sequence[Mark], name: Callable[[], str], placed: frozenset[int]
) -> Iterator[Node]:
    """Yield the section on the checks; nothing for a report without verdicts.

    `placed` are the numbers of the marks in the text, which the list links to.
    """
    language = report.language
    if not marks:
        return
    yield header(1, name(), words(phrase("checks", language)))
    yield from (para(words(line)) for line in (summary(marks, language), legend(marks, language)) if line)
    if rows := [[plain(_failure(group, language, placed))] for group in failures(marks)]:
        yield bullets(rows)


def _failure(group: Sequence[Mark], language: str, placed: frozenset[int]) -> list[Node]:
    """Return a failed claim: sign, verdict, words and reason."""
    first = group[0]
    kind = strong(words(f"{first.sign} {phrase(first.kind, language)}{phrase('colon', language).rstrip()}"))
    claim = words(first.text)
    claim = [link(claim, f"#claim-{first.number}")] if first.number in placed else claim
    times = f" × {len(group)}" if len(group) > 1 else ""
    reason = first.explanation(language)
    gap = phrase("space", language)
    end = f"{times}{gap and ' '}{in_brackets(reason, language)}" if reason else times
    anchor = {"t": "Span", "c": [attributes(f"check-{first.number}"), [kind]]}
    return [anchor, *([{"t": "Space"}] if gap else []), *claim, *words(end)]


def in_brackets(text: str, language: str) -> str:
    """Return a text in brackets, full-width ones in CJK languages."""
    return f"({text})" if phrase("space", language) else f"（{text}）"
