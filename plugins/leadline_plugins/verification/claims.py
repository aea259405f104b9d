"""Cut the Markdown of a report into claims, and find the paragraphs that end without a citation.

A sentence is a claim, and so are a list item, a table row with its header cells, and a whole blockquote. What has no
citation of its own is covered by the next one in its paragraph, list or table. Questions, headings, captions, code,
lead-ins to lists without a citation of their own and cross-references are no claims. Linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from leadline.citations import CITATION
from leadline.records import Claim, Report, Section, Uncited
from leadline_plugins.text import sentences
from leadline_plugins.verification.data import forms

BlockKind = Literal["heading", "paragraph", "item", "row", "head", "quote", "aside"]
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTE = re.compile(r" {0,3}>\s?")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}$")
_IMAGE = re.compile(r"\s*!\[[^\]]*\]\([^)\s]*\)\s*$")
_DELIMITER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,}|\$\$)")
_CELL = re.compile(r"(?:\\.|[^|\\])+")
_MARKS = re.compile(
    r"(?<!\\)(?:\*{1,3}|_{2,3}|~~|`)|!\[[^\]]*\]\([^)\s]*\)|\[([^\[\]]*)\]\([^()\s]*\)|\\([\\`*_{}\[\]()#+.!|>-])"
)
_SPACED = re.compile(r"\s+([.,;:!?。，；：！？)）])")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w")
_LEADS = (":", "：")
_ASKS = ("?", "？", "؟")
_LONGEST_POINTER = 200
"""Characters; a longer sentence without a citation states something on its way to another section."""


@dataclass(frozen=True)
class Block:
    """A block of a section's Markdown with its span there. `group` counts paragraphs, lists and tables."""

    kind: BlockKind
    start: int
    end: int
    group: int
    under: tuple[str, ...] = ()
    level: int = 0
    head: tuple[str, ...] = ()
    """The header cells of a row."""


@dataclass(frozen=True)
class Statement:
    """A sentence, item, row or quotation; `cited` are the ids of the citations in it or right after it."""

    text: str
    start: int
    end: int
    block: Block
    cited: tuple[str, ...] = ()
    before: str = ""
    claims: bool = True


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, list or table, as `paragraphs.jsonl` has it; `states`: it must end with a citation."""

    id: str
    section_id: str
    text: str
    cite_ids: tuple[str, ...]
    states: bool
    ends_with_citation: bool


@dataclass
class Statements:
    """What the sections of a report state."""

    claims: list[Claim] = field(default_factory=list)
    uncited: list[Uncited] = field(default_factory=list)
    paragraphs: list[Paragraph] = field(default_factory=list)


def statements(report: Report) -> Statements:
    """Return the claims and the uncited paragraphs of a report, in its order."""
    return of_sections(report.sections)


def of_sections(sections: Sequence[Section]) -> Statements:
    """Return the same of some of its sections."""
    found = Statements()
    for section in sections:
        _read(section, found)
    return found


def shown(text: str) -> str:
    """Return Markdown as the reader sees it in one line: without citations, emphasis and links."""
    bare = _MARKS.sub(lambda match: match[1] or match[2] or "", CITATION.sub("", text))
    return _SPACED.sub(r"\1", " ".join(bare.split()))


def rows_of(text: str) -> Iterator[str]:
    """Yield the rows of the tables of a Markdown text as claims state them: `header: cell; header: cell`."""
    return (_row(text[block.start : block.end], block.head) for block in blocks(text) if block.kind == "row")


def units(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences, items, rows and quotations of a Markdown text, headings and code included."""
    end = 0
    for block in blocks(text):
        if block.start > end:
            yield end, block.start
        end = block.end
        yield block.start, block.end
        if block.kind in ("paragraph", "item"):
            yield from ((one.start, one.end) for one in _stated(text, block))
    yield end, len(text)


def cells_of(line: str) -> list[str]:
    """Return the cells of a table row, as the reader sees them."""
    return [shown(cell) for cell in _CELL.findall(line.strip().strip("|"))]


def _read(section: Section, found: Statements) -> None:
    text = section.text or ""
    groups: list[list[Statement]] = []
    last = -1
    for block in blocks(text, (section.title,) if section.title else ()):
        if block.kind in ("heading", "head", "aside"):
            continue
        stated = list(_stated(text, block))
        only_cites = bool(stated) and not stated[0].text
        if groups and (only_cites or block.group == last):
            groups[-1] += stated
        elif stated and not only_cites:
            groups.append(stated)
        last = block.group
    led: tuple[str, ...] = ()
    lead = ""
    number = 0
    for place, group in enumerate(groups, start=1):
        listed = group[0].block.kind in ("item", "row")
        covered = _covered([_after(lead, one) for one in group] if listed else group, led if listed else ())
        final = group[-1]
        led = final.cited if final.block.kind == "paragraph" else ()
        lead = final.text if final.block.kind == "paragraph" and final.text.endswith(_LEADS) else ""
        for one, ids in covered:
            if one.claims and ids:
                number += 1
                found.claims.append(_claim(section.id, number, one, ids))
        found.paragraphs.append(_paragraph(section.id, place, text, covered))
        bare = [one for one, ids in covered if one.claims and not ids]
        if bare:
            span = bare[0].start, bare[-1].end
            name = f"{section.id}.p{place}"
            found.uncited.append(Uncited(id=name, section_id=section.id, text=shown(text[slice(*span)]), span=span))


def _after(lead: str, one: Statement) -> Statement:
    """Return a statement of a list or table, after the lead-in where it is the first of its item."""
    return one if one.before or not lead else replace(one, before=lead)


def _covered(group: Sequence[Statement], led: tuple[str, ...]) -> list[tuple[Statement, tuple[str, ...]]]:
    """Return the statements of a paragraph, list or table, each with its own citations or the next ones.

    The citations of the paragraph that leads to a list or table cover what has no others after it.
    """
    following = led
    made: list[tuple[Statement, tuple[str, ...]]] = []
    for one in reversed(group):
        following = one.cited or following
        made.append((one, following))
    return made[::-1]


def _claim(section: str, number: int, one: Statement, ids: tuple[str, ...]) -> Claim:
    return Claim(
        id=f"{section}.{number}",
        section_id=section,
        text=one.text,
        span=(one.start, one.end),
        evidence_ids=tuple(dict.fromkeys(ids)),
        under=one.block.under,
        before=one.before,
    )


def _paragraph(section: str, place: int, text: str, covered: Sequence[tuple[Statement, tuple[str, ...]]]) -> Paragraph:
    return Paragraph(
        id=f"{section}.p{place}",
        section_id=section,
        text=shown(text[covered[0][0].start : covered[-1][0].end]),
        cite_ids=tuple(dict.fromkeys(name for one, _ in covered for name in one.cited)),
        states=any(one.claims for one, _ in covered),
        ends_with_citation=all(ids for one, ids in covered if one.claims),
    )


# --- statements of a block -------------------------------------------------------------------------------------------


def _stated(text: str, block: Block) -> Iterator[Statement]:
    """Yield what a block states; one without text for a block of nothing but citations."""
    raw = text[block.start : block.end]
    cited = tuple(CITATION.findall(raw))
    if not _WORD.search(CITATION.sub("", raw)):
        yield Statement("", block.start, block.end, block, cited, claims=False)
    elif block.kind == "quote":
        lines = [_QUOTE.sub("", line) for line in raw.split("\n")]
        said = shown("\n".join(_without_code(lines)))
        yield Statement(said if _WORD.search(said) else shown("\n".join(lines)), block.start, block.end, block, cited)
    elif block.kind == "row":
        yield Statement(_row(raw, block.head), block.start, block.end, block, cited)
    else:
        yield from _sentences(raw, block, is_caption=_is_caption(shown(raw)))


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a quotation with the mark of an omission in the place of each code block."""
    mark = ""
    for line in lines:
        fence = _FENCE.match(line)
        if mark:
            mark = "" if fence and fence[1].startswith(mark) else mark
        elif fence and fence[1] != "$$":
            mark = fence[1]
            yield "[…]"
        else:
            yield line


def _sentences(raw: str, block: Block, *, is_caption: bool) -> Iterator[Statement]:
    """Yield the sentences of a paragraph or list item, each with the citations in it and right after it."""
    marker = _ITEM.match(raw) if block.kind == "item" else None
    begin = marker.end() if marker else 0
    blank = CITATION.sub(lambda match: " " * len(match[0]), raw).replace("\n", " ")
    spans = sentences(" " * begin + blank[begin:])
    before = ""
    for place, (start, end) in enumerate(spans):
        limit = spans[place + 1][0] if place + 1 < len(spans) else len(raw)
        after = list(CITATION.finditer(raw, end, limit))
        end = after[-1].end() if after else end
        cited = tuple(CITATION.findall(raw[start:end]))
        said = shown(raw[start:end])
        last = place + 1 == len(spans)
        bare = said.rstrip("\"'”’」』)）*_ ")
        own = bool(cited) and raw[start:end].endswith(_LEADS)  # after the colon a citation belongs to the list
        leads = last and not own and bare.endswith(_LEADS)
        points = not cited and _is_pointer(said, raw[start:end])
        claims = bool(_LETTER.search(said)) and not (is_caption or leads or points or bare.endswith(_ASKS))
        yield Statement(said, block.start + start, block.start + end, block, cited, before, claims)
        before = said


def _row(line: str, head: Sequence[str]) -> str:
    """Return what a table row states, each cell with its header: `City: Bonn; People: 330,000`."""
    named = zip(cells_of(line), [*head, *[""] * line.count("|")], strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for cell, name in named if cell)


@cache
def _openings() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return how captions and cross-references begin."""
    captions, pointers = ("|".join(map(re.escape, forms(table))) for table in ("captions", "pointers"))
    caption = rf"(?:{captions})\s*\d+(?:[.-]\d+)*\s*(?:[:：.。\u3000–—-]|$)(?!\d)"
    return re.compile(caption, re.IGNORECASE), re.compile(rf"\W*(?:{pointers})(?![a-z])", re.IGNORECASE)


def _is_caption(text: str) -> bool:
    return bool(_openings()[0].match(text))


def _is_pointer(said: str, raw: str) -> bool:
    """Return whether a sentence only leads to another section."""
    return len(said) <= _LONGEST_POINTER and ("](#" in raw or bool(_openings()[1].match(said)))


# --- blocks ---------------------------------------------------------------------------------------------


def blocks(text: str, under: tuple[str, ...] = ()) -> Iterator[Block]:
    """Yield the blocks of a section's Markdown; code, formulas, images and rules are left out.

    `under` are the headings above the text.
    """
    reader = _Blocks(text, under)
    at = 0
    for line in text.split("\n"):
        yield from reader.line(at, line)
        at += len(line) + 1
    yield from reader.close()


class _Blocks:
    """Reads Markdown line by line."""

    def __init__(self, text: str, under: tuple[str, ...]) -> None:
        self._text, self._top = text, under
        self._headings: list[tuple[int, str]] = []
        self._open: Block | None = None
        self._fence = ""
        self._group = 0
        self._head: tuple[str, ...] = ()
        self._blank = True

    def line(self, at: int, line: str) -> Iterator[Block]:
        """Yield the blocks that a line ends."""
        fence = _FENCE.match(line)
        if self._fence or fence:
            yield from self.close()
            self._fence = self._fenced(line, fence)
        elif not line.strip():
            yield from self._spaced()
        elif heading := _HEADING.match(line):
            yield from self.close()
            yield self._heading(at, line, len(heading[1]), shown(heading[2]))
        elif _RULE.match(line) or _IMAGE.match(line):
            yield from self.close()
        elif line.lstrip().startswith("|"):
            yield from self._row(at, line)
        elif _QUOTE.match(line):
            yield from self._begin("quote", at, line, goes_on=True)
        elif _ITEM.match(line):
            yield from self._begin("item", at, line)
        elif self._open and self._goes_on(line):
            self._extend(at, line)
        else:
            yield from self._begin("paragraph", at, line)
        self._blank = not line.strip()

    def close(self) -> Iterator[Block]:
        """Yield the block that is open."""
        if self._open:
            yield self._open
        self._open = None

    def _fenced(self, line: str, fence: re.Match[str] | None) -> str:
        """Return the mark of the code or formula that is open after a line."""
        if not self._fence:
            mark = fence[1] if fence else ""
            return "" if mark == "$$" and line.strip().endswith("$$") and len(line.strip()) > 2 else mark
        ends = line.strip().endswith("$$") if self._fence == "$$" else fence and fence[1].startswith(self._fence)
        return "" if ends else self._fence

    def _spaced(self) -> Iterator[Block]:
        """Yield the block that a blank line ends; an item stays open."""
        if self._open and self._open.kind != "item":
            yield from self.close()
        self._head = ()

    def _heading(self, at: int, line: str, level: int, title: str) -> Block:
        self._headings = [one for one in self._headings if one[0] < level]
        above = self._under()
        self._headings.append((level, title))
        return Block("heading", at, at + len(line), self._next(), above, level)

    def _under(self) -> tuple[str, ...]:
        return (*self._top, *(title for _, title in self._headings))

    def _next(self) -> int:
        self._group += 1
        return self._group

    def _begin(self, kind: BlockKind, at: int, line: str, *, goes_on: bool = False) -> Iterator[Block]:
        same = self._open is not None and self._open.kind == kind
        if goes_on and same and not self._blank:
            self._extend(at, line)
            return
        group = self._group if kind == "item" and same else self._next()
        yield from self.close()
        self._open = Block(kind, at, at + len(line.rstrip()), group, self._under())

    def _goes_on(self, line: str) -> bool:
        """Return whether a plain line belongs to the open block: after a blank line only an item goes on, indented."""
        assert self._open
        if self._blank:
            return self._open.kind == "item" and line.startswith("  ")
        return self._open.kind not in ("row", "head")

    def _extend(self, at: int, line: str) -> None:
        assert self._open
        self._open = replace(self._open, end=at + len(line.rstrip()))

    def _row(self, at: int, line: str) -> Iterator[Block]:
        table = self._open is not None and self._open.kind in ("row", "head")
        if _DELIMITER.match(line):
            if self._open and table:
                self._head = tuple(cells_of(self._text[self._open.start : self._open.end]))
                self._open = replace(self._open, kind="head")
            return
        group = self._group if table else self._next()
        yield from self.close()
        self._open = Block("row", at, at + len(line.rstrip()), group, self._under(), head=self._head)
