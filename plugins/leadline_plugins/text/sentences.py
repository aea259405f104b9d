"""Sentences as spans: what can be quoted whole.

Lines come first: list items, table rows, headings and fenced code stand for themselves, and a line break inside prose
counts only where the author chose it. Within a paragraph, terminators end a sentence unless an abbreviation, an initial
or an open bracket says otherwise.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from leadline_plugins.text.abbreviations import abbreviated

Span = tuple[int, int]


_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
_OWN_LINE = re.compile(r"\s*(?:[-*+•‣▪◦·–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|#{1,6}\s|>|\||\+[-=+]{3,}|\.\. )")
"""A line that starts a block of its own: list item, heading, quotation, table row, directive."""
_ROW = re.compile(r"\s*\||\s*#{1,6}\s|\s*\+[-=+]{3,}")
"""A line that is a block by itself: table row, heading, rule of a grid table."""
_BARRED = re.compile(r".*\S\s\|\s\S.*\|")
"""A table row without a bar in front. Looked for only where there is a bar: it goes through a line for each sign."""
_NUMBERED = re.compile(r"\s*\(?(?:\d{1,3}|[a-zA-Z])\.\s")
"""The number of a list item: its full stop ends nothing."""
_FENCE = re.compile(r"\s*(```|~~~)")
_LETTER = re.compile(r"[^\W_]")
_WIDEST_WRAP = 120
"""Lines longer than this, in characters, were not wrapped by an editor: their break is a paragraph's."""
_LOOSE = 0.75
"""Of the widest line; hand-wrapped text is ragged up to here."""
_OWN_ENDS = "।॥؟۔։።፧។៕။"
"""Full stops and question marks of Indic scripts, Arabic, Urdu, Armenian, Ethiopic, Khmer and Burmese."""
SURE = f"。！？；｡…{_OWN_ENDS}"
_END = re.compile(
    rf"[{SURE}.!?]"
    rf"(?:(?<=[{SURE}])[{SURE}]*[」』）】》”’»\"'）\]]*|(?<=[.!?])(?<![.!?]{{2}})[.!?]*+[\"'”’)\]»*_]*(?=\s))"
)
"""It begins with one class of signs, which is looked for four times as fast as two ways to begin.

Of a run of full stops the first one alone, and all of it: else a run that ends nothing is gone through from each.
"""
_SURE_END = frozenset(SURE)
"""What ends a sentence whatever follows."""
_THAI = re.compile("[\u0e01-\u0e30\u0e81-\u0eb0]")
_THAI_SPACE = re.compile("(?<=[\u0e01-\u0e4e\u0e81-\u0ecd])[ \u00a0\n]+(?=[\u0e01-\u0e44\u0e81-\u0ec4])")
_LONG, _STRETCH = 150, 60
"""Characters from which a text without full stops is cut, and that each part of it has at least."""
_OPEN, _CLOSE = "「『（【《“(", "」』）】》”)"
_LONGEST_BRACKET = 200
"""Characters; a bracket not closed within them is taken for a stray one."""


def sentences(text: str) -> list[Span]:
    """Return the spans of the sentences, in order, without overlap and without surrounding space.

    List items, table rows, headings and blocks of fenced code count as sentences. Linear in the length of the text.
    """
    return [span for block in _blocks(text) for span in _split(text, block)]


# --- blocks --------------------------------------------------------------------------------------------------------


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start, end and whether the block is prose."""
    fence: int | None = None
    group: list[Span] = []
    for line in _lines(text):
        marked = line is not None and _FENCE.match(text, *line)
        if fence is not None:
            if marked and line:
                yield fence, line[1], False
                fence = None
        elif marked and line:
            yield from _paragraphs(text, group)
            group, fence = [], line[0]
        elif line is None:
            yield from _paragraphs(text, group)
            group = []
        else:
            group.append(line)
    yield from _paragraphs(text, group)
    if fence is not None:
        yield from _paragraphs(text, [span for span in _lines(text, fence) if span])


def _lines(text: str, start: int = 0) -> Iterator[Span | None]:
    """Yield the lines that hold something; None for a blank one."""
    end = start
    for found in _LINE.finditer(text, start):
        blank = found.group().isspace()
        if blank or text.count("\n", end, found.start()) > 1:
            yield None
        if not blank:
            yield found.span()
        end = found.end()


def _paragraphs(text: str, lines: list[Span]) -> Iterator[tuple[int, int, bool]]:
    """Join wrapped lines, and keep apart those that stand for themselves."""
    if not lines:
        return
    width = max((end - start for start, end in lines if end - start <= _WIDEST_WRAP), default=0)
    start, last = lines[0][0], lines[0]
    for line in lines[1:]:
        if _broken(text, last, line, width):
            yield start, last[1], not _is_row(text, last)
            start = line[0]
        last = line
    yield start, last[1], not _is_row(text, last)


def _is_row(text: str, line: Span) -> bool:
    return bool(_ROW.match(text, *line)) or _barred(text, line)


def _barred(text: str, line: Span) -> bool:
    return text.find("|", *line) >= 0 and bool(_BARRED.match(text, *line))


def _broken(text: str, last: Span, line: Span, width: int) -> bool:
    """Return whether the break between two lines was chosen, not made by wrapping."""
    if last[1] - last[0] > _WIDEST_WRAP or _OWN_LINE.match(text, *line) or _barred(text, line) or _is_row(text, last):
        return True
    if not (_LETTER.search(text, *line) and _LETTER.search(text, *last)):
        return True
    head = text[line[0] : line[1]].split(maxsplit=1)[0]
    if head[0].islower():
        return False
    return last[1] - last[0] + 1 + min(len(head), 20) < _LOOSE * width


# --- sentences of a block ----------------------------------------------------------------------------------------


def _split(text: str, block: tuple[int, int, bool]) -> Iterator[Span]:
    start, end, prose = block
    if prose:
        closed = _brackets(text, start, end)
        marker = _NUMBERED.match(text, start, end)
        for found in _END.finditer(text, marker.end() if marker else start, end):
            if found.end() > start and _ends(text, found, end) and not (closed and _inside(closed, _place(found))):
                yield from _trim(text, start, found.end())
                start = found.end()
    yield from _trim(text, start, end)


def _place(found: re.Match[str]) -> int:
    """Return where a terminator counts: a Latin sentence may be all in brackets, CJK speech goes on behind them."""
    return found.start() if found.group()[0] in _SURE_END else found.end() - 1


def _trim(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the span without surrounding space, unless it holds no letter; several of Thai, which has no full stop."""
    piece = text[start:end]
    if _LETTER.search(piece):
        left = len(piece) - len(piece.lstrip())
        span = start + left, start + len(piece.rstrip())
        if end - start > _LONG and not piece.isascii() and _THAI.search(piece):
            yield from _stretches(text, *span)
        else:
            yield span


def _stretches(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut Thai or Lao at spaces, which end sentences and clauses there; not beside figures and names in Latin."""
    for space in _THAI_SPACE.finditer(text, start, end):
        if space.start() - start >= _STRETCH and end - space.end() >= _STRETCH:
            yield start, space.start()
            start = space.end()
    yield start, end


def _ends(text: str, found: re.Match[str], end: int) -> bool:
    """Return whether a terminator ends its sentence."""
    if found.group()[0] in _SURE_END:
        return found.group()[0] != "…" or text[found.end() : found.end() + 1].isspace()
    rest = text[found.end() : min(end, found.end() + 40)].split(maxsplit=1)
    if not rest:
        return True
    following = rest[0].lstrip("\"'“‘([«*_`")
    if not following or following[0].islower():
        return False
    return found.group()[0] != "." or not abbreviated(text, found.start(), following, rest[1:])


def _brackets(text: str, start: int, end: int) -> deque[Span]:
    """Return the spans of the outermost closed brackets and quotation marks, in order."""
    found: deque[Span] = deque()
    stack: list[int] = []
    for at in _marks(text, start, end):
        kind = _OPEN.find(text[at])
        if kind >= 0:
            stack.append(at)
        elif stack and _OPEN[_CLOSE.index(text[at])] == text[stack[-1]]:
            opened = stack.pop()
            if at - opened <= _LONGEST_BRACKET:
                while found and found[-1][0] > opened:
                    found.pop()
                found.append((opened, at))
    return found


_MARK = re.compile(f"[{re.escape(_OPEN + _CLOSE)}]")


def _marks(text: str, start: int, end: int) -> Iterator[int]:
    return (found.start() for found in _MARK.finditer(text, start, end))


def _inside(closed: deque[Span], at: int) -> bool:
    """Return whether the position is in a closed bracket; drops what lies behind it."""
    while closed and closed[0][1] < at:
        closed.popleft()
    return bool(closed) and closed[0][0] < at < closed[0][1]
