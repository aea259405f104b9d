"""The blocks of a draft: which lines are code, which are headings; and code that is left open, closed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from leadline.citations import CITATION, cite, cited, uncited
from leadline_plugins.drafts.known import Known
from leadline_plugins.formats.syntax import parser

if TYPE_CHECKING:
    from markdown_it.token import Token

BLANK = re.compile(r"(\n(?:[ \t]*+\n)++)")
_MARK = re.compile(r"`{3,}|~{3,}")
_TRIES = 3
"""Blocks of code that are closed before the text goes on; each costs another look at the whole."""


@lru_cache(maxsize=8)
def tokens(text: str) -> Sequence[Token]:
    """Return the tokens of the blocks; what stands within a line is not looked at. Kept, for each step asks anew."""
    made = parser()
    found: list[Token] = []
    made.block.parse(text, made, {}, found)
    return found


def runs(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the runs of lines, each with whether it is code."""
    blocks = (token for token in tokens(text) if token.type in {"fence", "code_block"})
    code = {line for block in blocks if block.map for line in range(*block.map)}
    for is_code, lines in groupby(enumerate(text.split("\n")), key=lambda numbered: numbered[0] in code):
        yield is_code, "\n".join(line for _, line in lines)


def closed(text: str, known: Known) -> str:
    """Return a text whose blocks of code all end: where the text goes on with what it cites, else at its end."""
    for _ in range(_TRIES):
        opened = _open(text)
        if opened is None:
            return text
        lines = text.split("\n")
        mark = (_MARK.search(lines[opened]) or [""])[0]
        onward = _onward(lines, opened, known)
        if onward == len(lines):
            break
        text = "\n".join([*lines[:onward], mark, "", *lines[onward:]])
    opened = _open(text)
    if opened is None:
        return text
    mark = (_MARK.search(text.split("\n")[opened]) or [""])[0]
    return f"{text.rstrip()}\n{mark}"


def _open(text: str) -> int | None:
    """Return the line of the block of code that goes on to the end of a text without a closing mark."""
    fences = [token for token in tokens(text) if token.type == "fence" and token.level == 0 and token.map]
    if not fences or not fences[-1].map:
        return None
    (start, end), lines = fences[-1].map, text.split("\n")
    if lines[end:] and "".join(lines[end:]).strip():
        return None
    last = next((line.strip() for line in reversed(lines[start + 1 : end]) if line.strip()), "")
    mark = fences[-1].markup
    return None if last and set(last) == {mark[0]} and len(last) >= len(mark) else start


def _onward(lines: list[str], opened: int, known: Known) -> int:
    """Return the first line of the first paragraph behind the first that cites: it was meant to be read."""
    begins = len(lines)
    for place in range(opened + 1, len(lines)):
        if not lines[place].strip():
            begins = place + 1
        elif begins <= place and any(name in known.exact for name in cited(lines[place])):
            return begins
    return len(lines)


def code(text: str, known: Known) -> str:
    """Return code without citations; what it cites stands behind it."""
    found = [name for name in cited(text) if name in known.exact]
    if not CITATION.search(text):
        return text
    text = uncited(text)
    return f"{text}\n{''.join(map(cite, dict.fromkeys(found)))}" if found else text
