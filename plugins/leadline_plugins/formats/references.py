"""The lists of sources and the statistics, as blocks of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from leadline.citations import Numbered
from leadline.records import Evidence, Report, Source
from leadline_plugins.formats.address import shown, titled
from leadline_plugins.formats.checks import Checked, Checks, once
from leadline_plugins.formats.tree import (
    Node,
    attributes,
    bullets,
    div,
    header,
    para,
    set_out,
    spaced,
    strong,
    words,
)
from leadline_plugins.formats.verified import bare, failure, told
from leadline_plugins.stages.kinds import label
from leadline_plugins.wording import say, upright


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
            yield from self._list(self._numbered.additional, lambda _: [], "additional")
        yield self._heading("statistics")
        lines = statistics(self._numbered, self._language)
        yield bullets([[{"t": "Plain", "c": words(line)}] for line in lines])

    def _heading(self, name: str) -> Node:
        return header(1, self._name(), words(say(name, self._language)))

    def _list(
        self, sources: Sequence[tuple[int, Source]], quotes: Callable[[Source], list[Node]], *classes: str
    ) -> Iterator[Node]:
        for number, source in sources:
            said = self._entries.get(source.id) or entry(source)
            line = para(spaced([words(f"[{number}]"), said]))
            yield div([line, *quotes(source)], attributes(f"ref-{number}", "reference", *classes))


def entry(source: Source) -> list[Node]:
    """Return a source as `Title - URL`."""
    url = source.hit.url
    return spaced([words(titled(source.hit.title) or url), words("-"), shown(url)])


def quote(item: Evidence, place: str, checks: Checks) -> Node:
    """Return a quote the report cites, with the verdicts on what was made of it."""
    said: Node = {"t": "BlockQuote", "c": [para(words(item.quote))]}
    return div([said, *_verdicts(item, checks)], attributes(place, "quote"))


def _verdicts(item: Evidence, checks: Checks) -> Iterator[Node]:
    """Yield what was found of the claims that cite a quote: those that it bears at once, each other one by itself."""
    claims = checks.on(item.id)
    if borne := [claim for claim in claims if claim.kind == "supported"]:
        said = [strong(words(say("supported", checks.language))), *_times(len(borne))]
        yield _verdict(said, "supported", borne)
    for claim, times in once(claim for claim in claims if claim.kind != "supported"):
        same = [other for other in claims if (other.kind, other.text) == (claim.kind, claim.text)]
        why: list[Node] = words(f"– {claim.reason}") if claim.reason else []
        kind = strong(words(label(claim.kind, checks.language) + say("colon", checks.language).rstrip()))
        yield _verdict(spaced([[kind], [*words(claim.text), *_times(times)], why]), claim.kind, same)


def _verdict(said: list[Node], kind: str, claims: Sequence[Checked]) -> Node:
    return div([para(said)], attributes("", "verdict", kind, data_claims=" ".join(claim.id for claim in claims)))


def _times(times: int) -> list[Node]:
    return [{"t": "Span", "c": [attributes("", "times"), words(f" × {times}")]}] if times > 1 else []


def verified(report: Report, checks: Checks, name: Callable[[], str]) -> Iterator[Node]:
    """Yield the section that says what verification found; nothing for a report that was not verified."""
    lines = list(told(report, checks))
    if not lines:
        return
    yield header(1, name(), words(say("checks", checks.language)))
    for line in lines:
        yield from set_out(line)
    if rows := [[_failure(claim, times, checks.language)] for claim, times in checks.lacking()]:
        yield bullets(rows)
    if without := bare(report, checks):
        yield para(words(say("without", checks.language)))
        yield bullets([[para(words(line))] for line in without])


def _failure(claim: Checked, times: int, language: str) -> Node:
    kind = strong(words(label(claim.kind, language) + say("colon", language).rstrip()))
    said, why = failure(claim, times)
    if not say("space", language):  # Chinese and Japanese: brackets as wide as their characters, and no space
        return para([kind, *words(said + (f"（{claim.reason}）" if why else ""))])
    reason: list[Node] = words(why) if upright(language) else [{"t": "Emph", "c": words(why)}]
    return para(spaced([[kind], words(said), reason if why else []]))
