"""The paragraphs of a report, as verification sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue

from leadline.citations import CITATION, cited, uncited
from leadline.records import Report

_NO_PROSE = re.compile(
    r"#{1,6}\s|!\[[^\]]*\]\([^)]*\)\s*$|[-*_]{3,}\s*$|```|~~~|\$\$"
    r"|(?:\*\*|__)?(?:Figure|Table|图|圖|表|図)\s*\d+\s*(?:[:.：。–—-]|\*\*|__|$)"
)
"""How a block begins that states nothing of its own: headings, images, rules, code, formulas, captions."""
_PLACE = (
    r"(?:\b(?:sections?|chapters?|parts?|figures?|tables?|above|below|abschnitt|kapitel|abbildung|tabelle)\b"
    r"|[章节節图圖表図]|上文|下文)"
)
_WORD = re.compile(r"\w")
_POINTS = re.compile(
    rf"\W*(?:(?:see|compare|cf|more on (?:this|that)|siehe|vgl|voir|véase)\b\.?|参见|參見|详见|詳見|参照)"
    rf"[^.!?。！？]*{_PLACE}[^.!?。！？]*[.!?。！？]?\W*",
    re.IGNORECASE,
)
"""A sentence that only sends the reader to another place of the report."""


@dataclass(frozen=True)
class Paragraph:
    """One block of a section's text. `states` is whether it is prose that must end with a citation."""

    id: str
    section_id: str
    text: str
    cite_ids: tuple[str, ...]
    states: bool
    ends_with_citation: bool

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
    found = []
    for section in report.sections:
        blocks = [block.strip() for block in re.split(r"\n\s*\n", section.text or "") if block.strip()]
        for place, block in enumerate(blocks, start=1):
            found.append(_paragraph(f"{section.id}.{place}", section.id, block))
    return found


def _paragraph(name: str, section: str, block: str) -> Paragraph:
    ids = tuple(dict.fromkeys(cited(block)))
    leads = not ids and (block.endswith((":", "：")) or bool(_POINTS.fullmatch(block)))
    prose = not _NO_PROSE.match(block) and not leads
    return Paragraph(
        id=name,
        section_id=section,
        text=block,
        cite_ids=ids,
        states=prose,
        ends_with_citation=_ends_cited(block),
    )


def _ends_cited(block: str) -> bool:
    end = max((found.end() for found in CITATION.finditer(block)), default=0)
    return end > 0 and not _WORD.search(block, end)
