"""Parse text as blocks: Markdown, and plain text with underlined titles and indented examples.

`blocks_of` returns the blocks of any document; `pieces_of` parses a text for a new layout, with the lines of
paragraphs joined. Both use the same groups of lines. Inline markup stays as it is written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from leadline.parsing import MOST_BLOCKS
from leadline.records import Block, BlockKind, Document
from leadline_plugins.parse.layout import HEADING, Item, Piece, collapse, weight

_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})[^`]*$")
_HASHES = re.compile(r"[ ]{0,3}(?P<signs>#{1,6})(?:[ \t]+(?P<title>.*))?$")
_MARKDOWN_RULE = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r"([=\-~^\"'`*+#_.:])\1{2,}[ \t]*$")
_BREAK = re.compile(r"[ ]{0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|={4,})$")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+•]|(?P<number>\d{1,9})[.)])(?P<gap>[ \t]+)(?=\S)")
_QUOTE = re.compile(r"[ ]{0,3}>(?!>> )[ ]?")
_DOCTEST = re.compile(r"[ ]{0,3}>>> ")
_DELIMITER = re.compile(r"[ ]{0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_GRID = re.compile(r"\+[-=+]{3,}\+$|={2,}(?: +={2,})+$")
_MEANING = re.compile(r"[ ]{0,3}:[ \t]+(?=\S)")
_EXPLICIT = re.compile(r"\.\.(?:[ ].*)?$")
# The beginning of a block of HTML in Markdown, whose text is kept.
_HTML = re.compile(
    r"<(?:!--|/?(?:a|br|center|details|div|h[1-6]|hr|img|p|picture|source|summary|table)\b)", re.IGNORECASE
)
# Options of a directive.
_OPTION = re.compile(r"\s*:[\w-]+:")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’)）」』]*$")
# A hyphen at the end of a wrapped line.
_HYPHEN = re.compile(r"(?<=[a-z])-\n\s*(?=[a-z])")
_COLONS = (":", "：")
# Tags of HTML in a title; others, such as `<branch>`, are words of it.
_TAG = re.compile(r"</?(?:a|b|br|code|div|em|h[1-6]|i|img|p|small|span|strong)(?:\s[^<>]*)?/?>")
# Characters of a title; a longer line is a paragraph.
_TITLE = 150
# Width up to which the lines of a plain text are considered wrapped; a CJK character counts as two.
_WRAPPED = 120
# Levels of nested lists and quotations; deeper text is a paragraph.
_NESTED = 6
# Share of letters and spaces from which an indented block after a colon is prose.
_WORDY = 0.8


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines that are one block, `last` exclusive. `level` and `title` are those of a heading."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""


def blocks_of(document: Document) -> tuple[Block, ...]:
    """Return the blocks of a document; without any, those of its text as Markdown."""
    return document.blocks or blocks_in(document.text, document.pages)


def blocks_in(text: str, pages: Sequence[int] = ()) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text. `pages` are the offsets at which its pages begin."""
    lines = text.split("\n")
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    blocks: list[Block] = []
    above: list[tuple[int, str]] = []
    for group in islice(_groups(lines, plain=False), MOST_BLOCKS):
        start = offsets[group.first]
        start += len(lines[group.first]) - len(lines[group.first].lstrip()) if group.kind != "code" else 0
        end = offsets[group.last - 1] + len(lines[group.last - 1].rstrip())
        if group.kind == "heading":
            above = [heading for heading in above if heading[0] < group.level]
        path = tuple(title for _, title in above)
        page = max(1, bisect_right(pages, start)) if pages else None
        blocks.append(Block(kind=group.kind, start=start, end=end, path=path, page=page))
        if group.kind == "heading":
            above.append((group.level, group.title[:HEADING]))
    return tuple(blocks)


def pieces_of(text: str, *, plain: bool = False) -> list[Piece]:
    """Return the pieces of a text: Markdown, or with `plain` one in which `#` seldom means a heading."""
    return _pieces(text.split("\n"), plain=plain)


def _groups(lines: Sequence[str], *, plain: bool) -> Iterator[_Group]:
    """Yield the groups of lines in their order."""
    titles: dict[tuple[str, bool], int] = {}
    index = 0
    while index < len(lines):
        if not lines[index].strip():
            index += 1
            continue
        group = _special(lines, index, titles, plain=plain)
        if group is None and _BREAK.match(lines[index]):
            index += 1
            continue
        group = group or _paragraph(lines, index, plain=plain)
        yield group
        index = group.last


def _special(lines: Sequence[str], index: int, titles: dict[tuple[str, bool], int], *, plain: bool) -> _Group | None:
    """Return the group that begins here, if it is not a paragraph."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if fence := _FENCE.match(line):
        return _Group("code", index, _fenced(lines, index, fence["mark"]))
    if heading := _heading(lines, index, titles, plain=plain):
        return heading
    if _DOCTEST.match(line):
        return _Group("code", index, _while(lines, index, lambda text: bool(text.strip())))
    if _QUOTE.match(line):
        return _Group("quote", index, _while(lines, index, lambda text: bool(text.strip())))
    if "|" in line and "-" in below and _DELIMITER.match(below) and "|" in below:
        return _Group("table", index, _while(lines, index, lambda text: "|" in text))
    if plain and _GRID.match(line.strip()):
        return _Group("code", index, _grid_end(lines, index))
    if _ITEM.match(line) and not _BREAK.match(line):
        return _Group("list", index, _list_end(lines, index))
    if _MEANING.match(below) and line.strip() and not line.startswith(" "):
        return _Group("definition", index, _indented_end(lines, index + 2))
    if line.startswith(("    ", "\t")) or (plain and line.startswith("  ")):
        end = _indented_end(lines, index)
        return _Group("code", index, end) if end > index else None
    return None


def _heading(lines: Sequence[str], index: int, titles: dict[tuple[str, bool], int], *, plain: bool) -> _Group | None:
    line = lines[index]
    before = lines[index - 1] if index else ""
    below = lines[index + 1] if index + 1 < len(lines) else ""
    hashes = _HASHES.match(line)
    title = bare_title(hashes["title"] or "") if hashes else ""
    if hashes and title and (not plain or not (before.strip() or below.strip())):
        return _Group("heading", index, index + 1, len(hashes["signs"]), collapse(title))
    if not plain:
        rule = _MARKDOWN_RULE.match(below)
        if rule and not before.strip() and _can_be_title(line) and "|" not in line and not _ITEM.match(line):
            return _Group("heading", index, index + 2, 1 if rule[1][0] == "=" else 2, collapse(line))
        return None
    over = _RULE.match(line)
    if over and index + 2 < len(lines) and lines[index + 2].strip() == line.strip() and _can_be_title(below):
        level = titles.setdefault((over[1], True), len(titles) + 1)
        return _Group("heading", index, index + 3, level, collapse(below))
    under = _RULE.match(below)
    if (
        under
        and not over
        and not before.strip()
        and _can_be_title(line)
        and len(below.strip()) * 2 >= len(line.strip())
    ):
        level = titles.setdefault((under[1], False), len(titles) + 1)
        return _Group("heading", index, index + 2, level, collapse(line))
    return None


def bare_title(title: str) -> str:
    """Return a title without tags of HTML and without the signs at its end."""
    title = _TAG.sub("", title).strip()
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title


def _can_be_title(line: str) -> bool:
    return 0 < len(line.strip()) <= _TITLE and not line.startswith(("    ", "\t")) and not _RULE.match(line.strip())


def _fenced(lines: Sequence[str], index: int, mark: str) -> int:
    for number in range(index + 1, len(lines)):
        stripped = lines[number].strip()
        if stripped.startswith(mark) and not stripped.strip(mark[0]):
            return number + 1
    return len(lines)


def _while(lines: Sequence[str], index: int, belongs: object) -> int:
    assert callable(belongs)
    while index < len(lines) and belongs(lines[index]):
        index += 1
    return index


def _grid_end(lines: Sequence[str], index: int) -> int:
    """Return the end of a drawn table; one with `===` continues over blank lines to its last rule."""
    end = _while(lines, index, lambda text: bool(text.strip()))
    if lines[index].lstrip().startswith("="):
        rules = [n for n in range(index, min(index + 400, len(lines))) if lines[n].strip() == lines[index].strip()]
        end = max(end, rules[min(2, len(rules) - 1)] + 1)
    return end


def _list_end(lines: Sequence[str], index: int) -> int:
    """Return the end of a list: items, indented lines, and lines that continue an item without a blank line."""
    first = _ITEM.match(lines[index])
    assert first
    indent, end = _width(first["indent"]), index + 1
    bullet = first["number"] is None
    for number in range(index + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        item, inner = _ITEM.match(line), _width(line) > indent
        same = item is not None and (item["number"] is None) == bullet and not _BREAK.match(line)
        after_blank = not lines[number - 1].strip()
        if not (inner or same or (not after_blank and item is None)) or _ends_list(line, inner=inner):
            break
        end = number + 1
    return end


def _ends_list(line: str, *, inner: bool) -> bool:
    return not inner and bool(_HASHES.match(line) or _FENCE.match(line) or _RULE.match(line))


def _indented_end(lines: Sequence[str], index: int) -> int:
    """Return the end of the indented lines from here on, including blank lines between them."""
    end = index
    for number in range(index, len(lines)):
        if lines[number].startswith((" ", "\t")):
            end = number + 1
        elif lines[number].strip():
            break
    if end < len(lines) and end > index and lines[end].strip() and end == index + 1:
        return index  # only the first line of a paragraph is indented
    return end


def _width(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _paragraph(lines: Sequence[str], index: int, *, plain: bool) -> _Group:
    """Return the paragraph that begins here; it ends at a blank line, or where another kind of block begins."""
    end = index + 1
    while end < len(lines) and lines[end].strip():
        line = lines[end]
        item = _ITEM.match(line)
        if item and (item["number"] in (None, "1")) and not _BREAK.match(line):
            break
        if _FENCE.match(line) or _QUOTE.match(line) or (not plain and _HASHES.match(line)):
            break
        if plain and (line.startswith("\u3000") or (end == index + 1 and _is_term(lines, index))):
            break
        end += 1
    return _Group("paragraph", index, end)


def _is_term(lines: Sequence[str], index: int) -> bool:
    """Return whether the next line begins an indented definition."""
    return not lines[index].startswith(" ") and lines[index + 1].startswith("  ")


def _pieces(lines: Sequence[str], *, plain: bool, depth: int = 0) -> list[Piece]:
    pieces: list[Piece] = []
    if depth >= _NESTED:
        return [Piece("paragraph", text)] if (text := collapse("\n".join(lines))) else []
    for group in islice(_groups(lines, plain=plain), MOST_BLOCKS + 1):
        own = lines[group.first : group.last]
        if group.kind == "heading":
            pieces.append(Piece("heading", group.title, level=group.level))
        elif group.kind == "paragraph":
            pieces += _joined(own, plain=plain)
        elif group.kind == "code":
            pieces += _code(own, pieces, plain=plain, depth=depth)
        elif group.kind == "list":
            pieces.append(_list(own, plain=plain, depth=depth))
        elif group.kind == "table":
            pieces.append(_table(own))
        elif group.kind == "quote":
            inner = _pieces([_QUOTE.sub("", line, count=1) for line in own], plain=plain, depth=depth + 1)
            pieces.append(Piece("quote", items=[Item(inner)]))
        else:
            meaning = [_MEANING.sub("", own[1], count=1), *_dedented(own[2:])]
            pieces.append(
                Piece("definition", items=[Item(_pieces(meaning, plain=plain, depth=depth + 1), own[0].strip())])
            )
    return pieces


def _joined(lines: Sequence[str], *, plain: bool) -> list[Piece]:
    """Return the paragraphs of consecutive lines."""
    if plain and _EXPLICIT.match(lines[0]):
        return []  # a comment, target or directive of reStructuredText
    if not plain:
        text = collapse("\n".join(lines))
        if _HTML.match(text):
            text = collapse(_TAG.sub(" ", _uncommented(text)))
        return [Piece("paragraph", text)] if text else []
    widths = [(len(line) + weight(line)) // 2 for line in lines]
    widest = max(widths)
    parts: list[list[str]] = [[]]
    for line, width in zip(lines, widths, strict=True):
        parts[-1].append(line)
        if widest > _WRAPPED or (width < widest / 2 and _SENTENCE_END.search(line.rstrip())):
            parts.append([])
    return [Piece("paragraph", collapse(_HYPHEN.sub("-", "\n".join(part)))) for part in parts if part]


def _uncommented(text: str) -> str:
    """Return HTML without comments."""
    parts, offset = [], 0
    while (start := text.find("<!--", offset)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[offset:start])
        offset = end + 3
    return " ".join([*parts, text[offset:]])


def _code(lines: Sequence[str], before: Sequence[Piece], *, plain: bool, depth: int) -> list[Piece]:
    """Return fenced or indented lines as code; in plain text also as prose, unless a line introduces an example."""
    if fence := _FENCE.match(lines[0]):
        closed = len(lines) > 1 and lines[-1].strip().startswith(fence["mark"])
        body = "\n".join(lines[1 : -1 if closed else None]).strip("\n")
        return [Piece("code", body)] if body.strip() else []
    if not plain or _DOCTEST.match(lines[0]) or _GRID.match(lines[0].strip()):
        return [Piece("code", "\n".join(_dedented(lines)).rstrip())]
    text = "\n".join(_dedented(lines)).rstrip()
    if all(_OPTION.match(line) for line in text.split("\n") if line.strip()):
        return []
    led = before[-1].text if before and before[-1].kind == "paragraph" else ""
    if led.endswith("::"):
        before[-1].text = led[:-1]
        return [Piece("code", text)]
    if not _reads(text):
        return [Piece("code", text)]
    inner = _pieces(text.split("\n"), plain=plain, depth=depth + 1)
    return [Piece("quote", items=[Item(inner)])] if led.endswith(_COLONS) and inner else inner


def _reads(text: str) -> bool:
    """Return whether lines begin like prose: words up to the end of a sentence, and few signs."""
    first = text.split("\n\n", 1)[0].rstrip()
    if any(line.startswith("  ") for line in first.split("\n")) or ">>>" in first:
        return False
    wordy = sum(sign.isalnum() or sign.isspace() for sign in first) / len(first)
    return wordy > _WORDY and (bool(_SENTENCE_END.search(first)) or first.endswith(_COLONS))


def _list(lines: Sequence[str], *, plain: bool, depth: int) -> Piece:
    first = _ITEM.match(lines[0])
    assert first
    indent = _width(first["indent"])
    own: list[list[str]] = []
    inside = 0
    for line in lines:
        item = _ITEM.match(line)
        if item and _width(item["indent"]) <= indent + (1 if own else 0) and not _BREAK.match(line):
            inside = len(item[0].expandtabs(4))
            own.append([line[item.end() :]])
        elif own:
            width = min(inside, _width(line))
            own[-1].append(line.expandtabs(4)[width:] if line.strip() else "")
    items = [Item(_pieces(part, plain=plain, depth=depth + 1)) for part in own]
    number = int(first["number"] or 1)
    return Piece("list", level=number, ordered=first["number"] is not None, items=items)


def _table(lines: Sequence[str]) -> Piece:
    rows = [_cells(line) for number, line in enumerate(lines) if number != 1]
    width = max(map(len, rows))
    return Piece("table", rows=[[*row, *[""] * (width - len(row))] for row in rows], header=1)


def _cells(line: str) -> list[str]:
    parts = _CELL_BORDER.split(line.strip().removeprefix("|"))
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [part.strip().replace("\\|", "|") for part in parts]


def _dedented(lines: Sequence[str]) -> list[str]:
    wide = [line.expandtabs(4) for line in lines]
    common = min((len(line) - len(line.lstrip()) for line in wide if line.strip()), default=0)
    return [line[common:] for line in wide]
