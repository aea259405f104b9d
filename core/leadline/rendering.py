"""Foreign text and addresses in rendered reports: without harmful characters, and safe to follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from leadline.display import visible


class VerdictForm(NamedTuple):
    """How reports, terminal and page show a verdict: sign after the claim, English name; `bad` fails the claim."""

    sign: str
    name: str
    tone: Literal["bad", "doubt", "open", "good"]


VERDICTS: Mapping[str, VerdictForm] = {
    "contradicted": VerdictForm("≠", "contradicted", "bad"),
    "unsupported": VerdictForm("?", "unsupported", "bad"),
    "partial": VerdictForm("≈", "supported in part", "doubt"),
    "not_judged": VerdictForm("○", "not judged", "open"),
    "uncited": VerdictForm("†", "without a citation", "doubt"),
    "supported": VerdictForm("", "supported", "good"),
}
"""The verdicts, and `uncited` paragraphs, from worst to best."""
SIGN = "\ufdd0"
_SIGNS = re.compile(rf"\[?{SIGN}(?:\d{{1,6}}\])?")
# Characters; programs that read or write PDF and Word files refuse longer addresses.
LONGEST = 2000
_SAFE = re.compile(r"(?:https?|ftp)://[^\s/?#]|mailto:", re.IGNORECASE)
_CODED = re.compile(r"(?:%[0-9a-f]{2})+", re.IGNORECASE)
_LETTERS = re.compile(r"(?:%[89a-f][0-9a-f])+", re.IGNORECASE)
_ODD = re.compile(r"[\s\"<>\\^`{|}]")
# Braces of BibTeX that keep capitals; catalogs copy them with the titles.
_KEPT = re.compile(r"\{\{([^{}]*)\}\}|\$\\\{\$([^$]*)\$\\\}\$")


def clean(text: str) -> str:
    """Return a text without invisible characters and marks of renderers."""
    return visible(_SIGNS.sub("", text) if SIGN in text else text)


def plain_title(text: str) -> str:
    """Return the title of a source in one line without markup."""
    return " ".join(_KEPT.sub(lambda match: match[1] or match[2] or "", text).replace("`", "").split())


def safe_url(url: str) -> str:
    """Return an address that a link may have; empty unless it leads to the web, to FTP or to mail.

    Characters that an address must not have are percent-encoded: programs that read Word files refuse them.
    """
    url = clean(url).strip()
    if not _SAFE.match(url) or len(url) > LONGEST:
        return ""
    return _ODD.sub(lambda sign: quote(sign[0]), url)


def readable_url(url: str) -> str:
    """Return the address of a source for readers: of a document of one's own the folder and the path in it.

    Of a stored document, or a file elsewhere, only its name is shown, since reports are shared. In a path, letters
    outside ASCII are decoded and a space stays encoded.
    """
    scheme, mark, rest = url.partition("://")
    if not mark or scheme not in ("local", "knowledge", "file"):
        return url
    path = rest.partition("/")[2] if scheme == "local" else rest.rpartition("/")[2]
    return (_LETTERS if scheme == "local" else _CODED).sub(_decoded, path)


def _decoded(coded: re.Match[str]) -> str:
    try:
        letters = unquote(coded[0], errors="strict")
    except UnicodeDecodeError:
        return coded[0]
    return letters if letters.isprintable() else coded[0]
