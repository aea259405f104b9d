"""Where figures stand in the text: behind the paragraph that first mentions one, or first cites what it shows.

A chart whose passages no paragraph cites stands at the end of the section that they were found for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from leadline.citations import cited
from leadline.records import Figure, Section
from leadline_plugins.synthesizers.draft import runs
from leadline_plugins.text import content_set

_BLOCKS = re.compile(r"\n\s*\n")
_MENTION = re.compile(r"(?:Figure|Fig\.|图|圖|図)\s*(\d+)")
_SHOWN = r"(?<![ \t])[ \t]*+!\[[^\[\]]{0,1000}\]\(figure:(?P<figure>[^)\s]*)[^)\n]{0,1000}\)"
_SPAN = r"(?<!`)(?P<ticks>`++)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)(?P=ticks)(?!`)"
_CODE_OR_SHOWN = re.compile(rf"{_SPAN}|{_SHOWN}", re.DOTALL)
_TABLE = re.compile(r"\|")
_PROSE = re.compile(r"(?![|#>`~*+!-]|\d+[.)])\S")
_AROUND = ("summary", "analysis", "conclusion")
"""Sections that say again what the others say: figures stand in the others."""
Place = tuple[int, int]
"""The place of a section and of a block in it, both from 0."""


def placed(
    sections: tuple[Section, ...], figures: tuple[Figure, ...]
) -> tuple[tuple[Section, ...], tuple[Figure, ...]]:
    """Return the sections with their figures, and the figures in the order in which they stand.

    Where the text mentions figures by number, the order stays as it is: numbers are places in it. A picture of a page
    illustrates the passage it was chosen for; where the text no longer cites that, the picture goes.
    """
    if not figures or not sections:
        return sections, figures
    blocks = [_BLOCKS.split((section.text or "").strip()) for section in sections]
    inner = [at for at, section in enumerate(sections) if section.id not in _AROUND] or range(len(sections))
    places = [(at, place) for at in inner for place in range(len(blocks[at]))]
    found = {
        figure.id: _home(figure, number, places, blocks, sections) or _end(figure, sections, places)
        for number, figure in enumerate(figures, start=1)
    }
    homes = {name: home for name, home in found.items() if home is not None}
    figures = tuple(figure for figure in figures if figure.id in homes)
    if not any(_MENTION.search(block) for section in blocks for block in section):
        figures = tuple(sorted(figures, key=lambda figure: homes[figure.id]))
    shown = {place: [figure for figure in figures if homes[figure.id] == place] for place in set(homes.values())}
    return tuple(_with(section, at, blocks[at], shown) for at, section in enumerate(sections)), figures


def without_strange(sections: tuple[Section, ...], figures: Iterable[Figure]) -> tuple[Section, ...]:
    """Return the sections without figures that the report does not have."""
    known = {figure.id for figure in figures}
    return tuple(_without_strange(section, known) for section in sections)


def _without_strange(section: Section, known: set[str]) -> Section:
    """Return a section without them; code may speak of a figure, and stays to the letter."""
    before = section.text or ""
    made = [run if is_code else _shown(run, known) for is_code, run in runs(before)]
    text = "\n".join(made)
    return section if text == before else section.model_copy(update={"text": text.strip()})


def _shown(text: str, known: set[str]) -> str:
    made = _CODE_OR_SHOWN.sub(lambda match: match[0] if match["ticks"] or match["figure"] in known else "", text)
    return text if made == text else re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", made)


def _home(
    figure: Figure, number: int, places: Sequence[Place], blocks: Sequence[Sequence[str]], sections: Sequence[Section]
) -> Place | None:
    """Return the paragraph that a figure stands behind; None where none has to do with it.

    Of those that cite as much of what it shows, that which says most of its words, with the title over it: a passage
    may tell of two things. A table and the paragraph that goes on from it are not parted.
    """
    texts = {place: blocks[place[0]][place[1]] for place in places}
    # The text knows of charts at most: another number in it is that of a figure in what it quotes.
    mentions = (place for place in places if str(number) in _MENTION.findall(texts[place]) and not figure.credit)
    if mentioning := next(mentions, None):
        return mentioning
    own = set(figure.evidence_ids)
    cites = {place: len(own.intersection(cited(texts[place]))) for place in places}
    most = max(cites.values(), default=0)
    fits = [place for place in places if most and cites[place] == most]
    if len(fits) > 1:
        words = content_set(f"{figure.caption} {figure.alt}")
        said = {place: content_set(f"{sections[place[0]].title} {texts[place]}") for place in fits}
        fits.sort(key=lambda place: -len(words & said[place]))  # of equals the first
    return _below_table(fits[0], texts) if fits else None


def _below_table(place: Place, texts: Mapping[Place, str]) -> Place:
    """Return the paragraph behind a table, where there is one, in place of the table."""
    below = (place[0], place[1] + 1)
    return below if _TABLE.match(texts[place]) and _PROSE.match(texts.get(below, "")) else place


def _end(figure: Figure, sections: Sequence[Section], places: Sequence[Place]) -> Place | None:
    """Return the last paragraph of the section that has most of what a chart shows, else of the last one."""
    if figure.credit:
        return None
    own = set(figure.evidence_ids)
    ends = {at: (at, place) for at, place in places}
    return max(ends.values(), key=lambda end: (len(own.intersection(sections[end[0]].evidence_ids)), end))


def _with(section: Section, at: int, blocks: Iterable[str], shown: dict[Place, list[Figure]]) -> Section:
    if not any(place == at for place, _ in shown):
        return section
    parts = []
    for place, block in enumerate(blocks):
        parts += [block, *(f"![](figure:{figure.id})" for figure in shown.get((at, place), ()))]
    return section.model_copy(update={"text": "\n\n".join(parts)})
