"""The list of sources of a report: below its heading, or lines that start with numbers in brackets."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from tomllib import loads
from typing import Any

from leadline_plugins.verification.reports.blocks import ReportBlock, Spans, VisibleText
from leadline_plugins.verification.reports.marks import Entry
from leadline_plugins.wording.phrases import in_all_languages

_LINE = re.compile(r"\W{0,3}?[\[【［](\^?\d{1,3}|\^[^\]\s]+)[\]】］](?!\()\s*[:.：\-–—]?\s*(\S.*)?", re.DOTALL)
_LETTER = re.compile(r"\w{2}")
# By block: the spans of its lines that are entries, and whether their number is in brackets.
Covered = dict[int, list[tuple[int, int, bool]]]


@dataclass
class Line:
    """A line of a block; `near` if the line before or after has the adjacent number."""

    index: int
    start: int
    flat: VisibleText
    key: str
    bracketed: bool
    listed: bool
    near: bool = False

    @property
    def urls(self) -> tuple[str, ...]:
        """The web addresses of the line."""
        return addresses(self.flat)


def lists(blocks: Sequence[ReportBlock]) -> set[int]:
    """Return the indices of the blocks below a heading of a list of sources.

    In a report of Leadline only its own headings name lists: the others may be titles of documents, such as `notes`.
    """
    listed: set[int] = set()
    level = 0
    own, ours = set(in_all_languages("cited", "additional")), set(in_all_languages("cited"))
    is_ours = any(block.kind == "heading" and block.flat.text.strip() in ours for block in blocks)
    for index, block in enumerate(blocks):
        if (block.kind == "heading" and block.flat.text.strip() in own) if is_ours else titles_list(block):
            level = min(level, block.level or 7) if level else block.level or 7
            listed.add(index)
        elif block.kind == "heading" and level and block.level <= level:
            level = 0
        elif level:
            listed.add(index)
    return listed


def titles_list(block: ReportBlock) -> bool:
    """Return whether a block is the heading of a list of sources, or a line that serves as one."""
    text = block.flat.text.strip()
    if block.kind == "heading":
        return is_list_title(text)
    return block.kind == "text" and block.number is None and _is_title_line(text)


def is_list_title(title: str) -> bool:
    """Return whether a title is that of a list of sources."""
    return len(title) < 80 and bool(_heading().fullmatch(title))


@cache
def _heading() -> re.Pattern[str]:
    title = f"(?:{'|'.join(form for row in headings() for form in row['pattern'])})"
    joint = rf"\s*(?:-?\s*(?:{'|'.join(_table()['conjunctions'])})\s*)"
    ours = "|".join(map(re.escape, in_all_languages("cited", "additional")))
    return re.compile(
        r"[\W_]*(?:(?:\d+(?:\.\d+)*|[一二三四五六七八九十]+|[IVX]+|appendix \w)[.、)）:：]?\s*)?"
        rf"(?:{ours}|{title}(?:{joint}{title})?(?: ?[(（][^()（）]*[)）])?)[\W_]*",
        re.IGNORECASE,
    )


def headings() -> list[dict[str, list[str]]]:
    """Return the patterns of headings in all languages, with examples."""
    rows: list[dict[str, list[str]]] = _table()["headings"]
    return rows


@cache
def _table() -> dict[str, Any]:
    return loads(files(__package__).joinpath("headings.toml").read_text(encoding="utf-8"))


def lines(flat: VisibleText) -> Iterator[tuple[int, VisibleText]]:
    """Yield the lines of a block with their offsets and links."""
    at, links, escaped = 0, sorted(flat.links), sorted(flat.escaped)
    for line in flat.text.split("\n"):
        end = at + len(line)
        own = links[bisect_left(links, (at,)) : bisect_left(links, (end + 1,))]
        raw = escaped[bisect_left(escaped, (at,)) : bisect_left(escaped, (end,))]
        shown = [(start - at, stop - at, url) for start, stop, url in own]
        yield at, VisibleText(line, shown, escaped=[(start - at, stop - at) for start, stop in raw])
        at = end + 1


def entries(
    blocks: Sequence[ReportBlock], listed: set[int], defined: Mapping[str, str]
) -> tuple[dict[str, Entry], Covered]:
    """Return the entries by key, and the spans of blocks that are entries."""
    by_label = {label: Entry(label, url, (url,)) for label, url in defined.items() if re.fullmatch(r"\^?[\w-]+", label)}
    held = [line for line in candidates(blocks, listed) if line.listed or _is_entry(line)]
    for line in sorted(
        held, key=lambda line: not line.bracketed
    ):  # `[3]` is more reliable than the third item of a list
        key = line.key if line.key and line.key not in by_label else f"#{len(by_label) + 1}"
        if line.key or line.urls or _LETTER.search(line.flat.text):
            by_label[key] = Entry(key, _text(line.flat), line.urls)
    covered: Covered = {}
    for line in held:
        covered.setdefault(line.index, []).append((line.start, line.start + len(line.flat.text), line.bracketed))
    return _with_footnote_urls(by_label), covered


def candidates(blocks: Sequence[ReportBlock], listed: set[int]) -> list[Line]:
    """Return every line that might be an entry."""
    all_lines: list[Line] = []
    for index, block in enumerate(blocks):
        under = index in listed
        whole = block.number is not None or block.kind == "row"
        for start, flat in [(0, block.flat)] if whole else lines(block.flat):
            if block.kind not in ("text", "row") or not flat.text.strip() or titles_list(block):
                continue
            if not under and _is_title_line(flat.text):
                under = True
                continue
            match = _LINE.fullmatch(flat.text)
            match = None if match and match.start(1) - 1 in Spans(flat.escaped) else match
            number = str(block.number) if under and block.number is not None else ""
            all_lines.append(Line(index, start, flat, match.group(1) if match else number, bool(match), under))
    for line, after in itertools.pairwise(all_lines):
        line.near |= _follows(line, after)
        after.near |= _follows(line, after)
    return all_lines


def _follows(line: Line, after: Line) -> bool:
    first, second = line.key.lstrip("^"), after.key.lstrip("^")
    return first.isdigit() and second.isdigit() and int(second) == int(first) + 1


def _is_entry(line: Line) -> bool:
    return line.bracketed and (bool(line.urls) or line.near or line.key.startswith("^"))


def _is_title_line(text: str) -> bool:
    return text.rstrip("* _")[-1:] in (":", "：") and is_list_title(text)


def addresses(line: VisibleText) -> tuple[str, ...]:
    """Return the distinct web addresses of a line, in order."""
    return tuple(dict.fromkeys(url for _, _, url in sorted([*line.links, *line.bare()]) if url.startswith("http")))


def _text(line: VisibleText) -> str:
    match = _LINE.fullmatch(line.text)
    return " ".join(((match.group(2) or "") if match else line.text).split())


def _with_footnote_urls(by_label: dict[str, Entry]) -> dict[str, Entry]:
    """Return the entries; footnotes without an address get that of the entry with the same number and title."""
    for key, entry in list(by_label.items()):
        other = by_label.get(key.removeprefix("^")) if key.startswith("^") else None
        if other and not entry.urls and entry.text[:20].casefold() in other.text.casefold():
            by_label[key] = Entry(key, entry.text, other.urls)
    return by_label
