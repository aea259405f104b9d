"""Place figures in the text: after the paragraph that mentions them, or that cites most of their passages.

A chart whose passages no paragraph cites goes to the end of its section. A picture whose passage the text no longer
cites is left out; one that a search found stands in its section where most words of its caption are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from leadline.citations import cited
from leadline.records import REPORT_PARTS, Figure, Section
from leadline_plugins.text import content_set

_BLOCKS = re.compile(r"\n\s*\n")
_MENTION = re.compile(r"(?:Figure|Fig\.|图|圖|図)\s*(\d+)")
_CODE_OR_FIGURE = re.compile(
    r"(?P<code>^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))"
    r"|[ \t]*!\[[^\[\]\n]*\]\(figure:(?P<id>[^)\s]*)[^)\n]*\)",
    re.DOTALL | re.MULTILINE,
)
_PROSE = re.compile(r"(?![|#>`~*+!-]|\d+[.)])\S")
# The indices of a section and of a block in it.
Place = tuple[int, int]


def place_figures(
    sections: tuple[Section, ...], figures: tuple[Figure, ...]
) -> tuple[tuple[Section, ...], tuple[Figure, ...]]:
    """Return the sections with their figures, and the figures in the order of the text.

    If the text mentions figures by number, they keep their order.
    """
    if not figures or not sections:
        return sections, figures
    blocks = [_BLOCKS.split((section.text or "").strip()) for section in sections]
    # The parts around the sections repeat these.
    inner = [at for at, section in enumerate(sections) if section.id not in REPORT_PARTS] or range(len(sections))
    texts = {(at, place): text for at in inner for place, text in enumerate(blocks[at])}
    homes = {
        figure.id: home
        for number, figure in enumerate(figures, start=1)
        if (home := _best_place(figure, number, texts, sections)) is not None
    }
    figures = tuple(figure for figure in figures if figure.id in homes)
    if not any(_MENTION.search(block) for section in blocks for block in section):
        figures = tuple(sorted(figures, key=lambda figure: homes[figure.id]))
    return tuple(
        _insert_figures(section, at, blocks[at], figures, homes) for at, section in enumerate(sections)
    ), figures


def without_unknown_figures(sections: tuple[Section, ...], figures: Iterable[Figure]) -> tuple[Section, ...]:
    """Return the sections without references to unknown figures; code stays unchanged."""
    known = {figure.id for figure in figures}

    def kept(match: re.Match[str]) -> str:
        return match[0] if match["code"] or match["id"] in known else ""

    texts = [_CODE_OR_FIGURE.sub(kept, section.text or "") for section in sections]
    return tuple(
        section if text == (section.text or "") else section.model_copy(update={"text": text.strip()})
        for section, text in zip(sections, texts, strict=True)
    )


def _best_place(figure: Figure, number: int, texts: Mapping[Place, str], sections: Sequence[Section]) -> Place | None:
    """Return the block before a figure; None for a picture that belongs to no block.

    Blocks are compared by the number of cited passages, then by section, then by words shared with the caption.
    """
    # A mentioned number is that of a chart: writers do not know about pictures.
    mentions = [place for place, text in texts.items() if str(number) in _MENTION.findall(text)]
    if mentions and not figure.credit:
        return mentions[0]
    shown = set(figure.evidence_ids)
    words = content_set(f"{figure.caption} {figure.alt}")

    def fit(place: Place) -> tuple[int, bool, int]:
        section = sections[place[0]]
        shared = words & content_set(f"{section.title} {texts[place]}")
        return len(shown.intersection(cited(texts[place]))), section.id == figure.section_id, len(shared)

    best = max(texts, key=fit)  # of equal blocks the first
    found_by_search = figure.credit and figure.section_id and fit(best)[1]
    if fit(best)[0] or found_by_search:
        below = (best[0], best[1] + 1)
        # Nothing separates a table from the paragraph that continues it.
        return below if texts[best].startswith("|") and _PROSE.match(texts.get(below, "")) else best
    return None if figure.credit else _section_end(figure, texts, sections)


def _section_end(figure: Figure, texts: Mapping[Place, str], sections: Sequence[Section]) -> Place:
    """Return the last block of the chart's section, else of the section with most of its passages, else of the last."""
    shown = set(figure.evidence_ids)
    ends = {at: (at, place) for at, place in texts}

    def fit(end: Place) -> tuple[bool, int, Place]:
        section = sections[end[0]]
        return section.id == figure.section_id, len(shown.intersection(section.evidence_ids)), end

    return max(ends.values(), key=fit)


def _insert_figures(
    section: Section, at: int, blocks: Sequence[str], figures: Sequence[Figure], homes: Mapping[str, Place]
) -> Section:
    parts = []
    for place, block in enumerate(blocks):
        parts += [block, *(f"![](figure:{figure.id})" for figure in figures if homes[figure.id] == (at, place))]
    return section.model_copy(update={"text": "\n\n".join(parts)}) if len(parts) > len(blocks) else section
