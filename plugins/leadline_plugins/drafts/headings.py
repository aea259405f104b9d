"""Headings of a draft: below the section's own, none that says its title again."""

from __future__ import annotations

import re
from collections.abc import Collection

from leadline.citations import CITATION
from leadline_plugins.drafts.blocks import tokens

TOP = 3
"""The level of the highest heading in a section: its own is a second."""
_LONGEST = 120
"""Characters of an underlined line that is a heading; of more it is a paragraph with a line below."""
_BOLD = re.compile(r"\*\*[^*\n]{1,200}\*\*|__[^_\n]{1,200}__")

_NUMBER = re.compile(r"[#\s*_]*(?:(?:section|part|chapter)\s+)?\d{1,2}[.:)]\s+", re.IGNORECASE)
"""Its number, as some models write it before a title."""


def lowered(text: str, titles: Collection[str] = ()) -> str:
    """Return a text with its headings below the section's, each at most one deeper than the last."""
    lines: list[str | None] = [*text.split("\n")]
    above = TOP - 1
    for token in tokens(text):
        if token.type != "heading_open" or not token.map:
            continue
        start, end = token.map
        if token.markup.startswith("#"):
            above = min(max(TOP, len(token.markup)), above + 1)
            lines[start] = (lines[start] or "").replace(token.markup, "#" * above, 1)
            continue
        title = (lines[start] or "").strip()
        if not token.level and end - start == 2 and len(title) <= _LONGEST and not CITATION.search(title):
            above = TOP
            lines[start : end - 1] = [f"{'#' * TOP} {title}"]
            lines[end - 1] = None
        else:
            lines[end - 1] = None if token.level or token.markup == "=" else "\n---"
    return _untitled("\n".join(line for line in lines if line is not None), titles)


def _untitled(text: str, titles: Collection[str]) -> str:
    """Return a text without a first line that is the title of its section."""
    first, _, rest = text.lstrip().partition("\n")
    alone = rest.startswith("\n") and bool(rest.strip())
    if not (first.startswith("#") or _BOLD.fullmatch(first.strip()) or alone):
        return text
    said = _letters(_NUMBER.sub("", first))
    return rest.lstrip("\n") if said and said in {_letters(title) for title in titles} else text


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
