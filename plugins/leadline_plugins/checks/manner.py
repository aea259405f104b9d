"""How a figure is said: as reached or only as a bound, in percent or in percentage points.

The number is the same in both, so that no comparison of numbers sees it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from leadline_plugins.checks.derived import POINTS
from leadline_plugins.checks.figure import Figure
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.marks import marked
from leadline_plugins.text.tokens import fold

_REACHED = re.compile(
    r"(?:\b(?:reach(?:ed|es|ing)?|hits?|attain(?:ed|s)|amount(?:ed|s|ing)\s+to|total(?:l?ed|s)|erreichte[nt]?)"
    r"|达到?|達到?|突破)(?:了|\s(?:a|an|the|exactly|eine?n?))?[\s$€£¥]*$"
)
_CAME_TO = re.compile(
    r"(?:\b(?:was|were|is|are|stood\s+at|came\s+to|(?:rose|climbed|grew|increased|fell|dropped|declined)\s+to|betr(?:ug|ägt)"
    r"|lag\s+bei|liegt\s+bei|stieg(?:en)?\s+auf|sank(?:en)?\s+auf)|[升降增涨漲跌减減]至|[為为])[\s$€£¥]*$"
)
_REACHED_BEHIND = re.compile(r"に(?:達|上|のぼ)")
_CAME_TO_BEHIND = re.compile(r"(?:だった|でした|となっ|になっ|である)")
_LIMIT = re.compile(
    r"\b(?:cap(?:s|ped)?|limit\w*|ceiling|maxim\w+|max|thresholds?|targets?|at\s+most|höchst\w*|grenze\w*|obergrenze)\b"
    r"|上限|最高|最多|红线|紅線|[限阈閾]|目标|目標",
    re.IGNORECASE,
)
"""What tells that a figure is a bound, in whichever words."""
_BEFORE = 30
"""Characters before a figure in which stands how it is said."""


def only_bounded(claim: str, text: str) -> tuple[Figure, Figure] | None:
    """Return a figure that a claim tells as reached, and the bound that it is wherever the text has it."""
    if _LIMIT.search(claim):
        return None
    folded = fold(marked(claim))
    for figure in figures(claim):
        before, end = folded[max(0, figure.at - _BEFORE) : figure.at], figure.at + len(figure.said)
        reached = _REACHED.search(before) or _REACHED_BEHIND.match(folded, end)
        if figure.bound or not (reached or _CAME_TO.search(before) or _CAME_TO_BEHIND.match(folded, end)):
            continue
        found = _places(figure, text)
        # What came to nearly 100 may be told as 100; that it reached them is another thing.
        bounds = ("most", "ceiling", "near") if reached else ("most", "ceiling")
        if found and all(one.bound in bounds for one in found):
            return figure, found[0]
    return None


def only_points(claim: str, text: str) -> Figure | None:
    """Return a figure that a claim tells in percent and the text in percentage points, wherever it has it."""
    said, told = fold(marked(claim)), fold(marked(text))
    for figure in figures(claim) if POINTS.search(told) else ():
        if figure.unit == "%" and not _in_points(figure, said):
            found = _places(figure, text)
            if found and all(_in_points(one, told) for one in found):
                return figure
    return None


def _in_points(figure: Figure, text: str) -> bool:
    return bool(POINTS.match(text, figure.at + len(figure.said)))


def _places(figure: Figure, text: str) -> Sequence[Figure]:
    """Return the figures of a text with the very value of one, of its unit or none."""
    if figure.month or figure.dated or figure.ordinal or not any(map(str.isdecimal, figure.said)):
        return ()
    found = (one for one in figures(text) if not (one.month or one.ordinal or one.reference))
    return [one for one in found if one.value == figure.value and one.unit in ("", figure.unit)]
