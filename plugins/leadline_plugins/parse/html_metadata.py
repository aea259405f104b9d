"""Title, author, date, language and illustrations of a page.

The metadata is from JSON-LD, meta elements and elements with a fixed meaning, in this order, and never guessed from the
text: a date somewhere on a page is seldom its own. Icons, trackers, advertisements and drawings are no illustrations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit

from leadline.records import Image
from leadline_plugins.parse.decode import clean
from leadline_plugins.parse.html_blocks import text_of
from leadline_plugins.parse.html_tree import Node

_META_NAMES = ("property", "name", "itemprop", "http-equiv")
# Characters of one block of JSON-LD.
_JSON = 500_000
_DEEP = 6
# Elements with a date that are looked at.
_TIMES = 5
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})")
_WORKS = re.compile(r"Article|Posting|Report|Page|Book|Dataset|Creative|Recipe|Event|Review|Question", re.IGNORECASE)
_SITE = re.compile(r"\s+[|\-–—·•»]\s+[^|\-–—·•»]{1,40}$")
_TITLES = ("og:title", "twitter:title", "citation_title", "dc.title", "dcterms.title")
_AUTHORS = ("author", "citation_author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "byl")
_DATES = (
    "article:published_time",
    "citation_publication_date",
    "citation_date",
    "datepublished",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "parsely-pub-date",
    "pubdate",
    "publishdate",
    "og:published_time",
    "sailthru.date",
    "date",
)
_MOST = 20
# Pixels; a smaller image is no illustration.
_SMALL = 100
# Pixels; of several sizes the smallest with at least this width is used.
_WIDE = 800
# Characters of a caption, and of an address.
_LONG, _ADDRESS = 300, 2000
_MAIN = frozenset({"article", "figure", "main"})
# The classes of a caption in a figure of DocBook.
_CAPTION_CLASSES = frozenset({"title", "caption"})
_AROUND = frozenset({"aside", "footer", "form", "nav"})
# Attributes of lazy loading scripts come first; `src` is a placeholder then.
_LAZY = ("data-src", "data-original", "data-lazy-src", "src")
_SET = re.compile(r"\s*([^\s,]\S*[^\s,])(?:\s+(\d{1,5}(?:\.\d+)?)([wx]))?\s*(?:,|$)")
_OF_THE_SITE = (
    r"ads?|adverts?|advertisements?|adsense|sponsor(?:ed|s)?|avatars?|gravatar|logos?|icons?|favicons?|emojis?"
    r"|sprites?|pixel|tracker|tracking|beacon|spacer|1x1|captcha"
)
_ADDRESSED = re.compile(rf"(?<![a-z0-9])(?:{_OF_THE_SITE})(?![a-z0-9])", re.IGNORECASE)
# Further words in classes; in an address `social` may be part of the subject (social housing).
_CALLED = re.compile(
    rf"(?<![a-z0-9])(?:{_OF_THE_SITE}|promo|banner|share|sharing|social|badge|placeholder|related)(?![a-z0-9])",
    re.IGNORECASE,
)
# Elements around an image whose names count; those further out belong to the page.
_NEAR = 3
_DRAWING = re.compile(r"\.(?:svgz?|ico|cur)$", re.IGNORECASE)
# Hosts of advertisements, counters and avatars.
_AD_HOSTS = (
    "adnxs.com",
    "amazon-adsystem.com",
    "criteo.com",
    "doubleclick.net",
    "google-analytics.com",
    "googleadservices.com",
    "googlesyndication.com",
    "gravatar.com",
    "outbrain.com",
    "scorecardresearch.com",
    "taboola.com",
)


@dataclass(frozen=True)
class PageMetadata:
    """Metadata of a page; `published` is ISO 8601."""

    title: str = ""
    author: str = ""
    published: str | None = None
    language: str = ""


def page_metadata(page: Any) -> PageMetadata:
    """Return the metadata of a lexbor page."""
    metas, linked = metas_of(page), list(_works(page))
    return PageMetadata(
        title=_title(page, metas, linked),
        author=_first(*(_names(work.get("author")) for work in linked), *_of(metas, _AUTHORS, _people)),
        published=_day(*(str(work.get("datePublished", "")) for work in linked), *_of(metas, _DATES), *_times(page)),
        language=_language(page, metas),
    )


def metas_of(page: Any) -> dict[str, list[str]]:
    """Return the contents of the meta elements by name, in lower case."""
    metas: dict[str, list[str]] = {}
    for meta in page.css("meta"):
        attributes = meta.attributes
        name = next((value for key in _META_NAMES if (value := attributes.get(key))), "")
        if content := " ".join((attributes.get("content") or "").split()):
            metas.setdefault(name.strip().lower(), []).append(content)
    return metas


def _of(metas: dict[str, list[str]], names: tuple[str, ...], keep: Any = None) -> Iterator[str]:
    for name in names:
        values = [value for value in metas.get(name, ()) if keep is None or keep(value)]
        if values:
            yield "; ".join(dict.fromkeys(values)) if keep else values[0]


def _people(text: str) -> bool:
    return "://" not in text and not text.startswith("@") and len(text) <= 200


def _works(page: Any) -> Iterator[dict[str, Any]]:
    """Yield the works that blocks of JSON-LD describe."""
    for script in page.css("script[type*='ld+json']"):
        text = script.text().strip()
        if len(text) > _JSON:
            continue
        try:
            yield from _walk(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            continue  # broken JSON-LD is common


def _walk(data: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if isinstance(data, list):
        for item in data if depth < _DEEP else ():
            yield from _walk(item, depth + 1)
    elif isinstance(data, dict):
        if _WORKS.search(str(data.get("@type", ""))):
            yield data
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _walk(data.get(key), depth + 1)


def _names(value: Any) -> str:
    """Return the names in an author of JSON-LD: a text, a thing with a name, or a list of them."""
    if isinstance(value, list):
        return "; ".join(dict.fromkeys(filter(None, map(_names, value[:20]))))
    if isinstance(value, dict):
        value = value.get("name", "")
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if _people(text) else ""


def _title(page: Any, metas: dict[str, list[str]], linked: list[dict[str, Any]]) -> str:
    """Return the title of the work, else of the page without the name of the site."""
    headlines = (work.get("headline") for work in linked)
    named = _first(*(text for text in headlines if isinstance(text, str)), *_of(metas, _TITLES))
    headings = [" ".join(element.text().split()).rstrip("¶ ") for element in page.css("h1")[:2]]
    title = next((" ".join(element.text().split()) for element in page.css("title")), "")
    single = headings[0] if len(headings) == 1 else ""
    return named or (single if single and single in title else _SITE.sub("", title) or single)


def _times(page: Any) -> Iterator[str]:
    """Yield dates of elements for the date of publication."""
    for element in page.css("[itemprop='datePublished'], [pubdate], article time[datetime]")[:_TIMES]:
        attributes = element.attributes
        yield attributes.get("datetime") or attributes.get("content") or element.text()


def _day(*texts: str) -> str | None:
    """Return the first text that begins with a date, as ISO 8601 without the time."""
    for text in texts:
        if match := _DATE.search(text[:40]):
            try:
                return date(*map(int, match.groups())).isoformat()
            except ValueError:
                continue  # 2025-99-99
    return None


def _language(page: Any, metas: dict[str, list[str]]) -> str:
    root = page.root.attributes if page.root is not None else {}
    named = root.get("lang") or root.get("xml:lang") or _first(*_of(metas, ("content-language", "og:locale")))
    return named.replace("_", "-").split("-")[0].lower()


def _first(*texts: str) -> str:
    return next((text for text in texts if text), "")


def page_images(tree: Node, page: Any, url: str) -> tuple[Image, ...]:
    """Return the illustrations of a light tree, and last the sharing image of the lexbor page."""
    base = urljoin(url, next((element.attributes.get("href") or "" for element in page.css("base")), ""))
    images = {
        image.url: image
        for image in [*_sharing_images(page, base), *reversed([*islice(_illustrations(tree, base), _MOST)])]
    }
    return tuple(reversed(images.values()))[:_MOST]


def _sharing_images(page: Any, base: str) -> Iterator[Image]:
    metas = metas_of(page)
    alt = next(iter(metas.get("og:image:alt") or metas.get("twitter:image:alt") or ()), "")
    for address in [*metas.get("twitter:image", []), *metas.get("og:image", [])]:
        for full in _absolute(base, address):
            yield Image(url=full, alt=_short(alt))


def _illustrations(tree: Node, base: str) -> Iterator[Image]:
    for element, above in _pictures(tree, []):
        if _large(element) and not _decoration(element, above):
            address = next((full for name in _addresses(element) for full in _absolute(base, name)), "")
            if address:
                caption = _short(_caption(element, above))
                yield Image(url=address, alt=_short(element.get("alt")), caption=caption)


def _pictures(node: Node, above: list[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Yield the pictures of main parts, each with its ancestors, innermost first."""
    for child in node.elements:
        if child.tag == "img":
            if any(_is_main(element) for element in [node, *above]):
                yield child, [node, *above]
        elif child.children and child.tag not in _AROUND:
            yield from _pictures(child, [node, *above])


def _is_main(node: Node) -> bool:
    return node.tag in _MAIN or _is_figure(node) or node.get("role") == "main" or node.get("id") == "content"


def _is_figure(node: Node) -> bool:
    """Return whether an element is a figure: DocBook, of which manuals are made, writes `<div class="figure">`."""
    return node.tag == "figure" or "figure" in node.get("class").split()


def _large(element: Node) -> bool:
    sizes = (re.match(r"\d{1,6}", element.get(side)) for side in ("width", "height"))
    return all(size is None or int(size[0]) >= _SMALL for size in sizes)


def _decoration(element: Node, above: list[Node]) -> bool:
    """Return whether the names of an image or its ancestors show that it belongs to the site, not to the text."""
    if element.get("role") in ("presentation", "none"):
        return True
    around = [element, *(ancestor for ancestor in above if ancestor.tag != "body")][: _NEAR + 1]
    return any(_CALLED.search(f"{element.get('class')} {element.get('id')}") for element in around)


def _addresses(element: Node) -> Iterator[str]:
    """Yield possible addresses of the picture, best first."""
    sets = (element.get(name) for name in ("data-srcset", "srcset"))
    yield from (_sized(sizes) for sizes in sets if sizes)
    yield from (element.get(name) for name in _LAZY)


def _sized(srcset: str) -> str:
    """Return the address for a page of the usual width; empty without sizes."""
    sizes = [(float(size) * (_WIDE / 2 if kind == "x" else 1), at) for at, size, kind in _SET.findall(srcset) if size]
    enough = [pair for pair in sizes if pair[0] >= _WIDE]
    return min(enough, default=max(sizes, default=(0.0, "")))[1]


def _caption(element: Node, above: list[Node]) -> str:
    """Return the caption of a figure with this image only; a shared caption describes no single image."""
    figure = next((ancestor for ancestor in above if _is_figure(ancestor)), None)
    if figure is None or sum(child.tag == "img" for child in figure.walk()) > 1:
        return element.get("title")
    captions = (
        child
        for child in figure.walk()
        if child.tag == "figcaption" or _CAPTION_CLASSES.intersection(child.get("class").split())
    )
    return next((text_of(caption)[0] for caption in captions), "")


def _short(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _LONG else text[: _LONG - 1].rsplit(" ", 1)[0] + "…"


def _absolute(base: str, address: str) -> Iterator[str]:
    """Yield the absolute address if it may be a picture of the text."""
    try:
        full = urljoin(base, address.strip())
        parts = urlsplit(full)
    except ValueError:
        return
    if not address.strip() or parts.scheme not in ("http", "https") or len(full) > _ADDRESS:
        return
    host = parts.hostname or ""
    is_ad = any(host == ad_host or host.endswith("." + ad_host) for ad_host in _AD_HOSTS)
    if host and not is_ad and not _DRAWING.search(parts.path) and not _ADDRESSED.search(parts.path):
        yield full
