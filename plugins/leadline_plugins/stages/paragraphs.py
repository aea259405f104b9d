"""The paragraphs of a report, as verification sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from leadline.citations import CITATION, cited, uncited
from leadline.records import Report, Section
from leadline_plugins.stages.remarks import remark
from leadline_plugins.text import sentences
from leadline_plugins.text.headings import BETWEEN, headings
from leadline_plugins.text.sentences import Span

CAPTION = re.compile(
    r"(?:\*\*|__)?(?:Figure|Table|图|圖|表|図)\s*\d+(?:[.-]\d+)*\s*(?:\*\*|__)?\s*(?:[:：。\u3000]|\.(?!\d)|[–—-]\s|$)"
)
"""How a caption begins: a sentence that begins with the name of a figure has no stop behind its number."""
_HEADING = re.compile(r" {0,3}(?P<signs>#{1,6})(?:\s|$)")
_NO_PROSE = re.compile(
    r"#{1,6}\s|!\[[^\]]*\]\([^)]*\)\s*$|[-*_]{3,}\s*$|```|~~~|\$\$[^$]*(?:\$\$[\W\d]*)?$|" + CAPTION.pattern
)
"""How a block begins that states nothing of its own: headings, images, rules, code, formulas, captions."""
_FENCE = re.compile(r"\s*(?:(?P<ticks>`{3,})[^`]*|(?P<waves>~{3,}).*)$")
_PLACE = (
    r"(?:\b(?:sections?|chapters?|parts?|figures?|tables?|above|below|abschnitt|kapitel|abbildung|tabelle)\b"
    r"|[章节節图圖表図]|上文|下文)"
)
_WORD = re.compile(r"\w")
_ASIDE = re.compile(
    r"\s*[(（](?:see|cf|siehe|vgl|voir|véase|参见|參見|详见|詳見|[见見])[\s.]*[^()（）\d]{1,80}[)）]\W*"
    r"|\s*,\s(?:as|which|an?\s)[^.;\d]{0,90}\b(?:set\sout|given|shown|described|discussed|covered|told|said)"
    r"\s(?:under|in|above|below)\b[^.\d]{0,80}\W*",
    re.IGNORECASE,
)
"""How the end of a sentence leads to another section, by its title."""
_POINTS = re.compile(
    rf"\W*(?:(?:see|compare|cf|more on (?:this|that)|siehe|vgl|voir|véase)\b\.?|参见|參見|详见|詳見|参照)"
    rf"[^.!?。！？]*{_PLACE}[^.!?。！？]*[.!?。！？]?\W*",
    re.IGNORECASE,
)
"""A sentence that only sends the reader to another place of the report."""
_NUMBERED_PLACE = re.compile(rf"{_PLACE}\s*\d+|第\s*\d+\s*{_PLACE}", re.IGNORECASE)
_LEADS = re.compile(
    r"""\W*(?:
      (?:(?:the|this|a)\s(?:following\s|next\s)?)?(?:table|figure|chart|list|overview)(?:\s\d+)?
      (?:\s(?:below|that\sfollows))?\s
      (?:sums?|summari[sz]es|shows|lists|compares|gives|sets|presents|contrasts|brings|collects|puts)\b(?!\s+that\b)
    | (?:the|these)\s[^,;:]{1,60}\s(?:are|is)\s
      (?:these|this|as\sfollows|the\sfollowing|(?:listed|shown|given)\sbelow)\W*$
    | (?:下表|下列表格|下面的表格?|以下表格|下图|下圖)[^，；。]{0,6}
      (?:列出|汇总|匯總|总结|總結|概括|比较|比較|对比|對比|归纳|整理)
    | (?:(?:以|按|依|根据|根據|据|據|就|从|從|综合|綜合|为|為)[^，。]{1,40}，)?
      [^，；：。]{2,40}?(?:如下(?:表|图|圖|列)?(?:所示)?|(?:见|見)下(?:表|图|圖))\W*$
    )[^.!?。！？]*[.!?。！？]?\W*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that only says what stands below it."""
_BELOW = re.compile(r"\||[-*+•]\s|\d{1,3}[.)]\s|!\[|" + CAPTION.pattern)
"""How a block begins that is led to: a table, a list, a figure."""
_OF_TABLE = re.compile(
    r"\W*(?:(?:all|the|these)\s(?:\w+\s){0,3}(?:in|of)\s)?(?:(?:the|this|that)\s(?:above\s)?table|(?:the\s)?table\sabove)\b"
    r"|\W*(?:上表|表中|该表|該表|此表|本表|以上表格|上述表格)",
    re.IGNORECASE,
)
"""How a block begins that speaks of the table above it."""
_LONGEST_LEAD = 200
_LONGEST_REST = 1_000
_LONGEST_POINTER = 300
"""Characters; what is longer tells something on its way."""


@dataclass(frozen=True)
class Paragraph:
    """One block of a section's text, from `start` there. `states` is whether it is prose that must end cited."""

    id: str
    section_id: str
    text: str
    start: int
    cite_ids: tuple[str, ...]
    states: bool
    ends_with_citation: bool
    under: str = ""
    """The title of its section and the headings over it there."""

    def row(self) -> dict[str, JsonValue]:
        """Return its line of `paragraphs.jsonl`."""
        return {
            "id": self.id,
            "section_id": self.section_id,
            "text": uncited(self.text),
            "cite_ids": list(self.cite_ids),
            "states": self.states,
            "ends_with_citation": self.ends_with_citation,
        }


def paragraphs(report: Report) -> list[Paragraph]:
    """Return all paragraphs of a report, in order."""
    return [part for section in report.sections for part in _of_section(section)]


def _of_section(section: Section) -> Iterator[Paragraph]:
    text = section.text or ""
    over = headings(text)
    spans = list(blocks(text))
    for place, span in enumerate(spans):
        below = text[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
        under = BETWEEN.join((section.title, *over.over(span[0])))
        yield _paragraph(f"{section.id}.{place + 1}", section.id, text, span, below, under)


def blocks(text: str) -> Iterator[Span]:
    """Yield the spans of a text's blocks, which blank lines divide; a heading is one, and code to the end of its fence.

    What a line right below them says would go unseen if it were one with them: they state nothing.
    """
    begin, at, fence, closed = -1, 0, "", False
    for line in text.split("\n"):
        end, blank = at + len(line), not line.strip()
        alone = not fence and bool(_HEADING.match(line))
        behind_code = closed and bool(_WORD.search(uncited(line)))
        if begin >= 0 and not fence and (blank or alone or behind_code):
            yield _trimmed(text, begin, at)
            begin = -1
        if alone:
            yield _trimmed(text, at, end)
        elif begin < 0 and not blank:
            begin = at
        was, fence = fence, _fenced(line, fence)
        closed = bool(was) and not fence
        at = end + 1
    if begin >= 0:
        yield _trimmed(text, begin, len(text))


def heading_level(block: str) -> int:
    """Return the level of a block that is a heading; 0 of any other."""
    found = _HEADING.match(block)
    return len(found["signs"]) if found else 0


def leads(block: str) -> bool:
    """Return whether a block only leads to what stands below it: by a colon, or in so many words and no figure."""
    if CITATION.search(block):
        return False
    if block.endswith((":", "：")):
        return True
    short = len(block) <= _LONGEST_LEAD and bool(_LEADS.fullmatch(block))
    return short and not re.search(r"\d", _NUMBERED_PLACE.sub("", block))


def _fenced(line: str, fence: str) -> str:
    """Return the mark of the block of code that is open behind a line; empty where none is."""
    said = line.strip()
    if fence:
        return "" if set(said) == {fence[0]} and len(said) >= len(fence) else fence
    found = _FENCE.match(line)
    return (found["ticks"] or found["waves"]) if found else ""


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _paragraph(name: str, section: str, text: str, span: Span, below: str, under: str) -> Paragraph:
    block = text[slice(*span)]
    ids = tuple(dict.fromkeys(cited(block)))
    led = bool(_BELOW.match(below))
    lead = leads(block) and (led or block.endswith((":", "：")))
    return Paragraph(
        id=name,
        section_id=section,
        text=block,
        start=span[0],
        cite_ids=ids,
        states=not _NO_PROSE.match(block) and not lead and (bool(ids) or not points(block)),
        ends_with_citation=_ends_cited(block, led, under) or _is_cited_below(block, below),
        under=under,
    )


def points(block: str) -> bool:
    """Return whether a block only sends the reader elsewhere: with a figure in it, it states something as well."""
    if len(block) > _LONGEST_POINTER or not _POINTS.fullmatch(block):
        return False
    return not re.search(r"\d", _NUMBERED_PLACE.sub("", block))


def _ends_cited(block: str, led: bool, under: str) -> bool:
    """Return whether it does; in a table the last row may go on behind its citation, which serves it whole.

    So may a block of which the rest only leads to what stands below, or states nothing.
    """
    end = max((found.end() for found in CITATION.finditer(block)), default=0)
    last = block.rfind("\n") + 1
    if not end or not _WORD.search(block, end) or (end > last and block.startswith("|", last)):
        return end > 0
    rest = block[end:].lstrip(" .。!！?？").rstrip()
    return (led and leads(rest)) or _states_nothing(rest, f"{under}\n{block[:end]}")


def _states_nothing(rest: str, before: str) -> bool:
    """Return whether what stands behind the last citation of a block is nothing that a passage could bear.

    It sends the reader elsewhere, says what the sources lack, or is marked as an inference: writers are asked for that.
    """
    if len(rest) > _LONGEST_REST:
        return False
    if _ASIDE.fullmatch(rest):
        return True
    said = (rest[start:end] for start, end in sentences(rest))
    return all(points(one) or remark(one, before) for one in said if _WORD.search(one))


def _is_cited_below(block: str, below: str) -> bool:
    """Return whether a table that cites nothing is cited by a paragraph right below, which says that it is of it."""
    return (
        block.startswith("|")
        and not CITATION.search(block)
        and bool(_OF_TABLE.match(below))
        and _ends_cited(below, led=False, under="")
    )
