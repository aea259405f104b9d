"""Markdown tokens as nodes of the tree: blocks, tables, and inlines that are balanced whatever the writer left open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import ceil
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from leadline.rendering import VERDICTS, clean, safe_url
from leadline_plugins.formats.report_markdown import MarkdownBlock, block_tree, parser
from leadline_plugins.formats.tree import Node, after_text, attributes, header, link, para, plain, strong, text, words

if TYPE_CHECKING:
    from markdown_it.token import Token

# Characters of a paragraph: the time to set one grows with its square.
MOST = 6000
Cell = list[Node]
Rows = Sequence[Sequence[Cell]]
_ALIGN = {"left": "AlignLeft", "right": "AlignRight", "center": "AlignCenter"}
# Characters of a line of a table in print, and between two columns.
LINE, _GAP = 90.0, 3
# Share of the line that the longest words of the columns take before they are broken.
_FOR_WORDS = 0.5
# Exponent of the text length in the width of a column; 1 makes all cells of a row equally high.
_EVENED = 0.7
# Characters of a word that its column has room for; longer ones are broken.
_LONGEST_WORD = 16
_LANGUAGE = re.compile(r"[A-Za-z0-9+#_-]{1,20}")
# Levels of nested emphasis; deeper marks are dropped, and their words stay.
DEEPEST = 20
# The number of a mark where a claim begins, plus that of its verdict; at its end the mark has the number of the claim.
BEGINS = 500_000
# Spaces beside wide punctuation, which removed citations leave.
_FULL_WIDE = re.compile(r"(?<=[，。；：！？、]) | (?=[，。；：！？、])")
_WRAPS = {"em": "Emph", "strong": "Strong", "s": "Strikeout", "sub": "Subscript", "sup": "Superscript"}


def split_long(inlines: Iterable[Node]) -> Iterator[list[Node]]:
    """Yield inlines in parts of at most about `MOST` characters; at least one part."""
    part: list[Node] = []
    left = MOST
    for node in _cut(inlines):
        if left < 0:
            yield part
            part, left = [], MOST
        part.append(node)
        left -= len(text(node)) + 1
    yield part


def _cut(inlines: Iterable[Node]) -> Iterator[Node]:
    """Yield inlines, with long strings split."""
    for node in inlines:
        if node["t"] == "Str" and len(node["c"]) > MOST:
            yield from ({"t": "Str", "c": run} for run in _runs(node["c"]))
        else:
            yield node


def _runs(words: str) -> Iterator[str]:
    while len(words) > MOST:
        end = words.rfind(" ", 1, MOST) + 1 or MOST
        yield words[:end]
        words = words[end:]
    yield words


def table(rows: Rows, alignments: Sequence[str], columns: int | None) -> Iterator[Node]:
    """Yield a table; one with too many columns as several, each with the first column."""
    width = len(rows[0])
    if columns is None or width <= columns:
        yield _table(rows, alignments)
        return
    several = ceil((width - 1) / (columns - 1))
    for share in range(several):
        first, last = (1 + (width - 1) * part // several for part in (share, share + 1))
        places = [0, *range(first, last)]
        yield _table(
            [[row[column] for column in places if column < len(row)] for row in rows], [alignments[p] for p in places]
        )


def _table(rows: Rows, alignments: Sequence[str]) -> Node:
    """Return a table; cells without alignment begin at the left, because some writers center them."""
    head, *body = rows
    columns = [
        [{"t": _ALIGN.get(side, "AlignLeft")}, {"t": "ColWidth", "c": share} if share else {"t": "ColWidthDefault"}]
        for side, share in zip(alignments, widths(rows), strict=True)
    ]
    filled = [[cell or [] for cell, _ in zip_longest(row, head)] for row in body]
    parts = [[attributes(), 0, [], [_row(row) for row in filled]]]
    return {"t": "Table", "c": [attributes(), [None, []], columns, _part([head]), parts, _part([])]}


def _part(rows: Rows) -> list[Any]:
    return [attributes(), [_row(row) for row in rows]]


def _row(cells: Sequence[Cell]) -> list[Any]:
    return [attributes(), [[attributes(), {"t": "AlignDefault"}, 1, 1, [plain(cell)]] for cell in cells]]


def widths(rows: Rows) -> list[float]:
    """Return the share of the line of each column; zeros if all columns fit without.

    A column first gets room for its longest word, or part of it where such words would take most of the line. The rest
    is divided by the lengths of the texts, dampened so that one long column does not starve the others.
    """
    cells = [[text(cell) for cell in column if cell] for column in zip_longest(*rows)]
    if sum(max(map(ems, column), default=0) + _GAP for column in cells) <= LINE:
        return [0.0] * len(cells)
    line = LINE * 1.2  # a wide table is set smaller
    least = _least([_longest_word(column) for column in cells], line * _FOR_WORDS)
    wanted = [_typical(column) ** _EVENED for column in cells]
    left = max(0.0, line - sum(least))
    room = [low + left * want / sum(wanted) for low, want in zip(least, wanted, strict=True)]
    return [round(width / sum(room), 4) for width in room]


def _least(longest: Sequence[float], line: float) -> list[float]:
    """Return the least width of each column, given its longest word; longer words are broken first."""
    limit = next(
        (limit for limit in range(_LONGEST_WORD, 5, -1) if sum(min(limit, word) for word in longest) <= line), 5
    )
    return [_GAP + min(limit, word) for word in longest]


def _longest_word(cells: Sequence[str]) -> float:
    return max((ems(word) for cell in cells for word in cell.split()), default=1.0)


def _typical(cells: Sequence[str]) -> float:
    lengths = sorted(map(ems, cells)) or [1.0]
    return max(1.0, lengths[len(lengths) * 9 // 10])


def ems(text: str) -> float:
    """Return the width of a text in Latin characters; a CJK character counts as two."""
    return float(len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text))


class Blocks:
    """Converts a text to blocks. Tables with more than `columns` columns become several."""

    def __init__(
        self,
        cite: Callable[[Sequence[str]], list[Node]],
        figure: Callable[[str], list[Node] | None],
        claim: Callable[[int], list[Node]],
        name: Callable[[], str],
        columns: int | None,
        target: Callable[[str], str] = safe_url,
    ) -> None:
        self._marks = Marks(cite, figure, self._note, claim, target)
        self._name = name
        self._columns = columns
        self._notes: dict[int, MarkdownBlock] = {}
        self._in_note = False
        # Level of the heading above: the next one is at most one deeper, even if the writer skipped levels.
        self._base = self._level = 1

    def of(self, text: str, level: int = 1) -> Iterator[Node]:
        """Yield the blocks of a Markdown text; `level` is the level of the heading above, 0 without one."""
        self._base = self._level = level
        root = block_tree(parser().parse(text))
        notes = [note for child in root.children if child.kind == "footnote_block" for note in child.children]
        self._notes = {note.token.meta["id"]: note for note in notes}
        for child in root.children:
            yield from self._block(child)
        yield from self._rest()

    def _all(self, node: MarkdownBlock) -> Iterator[Node]:
        for child in node.children:
            yield from self._block(child)

    def _block(self, node: MarkdownBlock) -> Iterator[Node]:
        match node.kind:
            case "heading":
                below = int(node.token.tag[1]) - 2 + self._base
                self._level = min(max(self._base + 1, below), self._level + 1)
                title, *rest = split_long(self._inlines(node))
                yield header(self._level, self._name(), title)
                yield from map(para, rest)
            case "paragraph":
                yield from map(plain if node.token.hidden else para, split_long(self._inlines(node)))
            case "bullet_list":
                yield {"t": "BulletList", "c": self._items(node)}
            case "ordered_list":
                start = min(int(node.token.attrs.get("start", 1)), 2**31 - 1)
                yield {"t": "OrderedList", "c": [[start, {"t": "Decimal"}, {"t": "Period"}], self._items(node)]}
            case "dl":
                yield {"t": "BulletList", "c": self._entries(node)}
            case "blockquote":
                yield {"t": "BlockQuote", "c": list(self._all(node))}
            case "fence" | "code_block":
                yield _code(node)
            case "hr":
                yield {"t": "HorizontalRule"}
            case "table":
                yield from table(self._rows(node), _alignments(node), self._columns)

    def _items(self, node: MarkdownBlock) -> list[list[Node]]:
        return [list(self._all(item)) for item in node.children]

    def _entries(self, node: MarkdownBlock) -> list[list[Node]]:
        """Return the entries of a definition list as items: the term in bold, then the definitions."""
        entries: list[list[Node]] = []
        for child in node.children:
            if child.kind == "dt":
                entries.append([para([strong(self._inlines(child))])])
            else:
                entries[-1] += self._all(child)
        return entries

    def _rows(self, node: MarkdownBlock) -> list[list[list[Node]]]:
        """Return the rows of a table, the header first."""
        return [[self._inlines(cell) for cell in row.children] for part in node.children for row in part.children]

    def _inlines(self, node: MarkdownBlock) -> list[Node]:
        return inlines(node.inline, self._marks)

    def _note(self, number: int) -> list[Node]:
        """Return a footnote; only its number if it was shown or is inside another footnote, which could be a loop."""
        if self._in_note or number not in self._notes:
            return [_number(number)]
        return [{"t": "Note", "c": self._note_blocks(self._notes.pop(number))}]

    def _note_blocks(self, note: MarkdownBlock) -> list[Node]:
        self._in_note = True
        blocks = list(self._all(note))
        self._in_note = False
        return blocks

    def _rest(self) -> Iterator[Node]:
        """Yield the footnotes that only footnotes mention, each after its number."""
        for number, note in self._notes.items():
            yield para([_number(number)])
            yield from self._note_blocks(note)


def _number(number: int) -> Node:
    return {"t": "Superscript", "c": [{"t": "Str", "c": str(number + 1)}]}


def _code(node: MarkdownBlock) -> Node:
    language = _LANGUAGE.match(node.token.info)
    attr = attributes("", *([language.group().lower()] if language else []))
    return {"t": "CodeBlock", "c": [attr, clean(node.token.content.rstrip("\n"))]}


def _alignments(node: MarkdownBlock) -> list[str]:
    heads: Any = node.children[0].children[0].children
    return [str(cell.token.attrs.get("style", "")).removeprefix("text-align:") for cell in heads]


@dataclass(frozen=True)
class Marks:
    """Callbacks for the marks of a report: citations by passage, figures by id, footnotes and claims by number."""

    cite: Callable[[Sequence[str]], list[Node]]
    figure: Callable[[str], list[Node] | None]
    note: Callable[[int], list[Node]]
    claim: Callable[[int], list[Node]]
    target: Callable[[str], str] = safe_url
    """Where a link leads; empty if nowhere."""


@dataclass
class _Open:
    kind: str
    url: str = ""
    inside: list[Node] = field(default_factory=list)


def inlines(tokens: Iterable[Token], marks: Marks) -> list[Node]:
    stack = [_Open("")]
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        if side == "open":
            stack.append(_Open(name, marks.target(str(token.attrs.get("href", "")))))
        elif side == "close":
            _close(stack, name)
        elif token.type == "citation":
            stack[-1].inside += after_text(stack[-1].inside, marks.cite(token.meta["ids"]))
        elif token.type == "mark" and token.meta["number"] >= BEGINS:
            stack.append(_Open("claim", list(VERDICTS)[token.meta["number"] - BEGINS]))
        elif token.type == "mark":
            _close(stack, "claim")
            stack[-1].inside += marks.claim(token.meta["number"])
        else:
            stack[-1].inside += _leaf(token, marks)
    while len(stack) > 1:
        _wrap(stack)
    return stack[0].inside


def plain_text(markdown: str) -> str:
    """Return the words of a Markdown sentence, without emphasis, addresses and citations."""
    marks = Marks(cite=lambda ids: [], figure=lambda name: None, note=lambda number: [], claim=lambda number: [])
    (line,) = parser().parseInline(markdown)
    return _FULL_WIDE.sub("", " ".join(text(inlines(line.children or (), marks)).split()))


def _close(stack: list[_Open], kind: str) -> None:
    """Close the last mark of a kind and all open marks inside it; ignore a closing mark without an opening one."""
    if kind in {mark.kind for mark in stack}:
        while _wrap(stack) != kind:
            pass


def _wrap(stack: list[_Open]) -> str:
    mark = stack.pop()
    stack[-1].inside += _wrapped(mark) if len(stack) < DEEPEST else mark.inside
    return mark.kind


def _wrapped(mark: _Open) -> list[Node]:
    if mark.kind == "link":
        return [link(mark.inside, mark.url)] if mark.url and text(mark.inside) else mark.inside
    if mark.kind == "claim":
        return [{"t": "Span", "c": [attributes("", "claim", mark.url), mark.inside]}]
    return [{"t": _WRAPS[mark.kind], "c": mark.inside}] if mark.inside else []


def _leaf(token: Token, marks: Marks) -> list[Node]:
    match token.type:
        case "softbreak":
            return [{"t": "SoftBreak"}]
        case "hardbreak":
            return [{"t": "LineBreak"}]
        case "code_inline":
            return [{"t": "Code", "c": [attributes(), clean(token.content)]}]
        case "math_inline" | "math_block":
            kind = "InlineMath" if token.type == "math_inline" else "DisplayMath"
            return [{"t": "Math", "c": [{"t": kind}, clean(token.content)]}]
        case "image":
            return _image(token, marks)
        case "footnote_ref":
            return marks.note(token.meta["id"])
        case "footnote_anchor":
            return []
    return words(token.content)


def _image(token: Token, marks: Marks) -> list[Node]:
    """Return a figure of the report; for any other image its description and address, because nothing is loaded."""
    url = str(token.attrs.get("src", ""))
    if url.startswith("figure:"):
        return marks.figure(url.removeprefix("figure:")) or words(token.content)
    label = words(f"[{token.content or 'image'}]")
    target = safe_url(url)
    return [link(label, target)] if target else label
