"""A report read: blocks, then entries, then the marks in the rest, then the statements they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from leadline_plugins.citing import marks, urls
from leadline_plugins.citing.blocks import Block, Flat, parse, within
from leadline_plugins.citing.entries import Covered, entries, lists
from leadline_plugins.citing.model import CitedReport, Claim, Entry, Mark
from leadline_plugins.citing.own import of_itself
from leadline_plugins.stages.paragraphs import CAPTION, leads
from leadline_plugins.stages.remarks import remark
from leadline_plugins.text import content_words, sentences
from leadline_plugins.text.headings import BETWEEN
from leadline_plugins.text.rows import SAYS, Row, counted
from leadline_plugins.text.sentences import Span

_SPACED = re.compile(r"\s+(?:\(\s*\)\s*)?([.,;:!?。，；：！？])")
_ENDS = " ,;，；、"
"""What parts a statement from others, at its ends."""
_FEWEST = 4
"""Content words; a shorter stretch between two citations says too little without what stands before it.

In a row the first cell says that.
"""


def read(markdown: str) -> CitedReport:
    """Return what a Markdown report cites, by whichever convention."""
    blocks, defined = parse(marks.unmarked(markdown))
    listed, covered = entries(blocks, lists(blocks), defined)
    if any(block.flat.escaped for block in blocks) and not _has_marks(blocks, covered):
        for block in blocks:  # a tool that has no others has escaped them all
            block.flat.escaped.clear()
        listed, covered = entries(blocks, lists(blocks), defined)
    found: list[Mark] = []
    claims: list[Claim] = []
    uncited = 0
    over: list[tuple[int, Block]] = []
    aside = of_itself(blocks)
    for place, block in enumerate(blocks):
        if block.kind == "code":
            continue
        if block.kind == "heading":
            over = [*(one for one in over if one[1].level < block.level), (place, block)]
        spans = covered.get(place, [])
        own = sorted((mark for mark in _marks(block.flat, listed) if _counts(mark, spans)), key=lambda mark: mark.start)
        found += own
        if block.kind != "heading" and not spans and not CAPTION.match(block.flat.text):
            under = BETWEEN.join(one.flat.text.strip() for _, one in over if one.level > 1)
            claims += _claims(block, own, place, under)
            uncited += not own and _states(block) and aside.isdisjoint(at for at, _ in over)
    return CitedReport(
        title=next((block.flat.text.strip() for block in blocks if block.kind == "heading"), ""),
        entries=listed,
        marks=tuple(found),
        claims=tuple(claims),
        urls=tuple(dict.fromkeys([*_urls(blocks), *defined.values()])),
        uncited=uncited,
    )


def _has_marks(blocks: list[Block], covered: Covered) -> bool:
    """Return whether the text points at sources by number."""
    prose = ((place, block) for place, block in enumerate(blocks) if block.kind != "code")
    return any(_counts(mark, covered.get(place, [])) for place, block in prose for mark in marks.numbered(block.flat))


def _counts(mark: Mark, spans: list[tuple[int, int, bool]]) -> bool:
    """Return whether a mark is in the text, or at least a number within an entry that bears none itself."""
    inside = [bracketed for start, end, bracketed in spans if start <= mark.start < end]
    return not any(inside) and (not inside or bool(mark.keys))


def _urls(blocks: list[Block]) -> Iterator[str]:
    for block in blocks:
        found = sorted([*block.flat.links, *block.flat.bare()])
        yield from (url for _, _, url in found if url.lower().startswith(("http://", "https://")))


def _marks(flat: Flat, listed: Mapping[str, Entry]) -> Iterator[Mark]:
    yield from marks.numbered(flat)
    yield from marks.linked(flat)
    for mark, names in marks.authored(flat):
        keys = tuple(key for name, year in names for key in [_authored(listed, name, year)] if key)
        if keys:
            yield Mark(mark.text, mark.start, mark.end, keys, silent=mark.silent)


def _authored(listed: Mapping[str, Entry], name: str, year: str) -> str:
    """Return the key of the entry that begins with this author, or lies at this site, and gives this year; or none."""
    first = re.split(r"\s+et al|\s+(?:and|&)\s|,", name.strip())[0].casefold()
    fits = (key for key, entry in listed.items() if year in entry.text and _by(entry, first))
    return next(fits, "") if len(first) > 1 else ""


def _by(entry: Entry, name: str) -> bool:
    site = name.removeprefix("www.")
    return entry.text.casefold().startswith(name) or any(urls.host(url) == site for url in entry.urls)


# --- statements ------------------------------------------------------------------------------------------------------


def _claims(block: Block, own: list[Mark], place: int, under: str) -> Iterator[Claim]:
    """Yield the statements of a block that carry a mark, each with all marks right behind it.

    What is said with less than a statement since the last marks has those too. Remarks and what only leads to what
    follows state nothing.
    """
    text, ends = _without(block.flat.text, own)
    spans = [(0, len(text))] if block.row else sentences(text)
    runs: list[tuple[int, list[Mark]]] = []
    for end, mark in ends:
        if runs and not re.search(r"\w", text[runs[-1][0] : end]):
            runs[-1][1].append(mark)
        else:
            runs.append((end, [mark]))
    before = 0
    for number, (end, together) in enumerate(runs):
        last_of_row = bool(block.row) and end == runs[-1][0]
        fewest = 1 if block.row else _FEWEST
        span = _stretch(text, before, end, spans, fewest=fewest, whole=last_of_row or not together[-1].silent)
        cited = [mark for stop, marks in runs[:number] if span[0] < stop for mark in marks] + together
        before = end
        if not re.search(r"\w", text[slice(*span)]):
            continue
        keys = tuple(dict.fromkeys(key for mark in cited for key in mark.keys))
        urls = tuple(dict.fromkeys(mark.url for mark in cited if mark.url))
        if block.row:
            row = _row(block, own, text, span)
            yield Claim("; ".join(row.cells), keys, urls, place, row.shown(), "; ".join(row.first), under)
        elif made := _said(text, span, spans, under):
            said, sentence_before, whole = made
            yield Claim(said, keys, urls, place, under=under, before=sentence_before, whole=whole)


def _said(text: str, span: Span, spans: Sequence[Span], under: str) -> tuple[str, str, str] | None:
    """Return what stands in a span, the sentence before it, and that of which it is a part; None for a remark."""
    at = max((number for number, one in enumerate(spans) if one[0] <= span[0]), default=0)
    first, last = spans[at]
    said, whole = _line(text[slice(*span)]), _line(text[first:last])
    around = f"{under}\n{text[:first]}\n{text[last:]}"
    if leads(said) or remark(whole, around) or (said != whole and remark(said, around)):
        return None
    return said, _line(text[slice(*spans[at - 1])]) if at else "", whole if len(whole) > len(said) + 2 else ""


def _line(text: str) -> str:
    return _SPACED.sub(r"\1", " ".join(text.split()))


def _row(block: Block, own: list[Mark], text: str, span: Span) -> Row:
    """Return what a row says, or a part of it, without its bars and its number."""
    places = [tuple(_moved(at, own) for at in cell) for cell in block.cells]
    whole = [(at, said) for at, (a, b) in enumerate(places) if SAYS.search(said := _line(text[a:b]))]
    counts = counted([said for _, said in whole], block.row)
    parts = ((at, text[max(a, span[0]) : min(b, span[1])]) for at, (a, b) in enumerate(places))
    cells = [(at, _line(said).strip(_ENDS)) for at, said in parts if SAYS.search(said)]
    if counts and len(cells) > 1 and cells[0] == whole[0]:
        cells = cells[1:]
    first = whole[counts : counts + 1]
    heads = (block.heads[at] if (at, said) not in first and at < len(block.heads) else "" for at, said in cells)
    return Row(
        cells=tuple(said for _, said in cells),
        heads=tuple(heads),
        first=tuple(said for at, said in first if cells and at < cells[0][0]),
    )


def _stretch(text: str, before: int, end: int, spans: Sequence[Span], *, fewest: int, whole: bool) -> Span:
    """Return what a run of marks at `end` is cited for: the sentence so far, or what follows the last marks.

    That has the `fewest` words of content by which it says anything alone. `whole`: the mark is a word of the sentence,
    which goes on behind it.
    """
    start, stop = next(((a, b) for a, b in reversed(spans) if a < end), (0, len(text)))
    if start < before < end and len(content_words(text[before:end])) >= fewest:
        start = before
    stop = max(end, stop) if whole or not re.search(r"\w", text[end:stop]) else end
    said = text[start:stop]
    return start + len(said) - len(said.lstrip(_ENDS)), start + len(said.rstrip(_ENDS))


def _without(text: str, own: list[Mark]) -> tuple[str, list[tuple[int, Mark]]]:
    """Return the text without its silent marks, and where each mark ends in it."""
    kept: list[str] = []
    at = length = 0
    ends: list[tuple[int, Mark]] = []
    for mark in _in_order(own):
        start = max(at, mark.start if mark.silent else mark.end)
        kept.append(text[at:start])
        length += start - at
        at = max(at, mark.end)
        ends.append((length, mark))
    kept.append(text[at:])
    return "".join(kept), ends


def _moved(place: int, own: list[Mark]) -> int:
    """Return where a place of a text is without the silent marks."""
    at = left = 0
    for mark in _in_order(own):
        start = max(at, mark.start if mark.silent else mark.end)
        left += max(0, min(mark.end, place) - start)
        at = max(at, mark.end)
    return place - left


def _in_order(own: list[Mark]) -> list[Mark]:
    return sorted(own, key=lambda mark: (mark.start, -mark.end))


def _states(block: Block) -> bool:
    """Return whether a block is a paragraph that says something: not by its pictures alone, nor of what follows it."""
    flat = block.flat
    letters = (match.start() for match in re.finditer(r"\w", flat.text))
    said = any(not within(at, flat.images) for at in letters)
    return said and block.kind == "text" and not block.item and not flat.text.rstrip().endswith((":", "："))
