"""What a page is, where its header does not say, or says what cannot be."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from leadline_plugins.parse.media import bare, media_type

_VAGUE = {"", "application/octet-stream", "binary/octet-stream", "application/download", "application/x-download"}
_XML = {"text/xml", "application/xml"}
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_FEED = re.compile(rb"<(rss|feed|rdf:rdf)\b", re.IGNORECASE)
_HEAD = 1024
"""Bytes that are looked at, as browsers do."""


def vague(header: str) -> bool:
    """Tell whether a Content-Type leaves open what the body is."""
    return bare(header) in _VAGUE


def sniff(header: str, data: bytes, url: str) -> str:
    """Return the media type of a body."""
    head, kind = data[:_HEAD].lstrip(), bare(header)
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    if kind in _XML | _VAGUE and _FEED.search(head):
        return _with("application/rss+xml", header)
    if kind in _XML | _VAGUE and _HTML.search(head):
        return _with("text/html", header)
    if kind not in _VAGUE:
        return header
    return media_type(urlsplit(url).path)


def _with(kind: str, header: str) -> str:
    """Return another type with the parameters of the header, its charset among them."""
    _, semicolon, parameters = header.partition(";")
    return kind + semicolon + parameters
