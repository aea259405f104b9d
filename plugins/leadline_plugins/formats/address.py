"""How a source is named: its title, and an address that a reader may follow.

That leads to the web, to files there, to mail; nothing that runs, nothing of the reader's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from urllib.parse import quote, unquote

from leadline_plugins.formats.tree import Node, attributes, clean, link, words

LONGEST = 2000
"""Characters; longer ones are refused by programs that show PDF and Word files, and by those that write them."""
_SAFE = re.compile(r"(?:https?|ftp)://[^\s/?#]|mailto:", re.IGNORECASE)
_LETTERS = re.compile(r"(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
_ODD = re.compile(r"[\s\"<>\\^`{|}]")

_KEPT = re.compile(r"\{\{([^{}]*)\}\}|\$\\\{\$([^$]*)\$\\\}\$")
"""What BibTeX has in braces, so that a style leaves its capitals as they are: catalogues take titles from there."""


def titled(text: str) -> str:
    """Return the title of a source on one line, as it is read."""
    return " ".join(_KEPT.sub(lambda kept: kept[1] or kept[2] or "", text).split())


def followable(url: str) -> str:
    """Return an address as a link may have it; empty for one that nobody should follow.

    Signs that are none of an address are written by their number: programs that read Word files refuse them.
    """
    url = clean(url).strip()
    if not _SAFE.match(url) or len(url) > LONGEST:
        return ""
    return _ODD.sub(lambda sign: quote(sign[0]), url)


def shown(url: str, folder: str = "") -> list[Node]:
    """Return an address as a link to itself; as words where it is none to follow, a file relative to its folder."""
    if target := followable(url):
        return [link(words(url), target, attributes("", "url"))]
    inside = folder and url.startswith(folder)
    return words(unquote(url.removeprefix(folder)) if inside else readable(url))


def common_folder(urls: Iterable[str]) -> str:
    """Return the address, with its slash, of the folder that all files among some addresses lie in; empty for none."""
    folders = [url.rpartition("/")[0].split("/") for url in urls if url.startswith("file:///")]
    common = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))]
    return "/".join((*common, "")) if any(common[1:]) else ""


def readable(url: str) -> str:
    """Return the address of a file with the letters that it has, where they were written by their number.

    Only letters beyond ASCII: what stands for a space or a percent sign stays, and the address is the same one.
    """
    return _LETTERS.sub(_letters, url) if url.startswith("file:") else url


def _letters(coded: re.Match[str]) -> str:
    try:
        said = unquote(coded[0], errors="strict")
    except UnicodeDecodeError:
        return coded[0]
    return said if said.isprintable() else coded[0]
