"""Citations: how a report's text points at its evidence, and how the pointers become numbers.

In a report's Markdown a citation is `[@evidence-id]` and a figure `![](figure:id)`. Formatters number the sources by
their first citation; sources that nobody cites go on from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from leadline.records import Evidence, Report, Source

_ONE = r"\[@(?<!\\\[@)([^\[\]\s]+)\]"
CITATION = re.compile(_ONE)
"""Not behind a backslash: what only looks like one, in a page that is quoted, is escaped, as Markdown has it."""
CITATIONS = re.compile(rf"(?=[\s\[])(?:(?<!\s)\s++)?{_ONE}(?:\s*+{_ONE})*")
"""A run of citations, with the space before it: looked for where space begins, or long space would take long."""

_OPENED = re.compile(r"(?:(?:^|[\s(\[{>])(?:\*{1,3}|_{1,3}|~~)|[(\[{（「])\Z")
"""Emphasis or a bracket that has just been opened: a space behind it would be inside, and undo the emphasis."""
_ENCLOSED = re.compile(rf"(?:(?<![\]\\])\(|（)\s*+((?:{_ONE}[\s,;，、；]*+)+)[)）]")
_UNSPACED = re.compile(
    "[\u3001-\u303f\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd][”’…—*_~]*\\Z"
)


def cite(evidence_id: str) -> str:
    """Return the marker that cites this evidence."""
    return f"[@{evidence_id}]"


def cited(text: str) -> list[str]:
    """Return the evidence ids that a text cites, in order, repetitions kept."""
    return CITATION.findall(text)


def uncitable(text: str) -> str:
    """Return a page's text so that nothing in it reads as a citation: another's `[@key]` is none of ours."""
    return text.replace("[@", "[ @")


def uncited(text: str) -> str:
    """Return the text without its citations."""
    return CITATIONS.sub("", text)


def unenclosed(text: str) -> str:
    """Return the text without brackets around nothing but citations, whose numbers have brackets of their own."""
    if "([@" not in text and "（" not in text and "( " not in text:
        return text
    return _ENCLOSED.sub(lambda match: "".join(map(cite, cited(match[1]))), text)


def unspaced(before: str) -> bool:
    """Return whether text ends in Chinese or Japanese, which has no space before a number in brackets."""
    return bool(_UNSPACED.search(before[-8:]))


@dataclass(frozen=True)
class Numbered:
    """A report's sources, each with its number."""

    cited: tuple[tuple[int, Source], ...]
    """From 1, in the order of their first citation."""
    additional: tuple[tuple[int, Source], ...]
    """Those that were read and nobody cites; they are numbered on from there."""
    by_evidence: dict[str, int]
    """The number of its source, by the id of the evidence; nothing of sources that nobody cites."""

    def render(self, text: str, marker: Callable[[int], str] = "[{}]".format) -> str:
        """Replace the citations of a text by numbers; one that points nowhere goes, as do brackets around citations."""
        return CITATIONS.sub(lambda match: self._run(match, marker), unenclosed(text))

    def _run(self, run: re.Match[str], marker: Callable[[int], str]) -> str:
        numbers = dict.fromkeys(self.by_evidence[name] for name in cited(run[0]) if name in self.by_evidence)
        marks = "".join(map(marker, numbers))
        before = run.string[max(0, run.start() - 8) : run.start()]
        opened = run[0].startswith("[") and _OPENED.search(before)
        return marks if opened or not marks or unspaced(before) else f" {marks}"


def number(report: Report) -> Numbered:
    """Number the sources of a report: first as its text cites them, then those that only its figures rest on."""
    sources = {source.id: source for source in report.sources}
    evidence = {item.id: item for item in report.evidence}
    order: dict[str, int] = {}
    for section in report.sections:
        for item in _known(section.text or "", evidence):
            if item.source_id in sources:
                order.setdefault(item.source_id, len(order) + 1)
    for name in (name for figure in report.figures for name in figure.evidence_ids):
        if name in evidence and evidence[name].source_id in sources:
            order.setdefault(evidence[name].source_id, len(order) + 1)
    others = [source for source in report.sources if source.id not in order]
    return Numbered(
        cited=tuple((place, sources[name]) for name, place in order.items()),
        additional=tuple(enumerate(others, start=len(order) + 1)),
        by_evidence={item.id: order[item.source_id] for item in report.evidence if item.source_id in order},
    )


def _known(text: str, evidence: dict[str, Evidence]) -> Iterator[Evidence]:
    return (evidence[name] for name in cited(text) if name in evidence)
