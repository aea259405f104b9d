"""Join the lines of a PDF into pieces: headings by the outline or by size, paragraphs by geometry.

A paragraph begins after a wider gap, at a bullet, at another size of type, and after a short line that ends a sentence.
It continues on the next page unless its sentence ended. Running heads and contents lines are removed. Lines with wide
gaps are the rows of a table if their cells form columns; pages where they do not are counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import pairwise
from typing import Literal

from leadline_plugins.parse.decode import clean
from leadline_plugins.parse.layout import CJK, Item, Piece, collapse

_LEADER = re.compile(r"(?:[.․…·]\s?){4,}\s*[\divxlc]*\s*$")
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
# Not in brackets, which are citations at the end of a paragraph.
_PAGE_NUMBER = re.compile(r"[^\w\[\]()]*(?:\d{1,4}|[ivxlc]{1,7})[^\w\[\]()]*|\d+\s*/\s*\d+", re.IGNORECASE)
_ENTRY_ENDS = re.compile(r"[.․…·\divxlc]\s?$")
_TRAILING_NUMBER = re.compile(r"\s\d{1,4}$")
_OUTER_NUMBER = re.compile(r"^\d{1,4}\s+|\s+\d{1,4}$")
_TITLE_NUMBER = re.compile(r"^(?:chapter\s+|appendix\s+)?(?:\d+|[a-z])(?:\.\d+)*\.?\s+", re.IGNORECASE)
_NUMBERED_TITLE = re.compile(r"(?:chapter|appendix|part|section|第|章|附录|付録|部|節|节|\d|[a-z](?=\d|$))*")
_END = re.compile(r"[.!?:;。！？：；…][)\"”’」』）\]]*$")
_BULLET = re.compile(r"(?:[•◦▪‣●○∙·\uf0b7*–—-]|(?P<number>\d{1,3})[.)])\s+")
_LETTERED = re.compile(r"\(?(?:[a-z]|\d{1,2})[.)]\s")
# PDFium's marks for a hyphen at a line break.
_BROKEN = ("\ufffe", "\x02", "\xad")
# The end of an address that goes on in the next line.
_ADDRESS = re.compile(r"://\S*[-/.?=&_%#~\u2010\ufffe\x02\xad]$")
_GOES_ON = re.compile(r"[^\W_A-ZÀ-Þ]")
_SIGNS = ".,;:!?()[]“”\"'’"
_BREAK = re.compile(f"(?<=[{''.join(_BROKEN)}])")
_HYPHENS = ("-", "\u2010", *_BROKEN)
_COMPOUND = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
_LAST_WORD, _FIRST_WORD = re.compile(r"[^\W\d_]+$"), re.compile(r"[^\W\d_]+")
_LOWER = re.compile("[a-zà-ÿ]")
_KEPT_HYPHEN = re.compile(r"\b(?:self|non|well|so|anti|pre|post|multi|cross|co|re)[-\u2010]$", re.IGNORECASE)
# Characters at the end of a paragraph that decide how it goes on.
_TAIL = 40
_CJK_END, _CJK_START = re.compile(f"[{CJK}]$"), re.compile(f"[{CJK}]")
# Share of a page's height, at its top and bottom, that may have running heads.
_EDGE = 0.12
_RECURS, _RECURS_SHARE, _RECURS_SURELY = 3, 0.02, 5
# Lines up to which a page has no running heads.
_SHORTEST = 2
# Share of contents lines from which a page has a list of contents, and lines of one of its entries at most.
_CONTENTS, _WRAPS = 0.4, 3
# Multiple of the usual line distance from which a gap separates paragraphs.
_GAP = 1.3
# Rows of a table of two columns, multiples of the size of type between two rows at most, and between lines of a cell.
_LEAST_ROWS, _ROW_GAP, _WRAPPED = 3, 4.0, 1.3
# Multiple of the size of type between two lines of a cell at most, and lines of a cell on average at most.
_CELL_GAP, _MOST_LINES = 3.0, 12
# Lines over which a word of a narrow column is cut.
_CUT = 4
# Words of a line from which it is no cell of a narrow column.
_PROSE = 3
# Multiple of the distance of two lines of a cell that two rows are apart.
_APART = 1.1
# Share of the column's width by which a short line misses its right edge.
_SHORT = 0.12
# Multiple of the body size from which a line is a heading in a file without an outline, and share of a size above which
# another size has the same level.
_LARGE, _SAME = 1.15, 0.93
_LONGEST_HEADING = 150
_MOST_INDENT = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line between wide gaps."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page. Coordinates are points from the lower left corner of the page."""

    text: str
    # From 0.
    page: int
    baseline: float
    left: float
    right: float
    bottom: float
    top: float
    size: float
    # Whether all sampled characters are monospaced.
    code: bool
    # Two or more, or none.
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Title:
    """An entry of the outline. `level` and `page` count from 0."""

    text: str
    level: int
    page: int


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of a page in the order of its content."""

    lines: list[Line]
    height: float


@dataclass(frozen=True, slots=True)
class Pdf:
    """The title, pages and outline of a file, its pages from 0 that are pictures, and what else was not read."""

    title: str
    pages: list[Page]
    outline: list[Title]
    pictures: Sequence[int] = ()
    incomplete: str = ""


def pieces_of(pdf: Pdf, lost: set[int] | None = None) -> list[Piece]:
    """Return the pieces of a PDF, each with its page from 1; add the pages of tables without columns to `lost`."""
    joiner = _Joiner(pdf)
    titles = {_key(title.text) for title in pdf.outline}
    for number, lines in enumerate(_without_contents(_without_running_heads(pdf.pages, titles), titles)):
        joiner.page(number, lines)
    if lost is not None:
        lost |= {number + 1 for number, count in joiner.loose.items() if count >= _LEAST_ROWS}
    return joiner.pieces()


def _without_running_heads(pages: list[Page], titles: set[str]) -> list[list[Line]]:
    """Return the lines of each page without running heads: recurring lines at edges, and titles with a page number."""
    edges: list[list[Line]] = []
    count: Counter[str] = Counter()
    for page in pages:
        down = sorted(page.lines, key=lambda line: -line.top)
        edge = [line for line in down[:2] if line.top > (1 - _EDGE) * page.height]
        edge += [line for line in down[-2:] if line.bottom < _EDGE * page.height]
        edges.append(edge if len(page.lines) > _SHORTEST else [])
        count.update({_without_numbers(line.text) for line in edge})

    def recurs(line: Line, page: Page) -> bool:
        words = _without_numbers(line.text)
        times = count[words] if words.strip("#") else 0
        if times >= _RECURS and (times >= _RECURS_SHARE * len(pages) or times >= _RECURS_SURELY):
            return True
        text = line.text.strip()
        title = _OUTER_NUMBER.sub("", text)
        if _PAGE_NUMBER.fullmatch(text):  # or the mark of the note beside it
            return not any(is_note_of(line, other) for other in page.lines)
        return title != text and _key(_TITLE_NUMBER.sub("", title)) in titles

    found = []
    for page, edge in zip(pages, edges, strict=True):
        gone = {id(line) for line in edge if recurs(line, page)}
        found.append([line for line in page.lines if id(line) not in gone])
    return found


def is_note_of(mark: Line, line: Line) -> bool:
    """Return whether a number stands close before a line, as the mark of a note does."""
    beside = mark.bottom < line.top and line.bottom < mark.top
    return beside and mark.size < line.size and 0 <= line.left - mark.right < 2 * line.size


def _without_contents(pages: list[list[Line]], titles: set[str]) -> list[list[Line]]:
    """Return the lines of each page without those of a table of contents."""
    found = []
    for lines in pages:
        contents = [
            _ENTRY_ENDS.search(line.text[-2:]) is not None
            and (
                bool(_LEADER.search(line.text))
                or (bool(_TRAILING_NUMBER.search(line.text)) and _key(_TRAILING_NUMBER.sub("", line.text)) in titles)
            )
            for line in lines
        ]
        if sum(contents) > _CONTENTS * max(1, len(lines)):
            contents = _with_gaps(contents, [bool(_TRAILING_NUMBER.search(line.text)) for line in lines])
        found.append([line for line, is_entry in zip(lines, contents, strict=True) if not is_entry])
    return found


def _with_gaps(contents: list[bool], numbered: list[bool]) -> list[bool]:
    """Add the lines that wrap between entries of contents, and entries without leaders beside them."""
    first, last = contents.index(True), len(contents) - contents[::-1].index(True) - 1
    while first and numbered[first - 1]:
        first -= 1
    while last + 1 < len(contents) and numbered[last + 1]:
        last += 1
    entries = [at for at in range(first, last + 1) if contents[at] or numbered[at]]
    found = [False] * len(contents)
    for before, after in zip(entries, [*entries[1:], last + 1], strict=True):
        wraps = after - before <= _WRAPS
        found[before : after if wraps else before + 1] = [True] * (after - before if wraps else 1)
    return found


def _without_numbers(text: str) -> str:
    return re.sub(r"\W+", "", _NUMBER.sub("#", text.lower()))


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


@dataclass(slots=True)
class _Open:
    """An unfinished block."""

    kind: Literal["paragraph", "code", "list"]
    text: str
    page: int
    size: float
    # The number of a list item.
    number: str
    # Pages that begin in it, each with its offset in the text.
    turns: list[tuple[int, int]]
    # The lines of code, which become its text at the end.
    lines: list[Line]


class _Joiner:
    def __init__(self, pdf: Pdf) -> None:
        sizes: Counter[float] = Counter()
        for page in pdf.pages:
            for line in page.lines:
                sizes[line.size] += len(line.text)
        self._body = sizes.most_common(1)[0][0] if sizes else 10.0
        self._joints = _Joints(pdf.pages)
        self._outlined = bool(pdf.outline)
        self._levels = _levels(size for size in sizes if size > self._body * _LARGE)
        self._due: defaultdict[int, list[Title]] = defaultdict(list)
        for title in pdf.outline:
            self._due[title.page].append(title)
        self._found: list[Piece] = []
        self._open: _Open | None = None
        # The lines of three cells or more that are in no table, and words of cells that may be cut, by page.
        self.loose: Counter[int] = Counter()

    def pieces(self) -> list[Piece]:
        """Return all pieces."""
        self._close()
        return self._found

    def page(self, number: int, lines: list[Line]) -> None:
        """Add the lines of a page."""
        if not lines:
            return
        lines = [self._joints.mended(line) for line in lines]
        edges = sorted(line.right for line in lines)
        right, left = edges[max(0, int(0.9 * len(edges)) - 1)], min(line.left for line in lines)
        step = self._step(lines)
        jumps = any(after.baseline > line.baseline + line.size for line, after in pairwise(lines))
        before: Line | None = None
        place = 0
        while place < len(lines):
            line = lines[place]
            if title := self._title(lines, place, number):
                count, level = title
                self._heading(" ".join(one.text for one in lines[place : place + count]), level, number)
                before, place = None, place + count
                continue
            rows, count = self._wrapped_rows(lines, place, number) if jumps else ([], 0)
            if rows := rows or _rows(lines, place):
                self._table(rows, number)
                before, place = None, place + (count or len(rows))
                continue
            self.loose[number] += len(line.cells) >= _LEAST_ROWS
            if not self._outlined and line.size > self._body * _LARGE and len(line.text) < _LONGEST_HEADING:
                self._large(line, before)
            elif self._begins(line, before, step, right, 0 if before is None else right - _SHORT * (right - left)):
                self._begin(line)
            else:
                self._join(line)
            before, place = line, place + 1

    def _table(self, rows: list[list[str]], number: int) -> None:
        """Add a table; one that goes on from the page before has its header."""
        begins = all(piece.page != number + 1 for piece in self._found[-1:]) and self._open is None
        self._close()
        last = self._found[-1] if self._found and begins else None
        rows = [[_cleaned(cell) for cell in row] for row in rows if row]
        if last and last.kind == "table" and len(last.rows[0]) == len(rows[0]) and last.rows[0] != rows[0]:
            rows = [last.rows[0], *rows]
        self._found.append(Piece("table", rows=rows, header=1, page=number + 1))

    def _wrapped_rows(self, lines: list[Line], place: int, number: int) -> tuple[list[list[str]], int]:
        """Return the rows of a table that is written cell by cell, and the number of its lines."""
        rows = _written_cells(lines, place)
        widest = max((row for _, row in rows), key=len, default=[])
        sizes = [len(cell) for _, row in rows for cell in row]
        if len(rows) + len(widest) <= _LEAST_ROWS + 1 or len(rows) < 2 or max(sizes) < 2:
            return [], 0
        if sum(sizes) > _MOST_LINES * len(sizes):  # columns of text
            return [], 0
        lefts = [min(line.left for line in cell) for cell in widest]
        texts = []
        for _, row in rows:
            columns = [max(0, sum(left < _middle(cell[0]) for left in lefts) - 1) for cell in row]
            if len({*columns}) < len(columns):
                return [], 0
            self._joints.cut = 0
            cells = dict(zip(columns, map(self._joints.cell, row), strict=True))
            self.loose[number] += self._joints.cut
            texts.append([cells.get(at, "") for at in range(len(lefts))])
        return texts, rows[-1][0] - place

    def _step(self, lines: list[Line]) -> float:
        """Return the usual distance of two lines of a page."""
        gaps = sorted(a.baseline - b.baseline for a, b in pairwise(lines) if abs(a.size - b.size) < 0.6)
        gaps = [gap for gap in gaps if 0.5 * self._body <= gap < 3 * self._body]
        return max(gaps[len(gaps) // 4] if gaps else 1.2 * self._body, self._body)

    def _title(self, lines: list[Line], place: int, number: int) -> tuple[int, int] | None:
        """Return the number of lines that are a title of the outline, and its level."""
        due = self._due.get(number)
        if not due:
            return None
        for count in (1, 2, 3):
            key = _key("".join(line.text for line in lines[place : place + count]))
            for title in due:
                wanted = _key(title.text)
                extra = len(key) - len(wanted)
                same = bool(wanted) and key.endswith(wanted) and extra <= 12
                if same and _NUMBERED_TITLE.fullmatch(key[:extra]) and (lines[place].size >= self._body or not extra):
                    due.remove(title)
                    return count, title.level + 1
        return None

    def _heading(self, text: str, level: int, number: int) -> None:
        self._close()
        self._found.append(Piece("heading", _cleaned(text), level=level, page=number + 1))

    def _large(self, line: Line, before: Line | None) -> None:
        """Add a line in large type: a heading, or the next line of one."""
        last = self._found[-1] if self._found and self._open is None else None
        if last and last.kind == "heading" and last.page == line.page + 1 and before and before.size == line.size:
            last.text = self._joints.glued(last.text, _cleaned(line.text))
        else:
            self._heading(line.text, self._levels[line.size], line.page)

    def _begins(self, line: Line, before: Line | None, step: float, right: float, full: float) -> bool:
        """Return whether a line begins a block."""
        block = self._open
        if block is None or (block.kind == "code") != line.code:
            return True
        if block.kind == "code":
            return False
        marked = bool(_BULLET.match(line.text) or _LETTERED.match(line.text))
        ended = bool(_END.search(block.text[-_TAIL:]))
        if before is None:  # the first line of a page
            return ended or marked or abs(block.size - line.size) > 0.6
        gap = before.baseline - line.baseline
        if gap < -2 * self._body:  # the next column
            return ended or marked
        indented = line.left > before.left + 0.8 * self._body and block.kind != "list"
        return (
            abs(before.size - line.size) > 0.8
            or gap > _GAP * step
            or marked
            or (bool(_END.search(before.text[-_TAIL:])) and (before.right < full or indented))
        )

    def _begin(self, line: Line) -> None:
        self._close()
        bullet = None if line.code else _BULLET.match(line.text)
        kind: Literal["paragraph", "code", "list"] = "code" if line.code else "list" if bullet else "paragraph"
        text, number = (line.text[bullet.end() :], bullet["number"] or "") if bullet else (line.text, "")
        self._open = _Open(kind, text, line.page, line.size, number, [], [line])

    def _join(self, line: Line) -> None:
        block = self._open
        assert block is not None
        if line.code:
            block.lines.append(line)
            return
        text = self._joints.glued(block.text, line.text)
        if line.page != (block.turns[-1][0] - 1 if block.turns else block.page):
            block.turns.append((line.page + 1, len(text) - len(line.text)))
        block.text = text

    def _close(self) -> None:
        block, self._open = self._open, None
        if block is None:
            return
        if block.kind == "code":
            self._found.append(_code(block.lines))
            return
        text = _cleaned(block.text)
        if not text:
            return
        turns = [(page, max(0, min(place, len(text)))) for page, place in block.turns]
        piece = Piece("paragraph", text, page=block.page + 1, turns=turns)
        if block.kind != "list":
            self._found.append(piece)
            return
        last = self._found[-1] if self._found else None
        follows = last is not None and last.kind == "list" and last.ordered == bool(block.number)
        if last is not None and follows and (not block.number or int(block.number) == last.level + len(last.items)):
            last.items.append(Item([piece]))
        else:
            first = int(block.number or 1)
            ordered = bool(block.number)
            self._found.append(Piece("list", level=first, ordered=ordered, items=[Item([piece])], page=piece.page))


def _rows(lines: list[Line], place: int) -> list[list[str]]:
    """Return the rows of the table that begins at a line, as many as its lines; empty if none begins there.

    A line that continues the cells of the row above it is an empty row.
    """
    taken: list[Line] = []
    columns: list[tuple[float, float]] = []
    while place + len(taken) < len(lines):
        line = lines[place + len(taken)]
        above = taken[-1] if taken else None
        if above and not 0 < above.baseline - line.baseline < _ROW_GAP * line.size:
            break
        wider = _columns([*taken, line]) if line.cells else columns
        if not wider or (len(line.cells) < 2 and not taken) or not _fits(line, wider):
            break
        taken, columns = [*taken, line], wider
    while taken and not taken[-1].cells:
        taken.pop()
    if len(taken) < 2 or len(taken) + len(columns) <= _LEAST_ROWS + 1:
        return []
    gaps = [above.baseline - line.baseline for above, line in pairwise(taken)]
    rows: list[list[str]] = []
    for line, gap in zip(taken, [0.0, *gaps], strict=True):
        row = [" ".join(cell.text for cell in _cells(line) if _overlap(cell, column)) for column in columns]
        if rows and not row[0] and gap * _APART < max(gaps) and gap < _WRAPPED * line.size:
            last = next(one for one in reversed(rows) if one)
            last[:] = [" ".join(filter(None, pair)) for pair in zip(last, row, strict=True)]
            row = []
        rows.append(row)
    return rows


def _written_cells(lines: list[Line], place: int) -> list[tuple[int, list[list[Line]]]]:
    """Return the rows of cells that lines are written in, each cell with its lines, and where each row ends."""
    rows: list[tuple[int, list[list[Line]]]] = []
    row: list[list[Line]] = []
    for at in range(place, len(lines)):
        line, ended = lines[at], False
        for number, cell in enumerate(_cells(line)):
            part = replace(line, text=cell.text, left=cell.left, right=cell.right, cells=())
            if row and _continues(row, part):
                row[-1].append(part)
            elif row and _is_beside(row, part):
                row.append([part])
            elif not row or (not number and _is_below(row, part)):
                if len(row) > 1:
                    rows.append((at, row))
                ended = bool(row) and len(row) < 2
                row = [[part]]
            else:
                ended = True
            if ended:
                return [*rows, (at, row)] if len(row) > 1 else rows
    return [*rows, (len(lines), row)] if len(row) > 1 else rows


def _continues(row: list[list[Line]], line: Line) -> bool:
    """Return whether a line is the next one of the last cell of a row; a broken word has one of its lines."""
    cell = row[-1]
    near = 0 < cell[-1].baseline - line.baseline < _CELL_GAP * line.size and abs(cell[-1].size - line.size) < 0.6
    over = line.left < max(part.right for part in cell) and line.right > min(part.left for part in cell)
    return near and over and (len(row) < 2 or line.left > _middle(row[-2][0]))


def _is_beside(row: list[list[Line]], line: Line) -> bool:
    bottom = min(cell[-1].baseline for cell in row)
    height = -line.size < line.baseline - bottom < 2 * _MOST_LINES * line.size
    return height and line.left > max(part.right for part in row[-1]) - line.size


def _is_below(row: list[list[Line]], line: Line) -> bool:
    bottom = min(cell[-1].baseline for cell in row)
    near = 0 < bottom - line.baseline < 2 * _ROW_GAP * line.size
    return near and (len(row) < 2 or line.left < row[1][0].left)


def _middle(line: Line) -> float:
    return (line.left + line.right) / 2


def _cells(line: Line) -> tuple[Cell, ...]:
    return line.cells or (Cell(line.text, line.left, line.right),)


def _overlap(cell: Cell, column: tuple[float, float]) -> bool:
    return cell.left < column[1] and cell.right > column[0]


def _columns(lines: list[Line]) -> list[tuple[float, float]]:
    """Return the columns that the cells of lines form; empty if a line has two cells in one of them."""
    columns: list[tuple[float, float]] = []
    for cell in sorted((cell for line in lines for cell in line.cells), key=lambda cell: cell.left):
        if columns and cell.left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], cell.right)
        else:
            columns.append((cell.left, cell.right))
    return columns if all(_fits(line, columns) for line in lines if line.cells) else []


def _fits(line: Line, columns: list[tuple[float, float]]) -> bool:
    """Return whether each cell of a line is in one column, and no two are in the same."""
    places = [[at for at, column in enumerate(columns) if _overlap(cell, column)] for cell in _cells(line)]
    return all(len(found) == 1 for found in places) and len({found[0] for found in places}) == len(places)


def _levels(sizes: Iterable[float]) -> dict[float, int]:
    """Return the level of a heading by its size: the largest is 1, nearly equal ones are the same."""
    levels: dict[float, int] = {}
    level, first = 0, 0.0
    for size in sorted(sizes, reverse=True):
        if not level or size < _SAME * first:
            level, first = level + 1, size
        levels[size] = level
    return levels


def _code(lines: list[Line]) -> Piece:
    """Return code, indented by the positions of its lines."""
    widths = sorted((line.right - line.left) / len(line.text) for line in lines)
    width = max(widths[len(widths) // 2], 1.0)
    margin = {page: min(line.left for line in lines if line.page == page) for page in {line.page for line in lines}}
    text, turns, page = "", [], lines[0].page
    for line in lines:
        if line.page != page:
            turns.append((line.page + 1, len(text)))
            page = line.page
        indent = min(_MOST_INDENT, max(0, round((line.left - margin[line.page]) / width)))
        text += " " * indent + clean(line.text).strip() + "\n"
    return Piece("code", text.rstrip(), page=lines[0].page + 1, turns=turns)


def _cleaned(text: str) -> str:
    return collapse(clean(text))


class _Joints:
    """Decides which hyphens at the ends of lines belong to words, by the other words of the file."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._words: set[str] = set()
        # Words of cells that may be cut.
        self.cut = 0
        words_of = cache(_COMPOUND.findall)
        ends = []
        for page in pages:
            before = ""
            for text in (text for line in page.lines for text in _parts(line.text)):
                broken = before.endswith(_HYPHENS) and bool(_LOWER.match(text))
                if broken:
                    ends.append((before, text))
                before = text
                # Halves of broken words are no words, nor are those of narrow columns.
                words = [word for printed in text.lower().split() for word in words_of(printed)]
                if len(words) >= _PROSE:
                    self._words.update(words[broken : len(words) - text.endswith(_HYPHENS)])
        known = [self._known(before[:-1], after) for before, after in ends]
        # Whether the file breaks words at all.
        self._breaks = known.count(False) - known.count(True)

    def glued(self, before: str, after: str) -> str:
        """Return two lines of a paragraph as one."""
        tail = before[-_TAIL:]
        if _ADDRESS.search(before) and _GOES_ON.match(after):
            return f"{before[:-1]}-{after}" if before.endswith(_BROKEN) else before + after
        if not tail.endswith(_HYPHENS) or not (_LOWER.match(after) or tail.endswith(_BROKEN)):
            return before + after if _CJK_END.search(tail) and _CJK_START.match(after) else f"{before} {after}"
        stays = self._known(tail[:-1], after) if _LOWER.match(after) else False
        if stays is None:
            first, second = _halves(tail[:-1], after)
            both = first in self._words and second in self._words
            alone = both or bool(_KEPT_HYPHEN.search(tail[:-1] + "-"))
            stays = self._breaks < 0 or (not self._breaks and alone)
        return f"{before[:-1]}-{after}" if stays else before[:-1] + after

    def mended(self, line: Line) -> Line:
        """Return a line without the breaks of words that PDFium leaves inside."""
        if len(_parts(line.text[:-1])) < 2:
            return line
        cells = tuple(replace(cell, text=self._mended(cell.text)) for cell in line.cells)
        return replace(line, text=self._mended(line.text), cells=cells)

    def _mended(self, text: str) -> str:
        return reduce(self.glued, filter(None, _parts(text)))

    def cell(self, lines: list[Line]) -> str:
        """Return the text of a cell; words that its width has cut are whole if the file has them elsewhere."""
        parts, text, at = [line.text for line in lines], "", 0
        while at < len(parts):
            count = next((count for count in range(_CUT, 1, -1) if self._is_cut(parts[at : at + count])), 1)
            word = "".join(parts[at : at + count])
            text = self.glued(text, word) if text else word
            at += count
            self.cut += at < len(parts) and self._may_be_cut(parts[at - 1], parts[at])
        return text

    def _is_cut(self, parts: list[str]) -> bool:
        """Return whether parts are a word of the file, and the rest of the last one."""
        words = [part.partition(" ")[0].lower().strip(_SIGNS) for part in parts]
        whole = not any(" " in part for part in parts[:-1]) and all(map(_GOES_ON.match, parts[1:]))
        return whole and "".join(words) in self._words and not all(word in self._words for word in words)

    def _may_be_cut(self, before: str, after: str) -> bool:
        word = after.partition(" ")[0].lower().strip(_SIGNS)
        return " " not in before and bool(_GOES_ON.match(after)) and len(word) > 0 and word not in self._words

    def _known(self, before: str, after: str) -> bool | None:
        """Return whether a word that is broken has a hyphen elsewhere; None if it occurs nowhere else."""
        first, second = _halves(before, after)
        if f"{first}-{second}" in self._words:
            return True
        return False if first + second in self._words else None


def _parts(text: str) -> list[str]:
    """Return a text cut after PDFium's marks for hyphens at line breaks."""
    return _BREAK.split(text) if any(map(text.__contains__, _BROKEN)) else [text]


def _halves(before: str, after: str) -> tuple[str, str]:
    """Return the last word of a line and the first of the next, in lower case."""
    first, second = _LAST_WORD.search(before[-_TAIL:]), _FIRST_WORD.match(after)
    return first[0].lower() if first else "", second[0].lower() if second else ""
