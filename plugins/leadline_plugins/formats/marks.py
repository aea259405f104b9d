"""Marks at the claims of a report that are not supported: their places, signs, labels and legend.

`marked` puts a token after each judged claim into the Markdown of a section. The parser reads it as an inline of its
own, and the Markdown format replaces it by the sign: every format has its marks at the same places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from leadline.citations import CITATION, uncited, unenclosed
from leadline.records import Report, Section
from leadline_plugins.formats.inlines import spoken
from leadline_plugins.formats.tree import SIGN, TOKEN
from leadline_plugins.wording import everywhere, listed, say
from leadline_plugins.wording.notices import retold

KINDS = ("contradicted", "unsupported", "partial", "not_judged", "uncited", "supported")
"""The worst first."""
SIGNS: Mapping[str, str] = {
    "partial": "≈",
    "contradicted": "≠",
    "unsupported": "?",
    "not_judged": "○",
    "uncited": "†",
}
_SUMMARY = "summary"
"""Id of the section that most readers read alone."""
_BEGINNING = 200
"""Characters of a claim in the list of checks."""
_ALL = "".join(SIGNS.values())
_SHOWN = re.compile(rf"(?<=\d\])[{_ALL}]+|\[[{_ALL}]+\]")
_TOKENS = re.compile(rf"(?:{TOKEN.pattern})+")
_LAST_CELL = re.compile(r"(?<!\\)\|[ \t]*\Z")
_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+[-:| \t]*\Z")
_FENCE = re.compile(r"([ \t>]*)(?:`{3,}|~{3,})[^`\n]*\Z")
_CLOSING = re.compile(r"\s*[)）]")


@dataclass(frozen=True)
class Mark:
    """A judged claim, or a paragraph without a citation."""

    number: int
    """From 1, in the order of the records; names its anchors."""
    kind: str
    """A verdict, or `uncited`."""
    section_id: str
    span: tuple[int, int]
    text: str
    evidence_ids: tuple[str, ...] = ()
    quote: str = ""
    evidence_id: str = ""
    reason: str = ""
    judge: str = ""
    found: bool = False
    """Whether a judge found something against it without deciding."""

    @property
    def sign(self) -> str:
        """Its sign; empty for a supported claim."""
        return SIGNS.get(self.kind, "")

    @property
    def listed(self) -> bool:
        """Whether the list of checks names it: not where the only thing to say is that nobody judged it."""
        return bool(self.sign) and (self.kind != "not_judged" or self.found)

    def why(self, language: str) -> str:
        """Return the reason and the judge; empty where neither is known."""
        judge = say("judge", language, judge=self.judge) if self.judge else ""
        return listed(filter(None, (self.reason, judge)), language, "semicolon")


def marks_of(report: Report) -> tuple[Mark, ...]:
    """Return the marks of a report: of its verdicts, then of its uncited paragraphs."""
    return tuple(_marks(report))


def _marks(report: Report) -> Iterator[Mark]:
    for number, item in enumerate(report.verdicts, start=1):
        claim, reasons = item.claim, [item.reason, *(item.claim.findings if item.verdict == "not_judged" else ())]
        yield Mark(
            number=number,
            kind=item.verdict,
            section_id=claim.section_id,
            span=claim.span,
            text=_shortened(claim.text),
            evidence_ids=claim.evidence_ids,
            quote=item.quote,
            evidence_id=item.evidence_id,
            reason="; ".join(dict.fromkeys(retold(text, report.language) or text for text in reasons if text)),
            judge=item.judge,
            found=bool(claim.findings),
        )
    for number, bare in enumerate(report.uncited, start=len(report.verdicts) + 1):
        yield Mark(number, "uncited", bare.section_id, bare.span, _shortened(bare.text))


def _shortened(markdown: str) -> str:
    text = spoken(uncited(unenclosed(" ".join(markdown.split())))).strip("| ").replace(" | ", " · ")
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING].rsplit(' ', 1)[0]} …"


def marked(section: Section, marks: Iterable[Mark]) -> str:
    """Return the Markdown of a section with a token after each of its claims."""
    text = (section.text or "").replace(SIGN, "\ufffd")
    placed = sorted((*_place(text, mark.span), mark.number) for mark in marks if mark.section_id == section.id)
    parts, last = [], 0
    for place, before, number in placed:
        parts += [text[last:place], f"{before}[{SIGN}{number}]"]
        last = place
    return "".join((*parts, text[last:]))


def _place(text: str, span: tuple[int, int]) -> tuple[int, str]:
    """Return where the token of a claim goes, and what comes before it.

    That is after the citations that end the claim, else at its end; in a table within the last cell of the row; after
    a block of code on a line of its own.
    """
    start, end = min(span[0], len(text)), min(span[1], len(text))
    end = start + len(text[start:end].rstrip())
    line = text.rfind("\n", 0, end) + 1
    if fence := _FENCE.match(text, line, end):
        return end, f"\n{fence[1]}"
    while line > start and _RULE.match(text, line, end):  # of a table without rows
        end = line - 1
        line = text.rfind("\n", 0, end) + 1
    if "|" in text[line:end].lstrip(" \t>")[:1] and (cell := _LAST_CELL.search(text, line, end)):
        end = line + len(text[line : cell.start()].rstrip())
    last = max((found.end() for found in CITATION.finditer(text, start, end)), default=end)
    if not any(map(str.isalnum, text[last:end])):
        end = last
    closing = _CLOSING.match(text, end)
    if closing and sum(map(text[start:end].count, "(（")) > sum(map(text[start:end].count, ")）")):
        end = closing.end()
    return end, ""


def signed(markdown: str, marks: Sequence[Mark]) -> str:
    """Return Markdown with signs in the places of tokens: bare after a number in brackets, else in brackets."""

    def sign(run: re.Match[str]) -> str:
        signs = "".join(dict.fromkeys(marks[int(number) - 1].sign for number in TOKEN.findall(run[0])))
        return f"[{signs}]" if signs and run.string[run.start() - 1 : run.start()] != "]" else signs

    return _TOKENS.sub(sign, markdown)


def unmarked(markdown: str) -> str:
    """Return a Markdown report without the signs that this project sets; any other report as it is."""
    ours = any(said.partition("{")[0] in markdown for said in everywhere("marks"))
    return _SHOWN.sub("", markdown) if ours else markdown


def label(kind: str, language: str) -> str:
    """Return the name of a verdict."""
    return say(kind, language)


def summary(marks: Sequence[Mark], language: str) -> str:
    """Return what the judges decided, the worst first; empty for a report that was not judged."""
    return listed(_summary(marks, language), language, "space")


def _summary(marks: Sequence[Mark], language: str) -> Iterator[str]:
    counts = Counter(mark.kind for mark in marks)
    bare = counts.pop("uncited", 0)
    if against := [one.text for one in marks if (one.section_id, one.kind) == (_SUMMARY, "contradicted")]:
        what = (text.rstrip(".。") for text in dict.fromkeys(against))
        yield say("summary_contradicted", language, what=listed(what, language, "semicolon"))
    if counts.keys() == {"not_judged"}:
        yield say("none_judged", language, total=counts.total())
    elif counts:
        what = (f"{label(kind, language)} {counts[kind]}" for kind in reversed(KINDS) if counts[kind])
        yield say("checked", language, total=counts.total(), what=listed(what, language))
    if bare:
        told = say("bare", language, count=bare)
        yield f"{told[:1].upper()}{told[1:]}{say('stop', language)}"


def legend(marks: Sequence[Mark], language: str) -> str:
    """Return what the signs of a report mean; empty where it has none."""
    used = {mark.kind for mark in marks}
    what = [f"{SIGNS[kind]} {label(kind, language)}" for kind in KINDS if kind in used and kind in SIGNS]
    return say("marks", language, what=listed(what, language)) if what else ""


def failures(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Return the marks that the list of checks names, worst first; those of the same words and verdict together."""

    def key(mark: Mark) -> tuple[int, str]:
        return KINDS.index(mark.kind), mark.text

    first = {key(mark): mark.number for mark in reversed(marks)}
    named = sorted(filter(lambda mark: mark.listed, marks), key=lambda mark: (key(mark)[0], first[key(mark)]))
    return [list(group) for _, group in groupby(named, key)]
