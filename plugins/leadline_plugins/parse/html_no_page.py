"""Recognize pages that say they are not the page: soft 404, challenges, consent, errors of servers and proxies.

Only signs of structure count, not sentences, so that all languages are alike. Each sign also occurs on real pages: two
are needed, on a page with little text.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

# Characters of a page with little text, and of one with almost none.
_LITTLE, _ALMOST_NONE = 1000, 400
_ERRORS = [status for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST]
_CODE = re.compile(rf"(?<![\d.,])(?:{'|'.join(str(int(status)) for status in _ERRORS)})(?![\d.,]\d|\d)")
# A phrase of one word, such as Gone, may be the title of a page.
_PHRASE = re.compile("|".join(status.phrase for status in _ERRORS if " " in status.phrase), re.IGNORECASE)
# Words in the id or class of an element that has most of the text.
_NAMED = frozenset({"err", "error", "notfound", "captcha", "challenge", "consent", "interstitial", "redirect"})
# Elements with such a name that are inspected.
_MOST = 50
_WORD = re.compile(r"[a-z]+|\d+")


def no_page_signs(page: Any, url: str, text: str) -> list[str]:
    """Return the signs that a page of the web with this main text is not the page; fewer than 2 mean nothing."""
    if len(text) > _LITTLE or page.body is None:
        return []
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    title = _line(page.css_first("title"))
    headings = [_line(node) for node in page.css("h1, h2")]
    whole = len(page.body.text(strip=True)) or 1
    elements = [page.body, *page.css("body [id], body [class]")]
    named = (node for node in elements if _NAMED.intersection(_WORD.findall(_names(node))))
    forms, buttons = (sum(len(node.text(strip=True)) for node in page.css(tag)) for tag in ("form", "button"))
    labels = [*headings, *map(_line, page.css("address a"))]
    signs = {
        "a status code in its title or heading": any(map(_CODE.search, (title, *headings))),
        "the phrase of an error in its title": bool(_PHRASE.search(title)),
        "the phrase of an error as its heading": any(map(_PHRASE.search, headings)),
        "a host as its heading": any(_is_host(label, host) for label in labels),
        "a heading of one word that its title begins with": headings[1:]
        and title.partition(":")[0].split() == [headings[0]],
        "an element that is named for it": any(len(node.text(strip=True)) > whole / 2 for node in islice(named, _MOST)),
        "a form instead of text": max(forms, buttons) > whole / 2,
        "a redirect": page.css_first('meta[http-equiv="refresh" i][content*="url" i]') is not None,
        "almost no text": len(text) < _ALMOST_NONE,
    }
    return [sign for sign, present in signs.items() if present]


def _line(node: Any) -> str:
    return " ".join(node.text().split()) if node else ""


def _names(node: Any) -> str:
    return f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}".lower()


def _is_host(label: str, host: str) -> bool:
    """Return whether a label is the host of the page, or of another: `www.example.org`, but not `Node.js`."""
    name = label.lower().rstrip("/ …")
    return bool(name) and (name == host or bool(re.fullmatch(r"www\.\S+", name)))
