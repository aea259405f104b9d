"""Recognize pages that say they are not the page: soft 404, challenges, consent, errors of servers and proxies.

Only signs of structure count, not sentences, so that all languages are alike. Each sign also occurs on real pages: two
are needed, on a page with little text, and one fact is one sign wherever it is seen. Hidden elements, navigation,
headers and footers do not count.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from itertools import dropwhile, islice
from typing import Any
from urllib.parse import urlsplit

from leadline_plugins.parse.html_tree import Hidden
from leadline_plugins.parse.layout import weight

# Weight of the text of a page that asks for consent or a check, of one that may be too short to answer anything, and of
# one sentence; links of a page without content of its own.
_SOME, _SHORT, _ALMOST_NONE, _FEW_LINKS = 1800, 450, 100, 10
_ERRORS = [status for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST]
_CODE = rf"(?<![A-Za-z\d.,])(?:{'|'.join(str(int(status)) for status in _ERRORS)})(?![A-Za-z\d]|[.,]\d)"
# A phrase of one word, such as Gone, may be the title of a page. The last two are those of proxies and firewalls.
_PHRASES = [*(status.phrase for status in _ERRORS if " " in status.phrase), "Access Denied", "Request Rejected"]
_STATUS = re.compile("|".join((_CODE, *_PHRASES)), re.IGNORECASE)
# A number of the text's own: no code of a status, address of a machine, reference or item of a numbered list.
_FIGURE = re.compile(rf"(?<![\w.#:/-])(?!{_CODE})\d{{1,7}}(?:[.,:]\d+)?(?![\w-]*[\d_]|\.\d)", re.ASCII)
# Words in the id or class of an element that has most of the text.
_NAMED = r"(?<![a-z])(err|error|notfound|captcha|challenge|consent|gdpr|interstitial|redirect)(?![a-z])"
# Elements, scripts, forms and fields that are named for a check, whatever text they have, and forms for consent.
_CHECKS = 'form[action*="consent" i], ' + ", ".join(
    f'[{name}*="{word}" i]' for name in ("id", "class", "src", "action", "name") for word in ("captcha", "challenge")
)
# A form without these asks for nothing but a press of a button.
_FIELDS = "textarea, input:not([type]), input:is([type=text i], [type=search i], [type=email i], [type=password i])"
# Elements with such a name, and forms, that are inspected, and characters of each.
_MOST, _INSPECTED = 50, 100_000
# What is not the content of a page; a header with a heading is that of an article.
_CHROME = "nav, footer, aside, header:not(:has(h1, h2)), " + ", ".join(
    f'[role="{role}"]' for role in ("banner", "complementary", "contentinfo", "navigation")
)
_NOINDEX = 'meta[name="robots" i][content*="noindex" i]'
_PARTS = re.compile(r"\s[-–—|·»]\s|[｜|]")
_HOME = re.compile(r"^https?://(www\.)?")


def no_page_signs(page: Any, url: str, text: str, hidden: Hidden) -> list[str]:
    """Return the signs that a page of the web with this main text is not the page; fewer than 2 mean nothing."""
    size = weight(text)
    if size > _SOME or page.body is None:
        return []
    chrome = {node.mem_id for node in page.css(_CHROME)}
    for node in page.body.traverse():
        if node.parent.mem_id in chrome or hidden(node.tag, node.attributes):
            chrome.add(node.mem_id)

    def select(css: str) -> list[Any]:
        return [node for node in page.css(css) if node.mem_id not in chrome]

    host = (urlsplit(url).hostname or "").removeprefix("www.")
    title, links = _line(page.css_first("title")), select("a[href]")
    headings = [_line(node) for node in select("h1, h2, h3, h4")]
    labels = [title, *headings, *map(_line, page.css("address a"))]
    kind = title.replace("：", ":").rpartition(":")[0]
    off_topic = bool(headings) and not any(heading.casefold() in title.casefold() for heading in headings if heading)
    after = dropwhile(lambda node: node.tag == "a", select("h1, h2, h3, h4, a[href]"))
    lines = ["".join(line.strip("#*-> ").split()) for line in text.splitlines()]

    def holds_text(node: Any) -> bool:
        inside = "".join(node.text()[:_INSPECTED].split())
        return 2 * sum(len(line) for line in lines if line in inside) > sum(map(len, lines))

    names = ((node, f"{node.id or ''} {node.attributes.get('class') or ''}") for node in select("body, body *"))
    elements = (node for node, name in names if re.search(_NAMED, name, re.IGNORECASE))
    named = {node.mem_id for node in islice(elements, _MOST) if holds_text(node)}
    # Some systems put the whole page into a form.
    forms = select('form:not(:has(main, nav, footer, [href="/"])), [role="dialog"]')[:_MOST]
    few_links = len(links) <= _FEW_LINKS
    short = size < _SHORT and not _FIGURE.search(text)
    signs = {
        "a short text without figures, that has no links or another subject than the title": short
        and (size < _ALMOST_NONE or off_topic or page.css_first("a[href]") is None),
        "a status in its title or heading": any(map(_STATUS.search, (title, *headings))),
        "a host as its title or heading": any(_is_host(label, host) for label in labels),
        "a heading of one word that its title begins with": bool(headings[1:]) and kind.split() == [headings[0]],
        "an element that is named for it": bool(named),
        "a form instead of text": any(map(holds_text, forms)) or (few_links and bool(forms) and not select(_FIELDS)),
        "a redirect": page.css_first('meta[http-equiv="refresh" i][content*="url" i]') is not None,
        # A title without parts may be the name of the site.
        "a link home after a heading that its title lacks": short
        and off_topic
        and _PARTS.search(title) is not None
        and any(_HOME.sub("", node.attributes.get("href") or "") in ("/", f"{host}/") for node in after),
        "a script or field named for a check": few_links and any(node.mem_id not in named for node in select(_CHECKS)),
        "a request not to index it": few_links and page.css_first(_NOINDEX) is not None,
        "a field for a password": few_links and bool(select('input[type="password" i]')),
    }
    return [sign for sign, present in signs.items() if present]


def _line(node: Any) -> str:
    return " ".join(node.text().split()) if node else ""


def _is_host(label: str, host: str) -> bool:
    """Return whether a label is the host of the page, or of another: `www.example.org`, but not `Node.js`."""
    name = label.lower().rstrip("/ …")
    name = name.removeprefix("https://").removeprefix("http://")
    return bool(name) and (name.partition("/")[0] == host or bool(re.fullmatch(r"www\.\S+", name)))
