"""Blocks of a Markdown report as visible text, with the spans of links, code and web addresses."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from leadline_plugins.formats.report_markdown import MarkdownBlock, block_tree

Span = tuple[int, int]

_URL = re.compile(r"https?://[^\s<>\"`|，。；、：！？（）【】「」『』《》“”]+")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_TRAILING = ".,;:!?'*_\\"
_NUMBERS = re.compile(r"[\[【]?\^?[\w.-]{0,3}\d{1,3}(?:\s*[,，–-]\s*\d{1,3})*[\]】]?")
_SUP = re.compile(r"\[?\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]?")


@dataclass
class VisibleText:
    """Visible text with the spans of `links` (and their addresses), `code`, `images` and `escaped` brackets."""

    text: str = ""
    links: list[tuple[int, int, str]] = field(default_factory=list)
    code: list[Span] = field(default_factory=list)
    escaped: list[Span] = field(default_factory=list)
    images: list[Span] = field(default_factory=list)

    def add(self, other: VisibleText, between: str = "") -> None:
        """Append another text."""
        at = len(self.text) + len(between)
        self.text += between + other.text
        self.links += [(start + at, end + at, url) for start, end, url in other.links]
        self.code += [(start + at, end + at) for start, end in other.code]
        self.escaped += [(start + at, end + at) for start, end in other.escaped]
        self.images += [(start + at, end + at) for start, end in other.images]

    def bare(self) -> Iterator[tuple[int, int, str]]:
        """Yield the web addresses that are not links."""
        taken = Spans([*self.links, *self.code])
        for start, end in addresses(self.text):
            if start not in taken:
                yield start, end, self.text[start:end]


class Spans:
    """Contains the offsets in any of its spans. A lookup takes logarithmic time: hostile reports have many spans."""

    def __init__(self, spans: Iterable[tuple[Any, ...]]) -> None:
        ordered = sorted((span[0], span[1]) for span in spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))

    def __contains__(self, at: int) -> bool:
        index = bisect_right(self._starts, at)
        return index > 0 and self._ends[index - 1] > at


@dataclass(frozen=True)
class ReportBlock:
    """A block of text; `kind` is heading, text, row or code.

    `level` is that of a heading, `number` that of an item in an ordered list, `row` the index of a table row (0 for the
    header), `cells` the spans of its cells.
    """

    kind: str
    flat: VisibleText
    level: int = 0
    number: int | None = None
    item: bool = False
    quoted: bool = False
    row: int = 0
    cells: tuple[Span, ...] = ()


def parse_blocks(markdown: str) -> tuple[list[ReportBlock], dict[str, str]]:
    """Return the blocks of a document, and the addresses of its link definitions by label."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table").disable("text_join")  # keeps escapes as separate tokens
    # Addresses are kept as written, neither encoded nor refused.
    parser.normalizeLink = parser.normalizeLinkText = str  # type: ignore[method-assign,assignment]
    parser.validateLink = bool  # type: ignore[method-assign,assignment]
    env: dict[str, Any] = {}
    tree = block_tree(parser.parse(markdown, env))
    defined = {label.casefold(): reference["href"] for label, reference in env.get("references", {}).items()}
    return list(_blocks(tree)), defined


def _blocks(
    node: MarkdownBlock, *, item: bool = False, quoted: bool = False, number: int | None = None
) -> Iterator[ReportBlock]:
    for child in node.children:
        match child.kind:
            case "heading":
                yield ReportBlock("heading", flatten(child.inline), int(child.token.tag[1]), number, item, quoted)
                number = None
            case "paragraph":
                yield ReportBlock("text", flatten(child.inline), 0, number, item, quoted)
                number = None
            case "list_item":
                own = int(child.token.info) if child.token.info.isdigit() else None
                yield from _blocks(child, item=True, quoted=quoted, number=own)
            case "table":
                rows = (row for part in child.children for row in part.children)
                yield from (_row(row, index, quoted) for index, row in enumerate(rows))
            case "fence" | "code_block" | "html_block":
                yield ReportBlock("code", VisibleText(child.token.content))
            case kind:
                yield from _blocks(child, item=item, quoted=quoted or kind == "blockquote", number=number)


def _row(row: MarkdownBlock, index: int, quoted: bool) -> ReportBlock:
    flat, cells = VisibleText(), list[Span]()
    for cell in row.children:
        flat.add(flatten(cell.inline), " | " if cells else "")
        cells.append((cells[-1][1] + len(" | ") if cells else 0, len(flat.text)))
    return ReportBlock("row", flat, quoted=quoted, row=index, cells=tuple(cells))


def flatten(children: Sequence[Any]) -> VisibleText:
    """Return inline tokens as visible text; a link or superscript with only a number becomes `[1]`."""
    flat, opened, href, raised = VisibleText(), 0, "", False
    for token in children:
        match token.type:
            case "text" | "text_special" if raised and _SUP.fullmatch(token.content):
                flat.text += f"[{token.content.strip('[]')}]"
            case "text" | "text_special":
                if token.info == "escape" and token.content == "[":
                    flat.escaped.append((len(flat.text), len(flat.text) + 1))
                flat.text += token.content
            case "softbreak" | "hardbreak":
                flat.text += "\n"
            case "code_inline":
                flat.code.append((len(flat.text), len(flat.text) + len(token.content)))
                flat.text += token.content
            case "link_open":
                opened, href = len(flat.text), str(token.attrs.get("href", ""))
            case "link_close":
                label = flat.text[opened:]
                while flat.escaped and flat.escaped[-1][0] >= opened:  # the address marks a link
                    flat.escaped.pop()
                if _NUMBERS.fullmatch(label) and label[0] not in "[【":
                    flat.text = f"{flat.text[:opened]}[{label}]"
                flat.links.append((opened, len(flat.text), href))
            case "image":
                shown = len(flat.text)
                flat.add(flatten(token.children or ()))
                flat.images.append((shown, len(flat.text)))
                source = str(token.attrs.get("src", ""))
                flat.links.append((len(flat.text), len(flat.text), source))
            case "html_inline":
                raised = token.content.lower().startswith("<sup")
                flat.text += "\n" if token.content.lower().startswith("<br") else ""
            case _:
                pass
    return flat


# --- web addresses ---------------------------------------------------------------------------------------------------


def addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the web addresses in a text, without trailing punctuation and unpaired brackets."""
    for match in _URL.finditer(text):
        yield match.start(), match.start() + len(trimmed(match.group()))


def trimmed(url: str) -> str:
    """Return an address without trailing punctuation."""
    depth = dict.fromkeys(_PAIRS.values(), 0)
    for at, char in enumerate(url):
        if char in depth:
            depth[char] += 1
        elif char in _PAIRS:
            depth[_PAIRS[char]] -= 1
            if depth[_PAIRS[char]] < 0:
                url = url[:at]
                break
    return url.rstrip(_TRAILING)
