"""Sentences as spans: units that can be quoted whole.

List items, table rows, headings and blocks of fenced code are sentences by themselves; a line break in prose counts
only if the author chose it. Within a paragraph, terminators end a sentence unless they belong to an abbreviation, an
initial or an ordinal, or are in brackets.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from leadline_plugins.text.word_lists import word_sets

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
# A line that begins a block: list item, heading, quotation, table row, directive.
_OWN_LINE = re.compile(r"\s*(?:[-*+•‣▪◦·–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|#{1,6}\s|>|\||\+[-=+]{3,}|\.\. )")
# A line that is a whole block: table row, heading, rule of a grid table.
_ROW = re.compile(r"\s*\||\s*#{1,6}\s|\s*\+[-=+]{3,}")
# A table row without a leading bar. The pattern is slow, so it is tried only on lines with a bar.
_BARRED = re.compile(r".*\S\s\|\s\S.*\|")
# The number of a list item, whose full stop ends no sentence.
_NUMBERED = re.compile(r"\s*\(?(?:\d{1,3}|[a-zA-Z])\.\s")
_FENCE = re.compile(r"\s*(```|~~~)")
_LETTER = re.compile(r"[^\W_]")
# A name of a program or setting, which begins a sentence in lower case: `x`, max_connections, pgBackRest.
_IDENTIFIER = re.compile(r"`|[(\"“*]*[a-z0-9]*(?:_\w|[a-z][A-Z])")
# Characters; longer lines were not wrapped by an editor, so their break ends a paragraph.
_WIDEST_WRAP = 120
# Share of the widest line that hand-wrapped lines reach.
_LOOSE = 0.75
# Full stops and question marks of Indic scripts, Arabic, Urdu, Armenian, Ethiopic, Khmer and Burmese.
_OWN_ENDS = "।॥؟۔։።፧។៕။"
FULL_STOPS = f"。！？；｡…{_OWN_ENDS}"
# One class of signs at the beginning is searched four times as fast as two alternatives. A run of full stops matches
# as a whole and only from its first one: otherwise a run that ends nothing would be searched from each.
_END = re.compile(
    rf"[{FULL_STOPS}.!?]"
    rf"(?:(?<=[{FULL_STOPS}])[{FULL_STOPS}]*[」』）】》”’»\"'）\]]*|(?<=[.!?])(?<![.!?]{{2}})[.!?]*+[\"'”’)\]»*_]*(?=\s))"
)
# Terminators that end a sentence whatever follows.
_SURE_END = frozenset(FULL_STOPS)
_THAI = re.compile("[\u0e01-\u0e30\u0e81-\u0eb0]")
_THAI_SPACE = re.compile("(?<=[\u0e01-\u0e4e\u0e81-\u0ecd])[ \u00a0\n]+(?=[\u0e01-\u0e44\u0e81-\u0ec4])")
# Characters from which a text without full stops is divided, and the least length of its parts.
_LONG, _STRETCH = 150, 60
_OPEN, _CLOSE = "「『（【《“(", "」』）】》”)"
# Characters within which a bracket must be closed.
_LONGEST_BRACKET = 200


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
    """Yield the lines; None for a blank line."""
    end = start
    for match in _LINE.finditer(text, start):
        blank = match.group().isspace()
        if blank or text.count("\n", end, match.start()) > 1:
            yield None
        if not blank:
            yield match.span()
        end = match.end()


def _paragraphs(text: str, lines: list[Span]) -> Iterator[tuple[int, int, bool]]:
    """Join wrapped lines, but not those that are whole blocks."""
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
    """Return whether the author chose the break between two lines; an editor wraps lines."""
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
        for match in _END.finditer(text, marker.end() if marker else start, end):
            if match.end() > start and _ends(text, match, end) and not (closed and _inside(closed, _place(match))):
                yield from _trim(text, start, match.end())
                start = match.end()
    yield from _trim(text, start, end)


def _place(match: re.Match[str]) -> int:
    """Return the position to compare with brackets, which CJK speech may end in and a Latin sentence may fill."""
    return match.start() if match.group()[0] in _SURE_END else match.end() - 1


def _trim(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the span without surrounding space if it has a letter; Thai, which has no full stop, in several spans."""
    piece = text[start:end]
    if _LETTER.search(piece):
        left = len(piece) - len(piece.lstrip())
        span = start + left, start + len(piece.rstrip())
        if end - start > _LONG and not piece.isascii() and _THAI.search(piece):
            yield from _stretches(text, *span)
        else:
            yield span


def _stretches(text: str, start: int, end: int) -> Iterator[Span]:
    """Divide Thai or Lao at spaces, which end clauses there, but not beside figures and Latin names."""
    for space in _THAI_SPACE.finditer(text, start, end):
        if space.start() - start >= _STRETCH and end - space.end() >= _STRETCH:
            yield start, space.start()
            start = space.end()
    yield start, end


def _ends(text: str, match: re.Match[str], end: int) -> bool:
    """Return whether a terminator ends its sentence."""
    if match.group()[0] in _SURE_END:
        return match.group()[0] != "…" or text[match.end() : match.end() + 1].isspace()
    rest = text[match.end() : min(end, match.end() + 40)].split(maxsplit=1)
    if not rest:
        return True
    following = rest[0].lstrip("\"'“‘([«*_`")
    if not following or (following[0].islower() and not _IDENTIFIER.match(rest[0])):
        return False
    return match.group()[0] != "." or not _is_abbreviation(text, match.start(), following, rest[1:])


def _brackets(text: str, start: int, end: int) -> deque[Span]:
    """Return the spans of the outermost closed brackets and quotation marks, in order."""
    brackets: deque[Span] = deque()
    stack: list[int] = []
    for at in _marks(text, start, end):
        kind = _OPEN.find(text[at])
        if kind >= 0:
            stack.append(at)
        elif stack and _OPEN[_CLOSE.index(text[at])] == text[stack[-1]]:
            opened = stack.pop()
            if at - opened <= _LONGEST_BRACKET:
                while brackets and brackets[-1][0] > opened:
                    brackets.pop()
                brackets.append((opened, at))
    return brackets


_MARK = re.compile(f"[{re.escape(_OPEN + _CLOSE)}]")


def _marks(text: str, start: int, end: int) -> Iterator[int]:
    return (match.start() for match in _MARK.finditer(text, start, end))


def _inside(closed: deque[Span], at: int) -> bool:
    """Return whether the position is in a closed bracket; drop the brackets before it."""
    while closed and closed[0][1] < at:
        closed.popleft()
    return bool(closed) and closed[0][0] < at < closed[0][1]


# --- abbreviations -----------------------------------------------------------------------------------------------

_DOTTED = re.compile(r"(?:\w\.)+\w")
_YEAR = re.compile(r"[12]\d{3}\b")
_ORDINAL = re.compile(r"\d{1,2}|[ivx]{1,5}")


def _is_abbreviation(text: str, dot: int, following: str, rest: Sequence[str]) -> bool:
    """Return whether a full stop belongs to an abbreviation, an initial or an ordinal and ends no sentence."""
    words = word_sets("abbreviations")
    head = text[max(0, dot - 20) : dot].split()
    word = _last_word(head[-1]) if head else ""
    if word in words["titles"]:
        return True
    if following[0].isdigit() and word in words["counting"]:
        return True
    opener = following.rstrip(",").casefold() in words["openers"]
    if _ORDINAL.fullmatch(word) and _is_ordinal(head, word, following, rest, words) and not opener:
        return True
    initial = (len(word) == 1 and word.isalpha()) or bool(_DOTTED.fullmatch(word))
    return (initial or word in words["endings"]) and not opener


def _last_word(word: str) -> str:
    """Return a word without opening brackets and quotes, articles and elisions: `(vgl`, `l'art`."""
    word = word.lstrip("(\"'“‘[").casefold()
    return word if word.isalnum() else re.split("['’]", word)[-1]


def _is_ordinal(
    head: Sequence[str], number: str, following: str, rest: Sequence[str], words: Mapping[str, frozenset[str]]
) -> bool:
    """Return whether a number with a full stop is an ordinal, by the noun after it or the word before it."""
    before = _last_word(head[-2]) if len(head) > 1 else ""
    if number.isdigit() and before in words["before_ordinals"]:
        return True
    noun = following.rstrip(".,;:!?)»”\"'").casefold()
    if noun not in words["english_months"]:
        return noun in words["ordinals"]
    return not before[-1:].isalnum() or before in words["before_dates"] or bool(rest and _YEAR.match(rest[0]))
