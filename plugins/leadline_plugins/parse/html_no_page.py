"""Recognize pages that say they are not the page: soft 404, challenges, consent, errors of servers and proxies.

Only signs of structure count, not sentences, so that all languages are alike. Each sign also occurs on real pages: two
are needed, on a page with little text. Signs that are common on real pages count only where few links lead elsewhere.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

# Characters of a page that asks for consent or a check, of an error, and of a page with almost none; links of a page
# without navigation.
_SOME, _LITTLE, _ALMOST_NONE, _FEW_LINKS = 1800, 1000, 400, 10
_ERRORS = [status for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST]
_CODE = re.compile(rf"(?<![\d.,])(?:{'|'.join(str(int(status)) for status in _ERRORS)})(?![\d.,]\d|\d)")
# A phrase of one word, such as Gone, may be the title of a page.
_PHRASES = [status.phrase for status in _ERRORS if " " in status.phrase]
# What proxies and firewalls title their refusals.
_PHRASE = re.compile("|".join((*_PHRASES, "Access Denied", "Request Rejected")), re.IGNORECASE)
_STATUS = re.compile("|".join(rf"{int(status)}\W{{1,3}}{status.phrase}" for status in _ERRORS), re.IGNORECASE)
# Words in the id or class of an element that has most of the text.
_NAMED = frozenset({"err", "error", "notfound", "captcha", "challenge", "consent", "gdpr", "interstitial", "redirect"})
# Elements, scripts, forms and fields that are named for a check, whatever text they have, and forms for consent.
_CHECKS = ", ".join(
    ['form[action*="consent" i]']
    + [
        f'[{name}*="{word}" i]'
        for name in ("id", "class", "src", "action", "name")
        for word in ("captcha", "challenge")
    ]
)
# A form without these asks for nothing but a press of a button.
_FIELDS = 'input:not([type]), input[type="text" i], input[type="search" i], input[type="email" i], textarea'
# Elements with such a name that are inspected.
_MOST = 50
_WORD = re.compile(r"[a-z]+|\d+")


def no_page_signs(page: Any, url: str, text: str) -> list[str]:
    """Return the signs that a page of the web with this main text is not the page; fewer than 2 mean nothing."""
    if len(text) > _SOME or page.body is None:
        return []
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    title = _line(page.css_first("title"))
    headings = [_line(node) for node in page.css("h1, h2")]
    kind = title.replace("：", ":").rpartition(":")[0]
    labels = [title, *headings, *map(_line, page.css("address a"))]
    whole = len(page.body.text(strip=True)) or 1
    elements = [page.body, *page.css("body [id], body [class]")]
    named = (node for node in elements if _NAMED.intersection(_WORD.findall(_names(node))))
    forms, buttons = (sum(len(node.text(strip=True)) for node in page.css(tag)) for tag in ("form", "button"))
    signs = {
        "a host as its title or heading": any(_is_host(label, host) for label in labels),
        "an element that is named for it": any(len(node.text(strip=True)) > whole / 2 for node in islice(named, _MOST)),
        "a form instead of text": max(forms, buttons) > whole / 2,
        "a redirect": page.css_first('meta[http-equiv="refresh" i][content*="url" i]') is not None,
        "almost no text": len(text) < _ALMOST_NONE,
    }
    if len(text) <= _LITTLE:
        signs |= {
            "a status code in its title or heading": any(map(_CODE.search, (title, *headings))),
            "a status code with its phrase": bool(_STATUS.search(text)),
            "the phrase of an error in its title": bool(_PHRASE.search(title)),
            "the phrase of an error as its heading": any(map(_PHRASE.search, headings)),
            "a heading of one word that its title begins with": bool(headings[1:]) and kind.split() == [headings[0]],
        }
    if len(page.css("a[href]")) <= _FEW_LINKS:
        signs |= {
            "a script, form or field that is named for a check": page.css_first(_CHECKS) is not None,
            "a request not to index it": page.css_first('meta[name="robots" i][content*="noindex" i]') is not None,
            "a form with buttons only": page.css_first("form") is not None and page.css_first(_FIELDS) is None,
            "a field for a password": page.css_first('input[type="password" i]') is not None,
        }
    return [sign for sign, present in signs.items() if present]


def _line(node: Any) -> str:
    return " ".join(node.text().split()) if node else ""


def _names(node: Any) -> str:
    return f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}".lower()


def _is_host(label: str, host: str) -> bool:
    """Return whether a label is the host of the page, or of another: `www.example.org`, but not `Node.js`."""
    name = label.lower().rstrip("/ …")
    name = name.removeprefix("https://").removeprefix("http://")
    return bool(name) and (name.partition("/")[0] == host or bool(re.fullmatch(r"www\.\S+", name)))
