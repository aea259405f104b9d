"""Build a document's Markdown and blocks from pieces, for all parsers.

The text reads like the page: only `|` in cells of tables is escaped, because the blocks describe each span. A caption
is a separate block before its table. A definition is one block per term:

    Term
    :   What it means.

A piece that is much longer than a passage is laid out in parts: of a long definition, list item or quotation only the
first paragraph is kept inside; the rest follows as separate blocks, with the term in their path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from leadline.display import visible
from leadline.parsing import MOST_BLOCKS
from leadline.records import Block, BlockKind

# Characters of Chinese, Japanese and Korean texts, for character classes.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u3000-\u303f\uff00-\uffef"
# The same without Hangul: Korean puts spaces between words.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef"
_CJK_SIGN = re.compile(f"[{CJK}]")
_CJK_BREAK = re.compile(rf"(?<=[{_UNSPACED}])[^\S\n]*\n\s*(?=[{_UNSPACED}])")
_FENCE = re.compile("`{3,}")
# Weight from which a definition, an item or a quotation is laid out in parts: about 200 words.
_LONG = 1_200
# Characters of a heading in a path, which each block below it repeats.
HEADING = 300
# Characters of a term in a path.
_LONGEST_NAME = 80
# Levels of headings in Markdown.
_DEEPEST = 6


@dataclass(slots=True)
class Piece:
    """A block before it is laid out. `text` is that of a heading, paragraph, caption or code."""

    kind: BlockKind
    text: str = ""
    # The level of a heading, or the first number of a list.
    level: int = 1
    # Whether a list is numbered.
    ordered: bool = False
    # The items of a list or definition list; a quotation has one.
    items: list[Item] = field(default_factory=list)
    # The rows of a table, all of the same length.
    rows: list[list[str]] = field(default_factory=list)
    # Rows of a table that are its header.
    header: int = 0
    page: int | None = None
    # Pages that begin in a paragraph or code, each with its offset in `text`.
    turns: list[tuple[int, int]] = field(default_factory=list)
    # Characters of links.
    links: int = 0

    @property
    def weight(self) -> int:
        """The size of all text in it; a CJK character counts as three."""
        nested = sum(weight(item.term) + sum(piece.weight for piece in item.pieces) for item in self.items)
        return weight(self.text) + nested + sum(weight(cell) for row in self.rows for cell in row)


@dataclass(slots=True)
class Item:
    """An item of a list, an entry of a definition list (`term`), or the content of a quotation."""

    pieces: list[Piece]
    term: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Markdown with its blocks. `turns`: where pages begin within a block, as page and offset in the text."""

    text: str
    blocks: tuple[Block, ...]
    turns: tuple[tuple[int, int], ...] = ()


def collapse(text: str) -> str:
    """Collapse white space and remove invisible characters; a line break between CJK characters vanishes."""
    if "\n" in text and not text.isascii():
        text = _CJK_BREAK.sub("", text)
    return visible(" ".join(text.split()))


def weight(text: str) -> int:
    """Return the length of a text in which a CJK character counts as three."""
    return len(text) if text.isascii() else len(text) + 2 * len(_CJK_SIGN.findall(text))


# Raised text that is a number or an expression; other raised letters are ordinals: 1st, Mme.
_POWER = re.compile(r"[-−–+]?\d+(?:[.,/]\d+)*|[-−–+]?\d*[a-zα-ω](?:[-−–+/]\w+)?|[-−–+(]?\w+[-−–+/*]\w+\)?")
_ORDINALS = frozenset("aehort")
_NOTE = re.compile(r"\d{1,3}(?:[,–-]\d{1,3})*")
# What a raised number after it is no power of: a word of four letters, or the end of a sentence or quotation.
_NOTED = re.compile(r"(?:[^\W\d_]{4}|[.,;:!?\"”’»])\s?$")
_LOWERED = re.compile(r"[-−–+]?[\d.,]+")
_BELOW = str.maketrans("0123456789+-−–()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₍₎")
# A part of a formula that needs no brackets.
_PLAIN = re.compile(r"[-−–+]?[\w.∑∏∫√]*")


def raised(text: str, before: str) -> str:
    """Return raised text as it stands after other text: `^` of a power, `[^n]` of a note, plain in an ordinal."""
    power = text.strip()
    if _NOTE.fullmatch(power) and _NOTED.search(before[-9:]):
        return f"[^{power}]"
    if not before[-1:].strip() or not _POWER.fullmatch(power) or power in _ORDINALS:
        return text
    return f"^{power}" if _PLAIN.fullmatch(power) else f"^({power})"


def lowered(text: str, before: str) -> str:
    """Return lowered text as it stands after other text: figures in Unicode, letters after `_`."""
    index = text.strip()
    if not before[-1:].isalnum() or not re.fullmatch(r"[-−–+()\w.,]{1,9}", index):
        return text
    return index.translate(_BELOW) if _LOWERED.fullmatch(index) and index.isascii() else f"_{index}"


def formula(form: str, *parts: str) -> str:
    """Return the parts of a formula in a form such as `{}/{}`, in brackets where they need them."""
    texts = map(collapse, parts)
    return form.format(*(text if _PLAIN.fullmatch(text) else f"({text})" for text in texts)).rstrip("_^")


def tables(rows: Iterable[Sequence[str]]) -> Iterator[Piece]:
    """Yield the tables of a sheet: empty rows separate them, empty columns are left out, one row or column is text."""
    block: list[list[str]] = []
    for row in (*rows, []):
        if any(row):
            block.append([collapse(cell) for cell in row])
        elif block:
            width = max(map(len, block))
            block = [[*cells, *[""] * (width - len(cells))] for cells in block]
            columns = [at for at in range(width) if any(cells[at] for cells in block)]
            if len(columns) == 1 or len(block) == 1:
                yield from (Piece("paragraph", " | ".join(filter(None, cells))) for cells in block)
            else:
                yield Piece("table", rows=[[cells[at] for at in columns] for cells in block], header=1)
            block = []


def page_offsets(layout: Layout, count: int) -> tuple[int, ...]:
    """Return where each page begins in the text; an empty page begins where the next one does."""
    starts = dict(reversed(layout.turns))
    for block in reversed(layout.blocks):
        page = block.page or 1
        starts[page] = min(block.start, starts.get(page, block.start))
    offsets, offset = [], len(layout.text)
    for page in range(count, 0, -1):
        offset = starts.get(page, offset)
        offsets.append(offset)
    return tuple(reversed(offsets))


def lay_out(pieces: Iterable[Piece]) -> Layout:
    """Return the Markdown of the pieces, separated by blank lines, and a block for each."""
    parts: list[str] = []
    blocks: list[Block] = []
    turns: list[tuple[int, int]] = []
    above: list[tuple[int, str]] = []
    offset = 0
    for piece, terms in islice(_parts(pieces), MOST_BLOCKS + 1):
        body = markdown(piece)
        if not body.strip():
            continue
        if piece.kind == "heading":
            above = [heading for heading in above if heading[0] < piece.level]
        path = tuple(title[:HEADING] for title in (*(title for _, title in above), *terms))
        if piece.kind == "heading":
            above.append((piece.level, piece.text))
        blocks.append(Block(kind=piece.kind, start=offset, end=offset + len(body), path=path, page=piece.page))
        before = body.find(piece.text) if piece.turns else 0
        turns.extend((page, offset + before + start) for page, start in piece.turns)
        parts.append(body)
        offset += len(body) + 2
    return Layout("\n\n".join(parts), tuple(blocks), tuple(turns))


def _parts(pieces: Iterable[Piece], terms: tuple[str, ...] = ()) -> Iterator[tuple[Piece, tuple[str, ...]]]:
    """Yield the pieces that become blocks, each with the terms of its long definitions."""
    for piece in pieces:
        if piece.kind == "definition":
            for item in piece.items:
                yield from _entry(piece, item, terms)
        elif piece.kind == "list" and any(_long(item) for item in piece.items):
            for number, item in enumerate(piece.items, piece.level):
                head, rest = _divided(item)
                if head.pieces:
                    yield (
                        Piece("list", level=number, ordered=piece.ordered, items=[head], page=_page(head, piece)),
                        terms,
                    )
                yield from _parts(rest, terms)
        elif piece.kind == "quote" and piece.weight > _LONG:
            for inner in piece.items[0].pieces:
                yield Piece("quote", items=[Item([inner])], page=inner.page or piece.page), terms
        else:
            yield piece, terms


def _entry(piece: Piece, item: Item, terms: tuple[str, ...]) -> Iterator[tuple[Piece, tuple[str, ...]]]:
    if not item.term:
        yield from _parts(item.pieces, terms)
        return
    head, rest = _divided(item) if _long(item) else (item, [])
    yield Piece("definition", items=[head], page=_page(head, piece)), terms
    name = item.term if len(item.term) <= _LONGEST_NAME else item.term[:_LONGEST_NAME].rsplit(" ", 1)[0] + " …"
    yield from _parts(rest, (*terms, name))


def _page(item: Item, piece: Piece) -> int | None:
    return next((inner.page for inner in item.pieces if inner.page), piece.page)


def _long(item: Item) -> bool:
    return sum(piece.weight for piece in item.pieces) > _LONG or any(
        piece.kind in ("heading", "table") for piece in item.pieces
    )


def _divided(item: Item) -> tuple[Item, list[Piece]]:
    """Return an item with its first paragraph, and its other pieces."""
    keep = 1 if item.pieces and item.pieces[0].kind == "paragraph" else 0
    return Item(item.pieces[:keep], item.term), item.pieces[keep:]


def markdown(piece: Piece) -> str:
    """Return the Markdown of a piece."""
    if piece.kind == "heading":
        return f"{'#' * min(piece.level, _DEEPEST)} {piece.text}"
    if piece.kind == "code":
        fence = "`" * max(3, 1 + max(map(len, _FENCE.findall(piece.text)), default=0))
        return f"{fence}\n{piece.text}\n{fence}"
    if piece.kind == "list":
        return _list(piece)
    if piece.kind == "definition":
        return "\n\n".join(_definition(item) for item in piece.items)
    if piece.kind == "table":
        return _table(piece)
    if piece.kind == "quote":
        body = _joined(piece.items[0].pieces)
        return "\n".join(f"> {line}".rstrip() for line in body.split("\n"))
    return piece.text


def _joined(pieces: Sequence[Piece]) -> str:
    return "\n\n".join(filter(str.strip, map(markdown, pieces)))


def _list(piece: Piece) -> str:
    """Return a list: `level` is the number of its first item. Items of one line are not separated by blank lines."""
    rows = []
    for number, item in enumerate(piece.items, piece.level):
        mark = f"{number}. " if piece.ordered else "- "
        first, rest = item.pieces[:1], item.pieces[1:]
        tight = all(inner.kind == "list" for inner in rest)
        body = ("\n" if tight else "\n\n").join(filter(str.strip, map(markdown, [*first, *rest])))
        rows.append(mark + _indented(body, len(mark)))
    loose = any("\n\n" in row for row in rows)
    return ("\n\n" if loose else "\n").join(rows)


def _definition(item: Item) -> str:
    body = _joined(item.pieces)
    return f"{item.term}\n:   {_indented(body, 4)}" if body else item.term


def _indented(text: str, width: int) -> str:
    """Indent all lines but the first; blank lines stay blank."""
    return re.sub(r"\n(?=[^\n])", "\n" + " " * width, text)


def _table(piece: Piece) -> str:
    """Return a pipe table; header rows are joined, and a table without any has an empty header."""
    width = len(piece.rows[0])
    head = piece.rows[: piece.header] or [[""] * width]
    header = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*head, strict=True)]
    lines = [_row(header), "|" + " --- |" * width, *map(_row, piece.rows[piece.header :])]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
