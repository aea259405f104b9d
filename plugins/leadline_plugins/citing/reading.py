"""A report read: blocks, then entries, then the marks in the rest, then the statements they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from leadline_plugins.citing import marks, urls
from leadline_plugins.citing.blocks import Block, Flat, parse
from leadline_plugins.citing.entries import Covered, entries, lists
from leadline_plugins.citing.model import CitedReport, Claim, Entry, Mark
from leadline_plugins.text import content_words, sentences
from leadline_plugins.text.rows import cells

_SPACED = re.compile(r"\s+(?:\(\s*\)\s*)?([.,;:!?。，；：！？])")
_FEWEST = 4
"""Content words; a shorter stretch between two citations says too little without what stands before it."""


def read(markdown: str) -> CitedReport:
    """Return what a Markdown report cites, by whichever convention."""
    blocks, defined = parse(markdown)
    listed, covered = entries(blocks, lists(blocks), defined)
    if any(block.flat.escaped for block in blocks) and not _has_marks(blocks, covered):
        for block in blocks:  # a tool that has no others has escaped them all
            block.flat.escaped.clear()
        listed, covered = entries(blocks, lists(blocks), defined)
    found: list[Mark] = []
    claims: list[Claim] = []
    uncited = 0
    for place, block in enumerate(blocks):
        if block.kind == "code":
            continue
        spans = covered.get(place, [])
        own = sorted((mark for mark in _marks(block.flat, listed) if _counts(mark, spans)), key=lambda mark: mark.start)
        found += own
        if block.kind != "heading" and not spans:
            said = list(_claims(block, own, place))
            claims += said
            uncited += not said and block.kind == "text" and not block.item and _states(block.flat.text)
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


def _claims(block: Block, own: list[Mark], place: int) -> Iterator[Claim]:
    """Yield the statements of a block that carry a mark, each with all marks right behind it."""
    text, ends = _without(block.flat.text, own)
    row = block.kind == "row"
    spans = [(0, len(text))] if row else sentences(text)
    runs: list[tuple[int, list[Mark]]] = []
    for end, mark in ends:
        if runs and not re.search(r"\w", text[runs[-1][0] : end]):
            runs[-1][1].append(mark)
        else:
            runs.append((end, [mark]))
    before = 0
    for end, together in runs:
        keys = tuple(dict.fromkeys(key for mark in together for key in mark.keys))
        urls = tuple(dict.fromkeys(mark.url for mark in together if mark.url))
        last_of_row = row and end == runs[-1][0]
        said = _stretch(text, before, end, spans, whole=last_of_row or not together[-1].silent)
        said = _row(said, block.row if text.lstrip(" |").startswith(said) else 0) if row else said
        if re.search(r"\w", said):
            yield Claim(_SPACED.sub(r"\1", " ".join(said.split())), keys, urls, place)
        before = end


def _row(said: str, number: int) -> str:
    """Return what a row says, or a part of it, without its bars and its number."""
    return "; ".join(cells(said, number))


def _stretch(text: str, before: int, end: int, spans: list[tuple[int, int]], *, whole: bool) -> str:
    """Return what a run of marks at `end` is cited for: the sentence so far, or what follows the last marks.

    `whole`: the mark is a word of the sentence, which goes on behind it.
    """
    start, stop = next(((a, b) for a, b in reversed(spans) if a < end), (0, len(text)))
    if start < before < end and len(content_words(text[before:end])) >= _FEWEST:
        start = before
    return text[start : max(end, stop) if whole or not re.search(r"\w", text[end:stop]) else end].strip(" ,;，；、")


def _without(text: str, own: list[Mark]) -> tuple[str, list[tuple[int, Mark]]]:
    """Return the text without its silent marks, and where each mark ends in it."""
    kept: list[str] = []
    at = length = 0
    ends: list[tuple[int, Mark]] = []
    for mark in sorted(own, key=lambda mark: (mark.start, -mark.end)):
        start = max(at, mark.start if mark.silent else mark.end)
        kept.append(text[at:start])
        length += start - at
        at = max(at, mark.end)
        ends.append((length, mark))
    kept.append(text[at:])
    return "".join(kept), ends


def _states(text: str) -> bool:
    return bool(re.search(r"\w", text)) and not text.rstrip().endswith((":", "："))
