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
# The share of a long report that introduction, summary, insights and conclusions take.
FRAME = 0.13


class PlanSize(NamedTuple):
    """The sections and searches of a plan, least and most."""

    least: int
    most: int


# The sizes that a plan for a long report may have.
_FEWEST, _MOST = 8, 12


def is_long(settings: Settings) -> bool:
    """Return whether a report has the parts of a long one: introduction, main findings, insights, conclusions."""
    return settings.report.form != "standard"


def report_length(settings: Settings, language: str) -> int:
    """Return the length that is set, else that of the form."""
    return settings.report.length or LENGTHS[settings.report.form][is_cjk(language)]


def plan_size(settings: Settings, language: str) -> PlanSize | None:
    """Return the size of the plan of a long report: a section for about 900 words; None lets the model choose."""
    if not is_long(settings):
        return None
    wanted = round(report_length(settings, language) * (1 - FRAME) / _SECTION[is_cjk(language)])
    wanted = min(max(wanted, _FEWEST), _MOST)
    return PlanSize(max(_FEWEST, wanted - 1), min(_MOST, wanted + 1))
