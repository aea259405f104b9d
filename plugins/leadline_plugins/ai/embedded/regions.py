"""Regions: the stretches of a large text that are worth cutting into sentences, and the pieces they are cut into.

Finding words is a hundred times cheaper than cutting sentences, so a document of a megabyte is looked through first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest

from leadline_plugins.ai.embedded.quotable import LONGEST, row
from leadline_plugins.text import sentences
from leadline_plugins.text.sentences import Span

_SMALL = 60_000
"""Characters that are read whole."""
_STRETCH = 3_000
_BEST = 16
"""Stretches read of a large text."""
_WHOLE = 160
"""Characters up to which a sentence stands whole that semicolons part: what each part speaks of, and of which year,
stands in the first of them alone."""
_PARTED = "；"
_CELL = re.compile(r"(?:(?!<br\s*/?>)(?:\\\||[^|]))+", re.IGNORECASE)
"""What stands between two bars of a table, or the breaks of line in it."""


def regions(text: str, weight: Mapping[str, float], snippet: str = "") -> list[Span]:
    """Return the spans to read, in order: the whole of a small text; of a large one where the terms stand thickest."""
    if len(text) <= _SMALL:
        return [(0, len(text))]
    stretches = _stretches(text)
    pattern = re.compile("|".join(re.escape(term.rstrip("i")) for term in weight if term) or r"(?!)", re.IGNORECASE)
    scores = {span: _score(pattern.findall(text, *span), weight) for span in stretches}
    best = nlargest(_BEST, stretches, key=lambda span: (scores[span], -span[0]))
    found = text.find(snippet) if snippet else -1
    return sorted({*best, *(span for span in stretches if found >= 0 and span[0] <= found < span[1])})


def _score(hits: Iterable[str], weight: Mapping[str, float]) -> float:
    return sum(
        max((w for term, w in weight.items() if term.startswith(hit)), default=0.0) for hit in {h.lower() for h in hits}
    )


def _stretches(text: str) -> list[Span]:
    """Cut at paragraphs, or at lines, or blindly where there are none."""
    found: list[Span] = []
    start = 0
    while start < len(text):
        end = min(len(text), start + _STRETCH)
        if end < len(text):
            cut = max(text.rfind("\n\n", start + 1, end), -1)
            cut = cut if cut > start else text.rfind("\n", start + 1, end)
            end = cut if cut > start else end
        found.append((start, end))
        start = end
    return found


def pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield what can be quoted of a stretch: its sentences; of a row that is too long, those of its cells."""
    spans = [(start + a, start + b) for a, b in sentences(text[start:end])]
    for a, b in _whole(text, spans) if text.find(_PARTED, start, end) >= 0 else spans:
        if b - a > LONGEST and row(text[a:b]):
            for cell in _CELL.finditer(text, a, b):
                yield from ((cell.start() + c, cell.start() + d) for c, d in sentences(cell.group()))
        else:
            yield a, b


def _whole(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Join what semicolons part within a line, where it is a sentence of usual length."""
    group: list[Span] = []
    for span in spans:
        if group and (text[group[-1][1] - 1] != _PARTED or "\n" in text[group[-1][1] : span[0]]):
            yield from _joined(group)
            group = []
        group.append(span)
    yield from _joined(group)


def _joined(group: list[Span]) -> list[Span]:
    whole = [(group[0][0], group[-1][1])] if group else []
    return whole if whole and whole[0][1] - whole[0][0] <= _WHOLE else group
