"""The claims of a report, each sentence with the evidence cited for it, and how far the sources bear it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from leadline.citations import CITATIONS, cited, uncited, unenclosed
from leadline.records import Evidence, Report, Source
from leadline_plugins.checks.judge import Judgement, judge
from leadline_plugins.checks.quotes import find, plain
from leadline_plugins.checks.verbatim import stands as word_for_word
from leadline_plugins.stages.paragraphs import Paragraph, Span, heading_level, paragraphs
from leadline_plugins.stages.said import Piece, Said, begins_line, labels
from leadline_plugins.text.rows import SAYS, cells

AROUND = 500
"""Characters before and behind a quote that may say whom it speaks of."""
_LEFT = re.compile(r"(?:[\s.!?。！？…,;:，；：、)）\]】」』”’]|[*_]+(?=\s))+")
"""What stands behind a citation and belongs to the sentence before it."""
_OPENED = " \t\n(（[【［"
"""What stands before a citation in brackets and belongs to it."""
_NUMBER = r"(?:[(（]\d{1,3}[)）]|\d{1,3}(?:[、．）]|[.)](?=(?:\*\*|__)?(?:\s|$))))"
_COUNTED = re.compile(rf"(?:[-*+•]\s+)?(?P<mark>\*\*|__)?{_NUMBER}(?P<closed>(?P=mark))?\s*")
"""The number of a list's item, which a sentence taken over word for word would be contradicted by."""

_MORE = re.compile(r"[ \t]*\S")


@dataclass(frozen=True)
class Claim:
    """A sentence that cites, or what a table's row says: its id, its text, and the ids it cites.

    `span` is where it stands in its section's text and `run` where its citations do; claims with one run share them.
    `cells` are those of a row, which its text joins.
    """

    id: str
    section_id: str
    text: str
    cite_ids: tuple[str, ...]
    span: Span = field(compare=False)
    run: Span = field(compare=False)
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cited:
    """A piece of evidence as it was checked: `problem` where its quote does not stand in a stored source."""

    evidence: Evidence
    around: str = ""
    problem: str = ""


class Library:
    """The evidence of a report, each piece looked up in its source once."""

    def __init__(self, report: Report) -> None:
        self._evidence = {item.id: item for item in report.evidence}
        self._sources = {source.id: source for source in report.sources}
        self._seen: dict[str, Cited] = {}

    def cited(self, claim: Claim) -> list[Cited]:
        """Return the evidence that a claim cites; ids that point nowhere are left out."""
        return [self._checked(self._evidence[name]) for name in claim.cite_ids if name in self._evidence]

    def sound(self) -> list[Cited]:
        """Return all evidence whose quotes stand in their sources."""
        found = (self._checked(item) for item in self._evidence.values())
        return [item for item in found if not item.problem]

    def _checked(self, item: Evidence) -> Cited:
        if item.id not in self._seen:
            self._seen[item.id] = stands(item, self._sources.get(item.source_id))
        return self._seen[item.id]


def stands(item: Evidence, source: Source | None) -> Cited:
    """Look a quote up in the stored copy of its source: at its place, else anywhere, typography aside."""
    if source is None:
        return Cited(item, problem="the source is not in the report")
    text, span = source.document.text, item.span
    if text[slice(*span)] != item.quote:
        found = find(item.quote, text)
        if found is None:
            return Cited(item, problem="the quote does not stand in the source")
        span = found
    near = text[max(0, span[0] - AROUND) : span[1] + AROUND]
    return Cited(item, around=f"{source.hit.title}\n{source.document.title}\n{near}")


def claims(part: Paragraph) -> Iterator[Claim]:
    """Yield what a paragraph says that a citation serves: all since the last one, and the rest of its table's row."""
    if heading_level(part.text):
        return
    said, count, start = Said(part.text), 0, 0
    runs = list(CITATIONS.finditer(part.text))
    for run, following in zip_longest(runs, runs[1:]):
        names = tuple(dict.fromkeys(cited(run.group())))
        rest = _rest(said, part.text, run, following)
        for piece in _served(said, start, run.start(), rest):
            begin, end = piece.span
            if begin and begin in (start, run.end()) and (left := _LEFT.match(part.text, begin, end)):
                begin = left.end()
            end = begin + len(part.text[begin:end].rstrip(_OPENED))
            row = _cells(part.text, begin, end, piece.row) if piece.row else ()
            text = "; ".join(row) if piece.row else _uncounted(part.text, begin, end)
            named = labels(text) and _MORE.match(part.text, end, run.start())
            if named or not SAYS.search(text):
                continue
            count += 1
            yield Claim(
                id=f"{part.id}.{count}",
                section_id=part.section_id,
                text=text,
                cite_ids=names,
                span=_moved(_unbarred(part.text, begin, end) if piece.row else (begin, end), part.start),
                run=_moved(run.span(), part.start),
                cells=row,
            )
        start = rest.span[1] if rest else run.end()


def _rest(said: Said, text: str, run: re.Match[str], following: re.Match[str] | None) -> Piece | None:
    """Return what stands behind the last citation of a row, which serves that too."""
    row = said.row(run.end() - len(run.group().lstrip()))
    if row is None or run.end() > row.span[1] or (following and following.start() < row.span[1]):
        return None
    return Piece((run.end(), row.span[1]), row.row) if SAYS.search(text, run.end(), row.span[1]) else None


def _served(said: Said, start: int, end: int, rest: Piece | None) -> list[Piece]:
    """Return the pieces before a citation; what is left of its row is one with what that says before it."""
    pieces = said.between(start, end)
    if rest is None:
        return pieces
    if pieces and (pieces[-1].row, pieces[-1].span[1]) == (rest.row, end):
        rest = replace(rest, span=(pieces.pop().span[0], rest.span[1]))
    return [*pieces, rest]


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _uncounted(text: str, begin: int, end: int) -> str:
    """Return a sentence without the number of the list's item that it begins, but with what is bold from there on."""
    counted = _COUNTED.match(text, begin, end) if begins_line(text, begin) else None
    if counted is None:
        return text[begin:end]
    return (counted["mark"] if counted["mark"] and not counted["closed"] else "") + text[counted.end() : end]


def _cells(text: str, begin: int, end: int, number: int) -> tuple[str, ...]:
    """Return the cells of a row, or of the part of it behind a citation, where the first cell counts nothing."""
    return cells(uncited(unenclosed(text[begin:end])), number if begins_line(text, begin) else 0)


def _unbarred(text: str, begin: int, end: int) -> Span:
    """Return the span of a row without the bars around it."""
    row = text[begin:end]
    return begin + len(row) - len(row.lstrip(" \t|")), begin + len(row.rstrip(" \t|"))


def claims_of(report: Report) -> list[Claim]:
    """Return all claims of a report, in order."""
    return [claim for part in paragraphs(report) for claim in claims(part)]


def held(claim: Claim, cited: list[Cited]) -> dict[str, Judgement]:
    """Judge a claim by the quotes cited for it, by evidence id; several may bear together what none bears alone."""
    sound = [item for item in cited if not item.problem]
    said = plain(claim.text)
    found = {item.evidence.id: judge(said, item.evidence.quote, around=item.around) for item in sound}
    if len(sound) > 1 and not any(one.verdict == "supported" for one in found.values()):
        together = judge(
            said, "\n".join(item.evidence.quote for item in sound), around="\n".join(i.around for i in sound)
        )
        if together.verdict == "supported":
            found = {name: together if one.verdict == "partial" else one for name, one in found.items()}
    return found | {name: _whole(found[name]) for name in _taken_over(claim, sound)}


def _taken_over(claim: Claim, sound: list[Cited]) -> set[str]:
    """Return the evidence that a row takes over cell by cell; none where one of its cells stands nowhere."""
    if len(claim.cells) < 2:
        return set()
    found = [{one.evidence.id for one in sound if word_for_word(cell, one.evidence.quote)} for cell in claim.cells]
    return set().union(*found) if all(found) else set()


def _whole(found: Judgement) -> Judgement:
    reason = "each cell of the row stands in the passages, word for word"
    return replace(found, verdict="supported", reason=reason, confidence=1.0, score=1.0, exact=True)
