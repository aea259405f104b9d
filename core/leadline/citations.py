"""Citations: how the text of a report refers to its evidence, and how references become numbers.

In the Markdown of a report, `[@evidence-id]` is a citation and `![](figure:id)` a figure. Formatters number the sources
in the order of their first citation, and then the sources that nothing cites.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from leadline.records import Report, Source

# Some writers put several ids into one pair of brackets: `[@e1, e2]`, `[@e1; @e2]`.
_ONE = r"\[@(?<!\\\[@)([^\[\]\s][^\[\]\n]*)\]"
_SEPARATOR = re.compile(r"[\s,;，、；]+@?")
# An escaped citation is text of a quoted page. The group has the ids; `cited` reads them.
CITATION = re.compile(_ONE)
# A sequence of citations with the white space before it. The search begins where white space begins: otherwise long
# white space takes quadratic time.
CITATIONS = re.compile(rf"(?=[\s\[])(?:(?<!\s)\s++)?{_ONE}(?:\s*+{_ONE})*")

# Emphasis or a bracket that has just been opened: a space after it would undo the emphasis.
_OPENED = re.compile(r"(?:(?:^|[\s(\[{>])(?:\*{1,3}|_{1,3}|~~)|[(\[{（「])\Z")
_ENCLOSED = re.compile(rf"(?:(?<![\]\\])\(|（)\s*+((?:{_ONE}[\s,;，、；]*+)+)[)）]")
_UNSPACED = re.compile(
    "[\u3001-\u303f\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd][”’…—*_~]*\\Z"
)


def cite(evidence_id: str) -> str:
    """Return the citation of a piece of evidence."""
    return f"[@{evidence_id}]"


def cited(text: str) -> list[str]:
    """Return the ids of the evidence that a text cites, in order and with repetitions."""
    return [name for ids in CITATION.findall(text) for name in _SEPARATOR.split(ids) if name]


def uncitable(text: str) -> str:
    """Return the text of a page with `[@` broken up, so that nothing in it reads as a citation."""
    return text.replace("[@", "[ @")


def uncited(text: str) -> str:
    """Return the text without its citations."""
    return CITATIONS.sub("", text)


def unenclosed(text: str) -> str:
    """Remove brackets that contain only citations; the numbers have brackets already."""
    if "([@" not in text and "（" not in text and "( " not in text:
        return text
    return _ENCLOSED.sub(lambda match: "".join(map(cite, cited(match[1]))), text)


def unspaced(before: str) -> bool:
    """Return whether text ends in Chinese or Japanese, which has no space before a number in brackets."""
    return bool(_UNSPACED.search(before[-8:]))


@dataclass(frozen=True)
class Numbered:
    """The numbered sources of a report."""

    cited: tuple[tuple[int, Source], ...]
    """Sources numbered from 1 in the order of their first citation."""
    additional: tuple[tuple[int, Source], ...]
    """Sources that were read and are not cited, with the numbers that follow."""
    by_evidence: dict[str, int]
    """The number of the source by evidence id, for cited sources only."""

    def render(self, text: str, address: Callable[[str], str] | None = None) -> str:
        """Replace citations by numbers; with `address`, by Markdown links to the first passage of each source.

        Citations of unknown evidence and brackets around citations are removed.
        """

        def marks(run: re.Match[str]) -> str:
            ids = {self.by_evidence[name]: name for name in reversed(cited(run[0])) if name in self.by_evidence}
            numbers = dict.fromkeys(self.by_evidence[name] for name in cited(run[0]) if name in self.by_evidence)
            shown = "".join(f"[[{number}]]({address(ids[number])})" if address else f"[{number}]" for number in numbers)
            before = run.string[max(0, run.start() - 8) : run.start()]
            opened = run[0].startswith("[") and _OPENED.search(before)
            return shown if opened or not shown or unspaced(before) else f" {shown}"

        return CITATIONS.sub(marks, unenclosed(text))


def number(report: Report) -> Numbered:
    """Number the sources of a report in the order of its citations, then those of conflicts, then those of figures."""
    sources = {source.id: source for source in report.sources}
    evidence = {item.id: item for item in report.evidence}
    order: dict[str, int] = {}
    beside = [*(item.evidence_ids for item in report.conflicts), *(item.evidence_ids for item in report.figures)]
    for name in chain(*(cited(section.text or "") for section in report.sections), *beside):
        if name in evidence and evidence[name].source_id in sources:
            order.setdefault(evidence[name].source_id, len(order) + 1)
    others = [source for source in report.sources if source.id not in order]
    return Numbered(
        cited=tuple((number, sources[name]) for name, number in order.items()),
        additional=tuple(enumerate(others, start=len(order) + 1)),
        by_evidence={item.id: order[item.source_id] for item in report.evidence if item.source_id in order},
    )
