"""Addresses a reader may follow: to the web, to files there, to mail; nothing that runs, nothing of the reader's."""

from __future__ import annotations

import re

from leadline_plugins.formats.tree import Node, attributes, clean, link, words

LONGEST = 2000
"""Characters; longer ones are refused by programs that show PDF and Word files, and by those that write them."""
_SAFE = re.compile(r"(?:(?:https?|ftp)://[^\s\"<>\\^`{|}/?#]|mailto:)[^\s\"<>\\^`{|}]*", re.IGNORECASE)


def followable(url: str) -> bool:
    """Return whether an address may be a link; one with spaces, quotes or the like is none, and breaks Word files."""
    return len(url) <= LONGEST and bool(_SAFE.fullmatch(url))


def shown(url: str) -> list[Node]:
    """Return an address as a link to itself; as words where it is none to follow."""
    address = words(url)
    return [link(address, clean(url), attributes("", "url"))] if followable(clean(url)) else address
