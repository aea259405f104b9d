"""The illustrations of a page, with what the page says of them: never its icons, trackers, advertisements or drawings.

What the page hides has none. Whether an address holds a picture at all shows when it is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit

from leadline.records import Image
from leadline_plugins.parse.clean import clean
from leadline_plugins.parse.html_blocks import text_of
from leadline_plugins.parse.html_meta import metas_of
from leadline_plugins.parse.html_tree import Node

_MOST = 20
_SMALL = 100
"""Pixels; an image declared narrower or lower is no illustration."""
_WIDE = 800
"""Pixels; of several sizes the smallest that is at least as wide is taken."""
_LONG, _ADDRESS = 300, 2000
"""Characters of a caption that are kept, and of an address that is read."""
_MAIN = frozenset({"article", "figure", "main"})
_AROUND = frozenset({"aside", "footer", "form", "nav"})
_LAZY = ("data-src", "data-original", "data-lazy-src", "src")
"""Where scripts that load late keep the address; `src` holds a placeholder then."""
_SET = re.compile(r"\s*([^\s,]\S*[^\s,])(?:\s+(\d{1,5}(?:\.\d+)?)([wx]))?\s*(?:,|$)")
_OF_THE_SITE = (
    r"ads?|adverts?|advertisements?|adsense|sponsor(?:ed|s)?|avatars?|gravatar|logos?|icons?|favicons?|emojis?"
    r"|sprites?|pixel|tracker|tracking|beacon|spacer|1x1|captcha"
)
_ADDRESSED = re.compile(rf"(?<![a-z0-9])(?:{_OF_THE_SITE})(?![a-z0-9])", re.IGNORECASE)
_CALLED = re.compile(
    rf"(?<![a-z0-9])(?:{_OF_THE_SITE}|promo|banner|share|sharing|social|badge|placeholder|related)(?![a-z0-9])",
    re.IGNORECASE,
)
"""In classes more words tell than in addresses, where `social` may be the housing."""
_NEAR = 3
"""Elements around an image whose names are looked at; further out they are the page's."""
_DRAWING = re.compile(r"\.(?:svgz?|ico|cur)$", re.IGNORECASE)
_SELLERS = (
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
"""Whose pictures are advertisements, counters or faces."""


def images(tree: Node, page: Any, url: str) -> tuple[Image, ...]:
    """Return the illustrations of a light tree, and last the one that the lexbor page names for sharing."""
    base = urljoin(url, next((element.attributes.get("href") or "" for element in page.css("base")), ""))
    found = {image.url: image for image in [*_named(page, base), *reversed([*islice(_shown(tree, base), _MOST)])]}
    return tuple(reversed(found.values()))[:_MOST]


def _named(page: Any, base: str) -> Iterator[Image]:
    metas = metas_of(page)
    alt = next(iter(metas.get("og:image:alt") or metas.get("twitter:image:alt") or ()), "")
    for address in [*metas.get("twitter:image", []), *metas.get("og:image", [])]:
        for full in _absolute(base, address):
            yield Image(url=full, alt=_short(alt))


def _shown(tree: Node, base: str) -> Iterator[Image]:
    for element, above in _pictures(tree, []):
        if _large(element) and not _decoration(element, above):
            address = next((full for name in _addresses(element) for full in _absolute(base, name)), "")
            if address:
                caption = _short(_caption(element, above))
                yield Image(url=address, alt=_short(element.get("alt")), caption=caption)


def _pictures(node: Node, above: list[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Yield the pictures of main parts, each with the elements that it is in, the innermost first."""
    for child in node.elements:
        if child.tag == "img":
            if any(_is_main(one) for one in [node, *above]):
                yield child, [node, *above]
        elif child.children and child.tag not in _AROUND:
            yield from _pictures(child, [node, *above])


def _is_main(node: Node) -> bool:
    return node.tag in _MAIN or node.get("role") == "main" or node.get("id") == "content"


def _large(element: Node) -> bool:
    sizes = (re.match(r"\d{1,6}", element.get(side)) for side in ("width", "height"))
    return all(size is None or int(size[0]) >= _SMALL for size in sizes)


def _decoration(element: Node, above: list[Node]) -> bool:
    """Return whether an image, or what it is in, is named as a part of the site and not of the text."""
    if element.get("role") in ("presentation", "none"):
        return True
    around = [element, *(one for one in above if one.tag != "body")][: _NEAR + 1]
    return any(_CALLED.search(f"{one.get('class')} {one.get('id')}") for one in around)


def _addresses(element: Node) -> Iterator[str]:
    """Yield where the picture may be, the best first."""
    sets = (element.get(name) for name in ("data-srcset", "srcset"))
    yield from (_sized(said) for said in sets if said)
    yield from (element.get(name) for name in _LAZY)


def _sized(srcset: str) -> str:
    """Return the address for a page of the usual width; empty where none says its size."""
    sizes = [(float(size) * (_WIDE / 2 if kind == "x" else 1), at) for at, size, kind in _SET.findall(srcset) if size]
    enough = [pair for pair in sizes if pair[0] >= _WIDE]
    return min(enough, default=max(sizes, default=(0.0, "")))[1]


def _caption(element: Node, above: list[Node]) -> str:
    """Return the caption of the figure that it is alone in; one for several says nothing about each."""
    figure = next((one for one in above if one.tag == "figure"), None)
    if figure is None or sum(one.tag == "img" for one in figure.walk()) > 1:
        return element.get("title")
    return next((text_of(one)[0] for one in figure.walk() if one.tag == "figcaption"), "")


def _short(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _LONG else text[: _LONG - 1].rsplit(" ", 1)[0] + "…"


def _absolute(base: str, address: str) -> Iterator[str]:
    """Yield the whole address, if a picture of the text may stand there."""
    try:
        full = urljoin(base, address.strip())
        place = urlsplit(full)
    except ValueError:
        return
    if not address.strip() or place.scheme not in ("http", "https") or len(full) > _ADDRESS:
        return
    host = place.hostname or ""
    sold = any(host == seller or host.endswith("." + seller) for seller in _SELLERS)
    if host and not sold and not _DRAWING.search(place.path) and not _ADDRESSED.search(place.path):
        yield full
