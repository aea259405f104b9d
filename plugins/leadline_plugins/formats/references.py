"""The lists of sources and the statistics, as blocks of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from leadline.citations import Numbered
from leadline.findings import Verdict
from leadline.records import Evidence, Source
from leadline_plugins.formats.address import shown
from leadline_plugins.formats.checks import Checks
from leadline_plugins.formats.tree import (
    Node,
    attributes,
    bullets,
    div,
    header,
    para,
    spaced,
    strong,
    words,
)
from leadline_plugins.wording import say


def statistics(numbered: Numbered, language: str) -> tuple[str, str]:
    """Return the two lines: cited share, total."""
    cited, total = len(numbered.cited), len(numbered.cited) + len(numbered.additional)
    share = f" ({cited / total:.0%})" if total else ""
    return say("share", language, cited=cited, total=total, share=share), say("total", language, total=total)


class Lists:
    """Sets the lists. `entries` are their texts where a citation style makes them, by source id."""

    def __init__(
        self, numbered: Numbered, entries: Mapping[str, list[Node]], name: Callable[[], str], language: str
    ) -> None:
        self._numbered = numbered
        self._language = language
        self._entries = entries
        self._name = name

    def blocks(self, quotes: Callable[[Source], list[Node]]) -> Iterator[Node]:
        """Yield both lists and the statistics; `quotes` are set below each entry."""
        yield self._heading("cited")
        if self._numbered.cited:
            yield from self._list(self._numbered.cited, quotes)
        else:
            yield para(words(say("none", self._language)))
        if self._numbered.additional:
            yield self._heading("additional")
            yield from self._list(self._numbered.additional, lambda _: [])
        yield self._heading("statistics")
        lines = statistics(self._numbered, self._language)
        yield bullets([[{"t": "Plain", "c": words(line)}] for line in lines])

    def _heading(self, name: str) -> Node:
        return header(1, self._name(), words(say(name, self._language)))

    def _list(self, sources: Sequence[tuple[int, Source]], quotes: Callable[[Source], list[Node]]) -> Iterator[Node]:
        for number, source in sources:
            said = self._entries.get(source.id) or entry(source)
            line = para(spaced([words(f"[{number}]"), said]))
            yield div([line, *quotes(source)], attributes(f"ref-{number}", "reference"))


def entry(source: Source) -> list[Node]:
    """Return a source as `Title - URL`."""
    url = source.hit.url
    return spaced([words(" ".join(source.hit.title.split()) or url), words("-"), shown(url)])


def quote(item: Evidence, place: str, checks: Checks) -> Node:
    """Return a quote the report cites, with the verdict on what was made of it."""
    said: Node = {"t": "BlockQuote", "c": [para(words(item.quote))]}
    return div([said, *_verdict(item, checks)], attributes(place, "quote"))


def _verdict(item: Evidence, checks: Checks) -> list[Node]:
    found = checks.on(item.id)
    if found is None:
        return []
    said: list[list[Node]] = [[strong(words(say(found.verdict, checks.language)))]]
    if found.reason:
        said.append(words(f"– {found.reason}"))
    return [div([para(spaced(said))], attributes("", "verdict", found.verdict))]


def failures(checks: Checks, name: Callable[[], str]) -> Iterator[Node]:
    """Yield the section that says which claims did not hold; nothing for a report that was not verified."""
    if not (summary := checks.summary()):
        return
    yield header(1, name(), words(say("checks", checks.language)))
    yield para(words(summary))
    if rows := [[_failure(found, checks.language)] for found in checks.failed()]:
        yield bullets(rows)


def _failure(found: Verdict, language: str) -> Node:
    kind = strong(words(f"{say(found.verdict, language)}:"))
    why: list[Node] = [{"t": "Emph", "c": words(f"({found.reason})")}] if found.reason else []
    return para(spaced([[kind], words(found.claim), why]))
