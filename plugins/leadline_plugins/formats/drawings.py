"""Drawings that only draw: an SVG can hold scripts, load from elsewhere, and be broken, which a whole PDF fails of."""

from __future__ import annotations

import re

_ACTIVE = re.compile(
    r"""<(?:\w+:)?(?:script|foreignObject|handler|listener)\b|<!ENTITY|\son\w+\s*=|@import
    |(?:href|src)\s*=\s*["']\s*(?!\#|data:image/(?:png|jpeg);)|url\(\s*["']?(?!\#)""",
    re.IGNORECASE | re.VERBOSE,
)


def harmless(svg: bytes) -> bool:
    """Return whether an SVG is well-formed, and holds nothing that runs or is loaded."""
    from xml.etree.ElementTree import ParseError, fromstring

    try:
        text = svg.decode("utf-8")
        return not _ACTIVE.search(text) and str(fromstring(text).tag).endswith("svg")  # noqa: S314 - without entities
    except (UnicodeDecodeError, ParseError, ValueError):  # the last for a declared encoding
        return False
