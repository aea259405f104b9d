"""The wanted length of a report, and the size of the plan that follows from it.

Lengths are in words; of Chinese and Japanese in characters.
"""

from __future__ import annotations

from typing import NamedTuple

from leadline.settings import Settings
from leadline_plugins.text import is_cjk

# Words and CJK characters of a report whose length is not set, by `report.form`.
# Of a long report they are in the upper half of what is wanted, because repetitions are removed from it.
LENGTHS = {"standard": (3_300, 6_600), "long": (10_500, 34_500), "academic": (10_500, 34_500)}
# Of a section in a long report.
_SECTION = (900, 2_800)
# The most words and characters of a section in a standard report without a set length: a short plan, a short report.
_STANDARD_SECTION = (660, 1_320)
# Up to this length one call writes the report: it knows what it has said, and costs less than sections side by side.
_ONE_CALL = (2_000, 4_000)
# The share of a long report that the parts around its sections take.
FRAME = 0.13
# Words and characters of the parts around sections, in the order of writing; in a long report other ones.
_PARTS = {"summary": (110, 220), "analysis": (250, 500), "conclusion": (150, 300)}
_LONG_PARTS = {
    "summary": (300, 800),
    "introduction": (250, 700),
    "insights": (200, 500),
    "analysis": (250, 700),
    "conclusion": (350, 1_000),
    "keywords": (8, 24),
}


class PlanSize(NamedTuple):
    """The sections and searches of a plan, at least and at most."""

    minimum: int
    maximum: int


# The sizes that a plan for a long report may have.
_FEWEST, _MOST = 8, 12


def is_long(settings: Settings) -> bool:
    """Return whether a report has the parts of a long one: introduction, main findings, insights, conclusions."""
    return settings.report.form != "standard"


def report_length(settings: Settings, language: str) -> int:
    """Return the length that is set, else that of the form."""
    return settings.report.length or LENGTHS[settings.report.form][is_cjk(language)]


def section_length(settings: Settings, language: str, sections: int) -> int:
    """Return the length of each of so many sections."""
    if is_long(settings):
        return round(report_length(settings, language) * (1 - FRAME) / sections)
    whole = report_length(settings, language) / sections
    return round(whole if settings.report.length else min(whole, _STANDARD_SECTION[is_cjk(language)]))


def report_parts(settings: Settings) -> tuple[str, ...]:
    """Return the ids of the parts around the sections that a report has."""
    report = settings.report
    wanted = {"analysis": report.analysis, "keywords": report.form == "academic"}
    return tuple(part for part in (_LONG_PARTS if is_long(settings) else _PARTS) if wanted.get(part, True))


def part_length(part: str, language: str, *, long: bool = False) -> int:
    """Return the length of a part around the sections; 0 for a section."""
    return (_LONG_PARTS if long else _PARTS).get(part, (0, 0))[is_cjk(language)]


def in_one_call(settings: Settings, language: str, sections: int) -> bool:
    """Return whether one call writes all sections and the parts around them."""
    length = sections * section_length(settings, language, sections)
    return sections == 1 or (not is_long(settings) and length <= _ONE_CALL[is_cjk(language)])


def plan_size(settings: Settings, language: str) -> PlanSize | None:
    """Return the size of the plan of a long report: a section for about 900 words; None lets the model choose."""
    if not is_long(settings):
        return None
    wanted = round(report_length(settings, language) * (1 - FRAME) / _SECTION[is_cjk(language)])
    wanted = min(max(wanted, _FEWEST), _MOST)
    return PlanSize(max(_FEWEST, wanted - 1), min(_MOST, wanted + 1))
