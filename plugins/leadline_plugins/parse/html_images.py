"""The illustrations of a page, with what the page says of them: never its icons, trackers, advertisements or drawings.

Looked for once what the page hides is gone. Whether an address holds a picture at all shows when it is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit

from leadline.records import Image
from leadline_plugins.parse.clean import clean
from leadline_plugins.parse.html_meta import metas_of

_MOST = 20
_SMALL = 100
"""Pixels; an image declared narrower or lower is no illustration."""
_WIDE = 800
"""Pixels; of several sizes the smallest that is at least as wide is taken."""
_LONG, _ADDRESS = 300, 2000
"""Characters of a caption that are kept, and of an address that is read."""
_MAIN = "//article//img | //main//img | //*[@role='main']//img | //figure//img | //*[@id='content']//img"
_AROUND = "ancestor::nav | ancestor::footer | ancestor::aside | ancestor::button | ancestor::form"
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


def images(tree: Any, url: str) -> tuple[Image, ...]:
    """Return the illustrations, the one the page names for itself last: it is made for sharing, and says less."""
    base = urljoin(url, next((element.get("href", "") for element in tree.iter("base")), ""))
    found = {image.url: image for image in [*_named(tree, base), *reversed([*islice(_shown(tree, base), _MOST)])]}
    return tuple(reversed(found.values()))[:_MOST]


def _named(tree: Any, base: str) -> Iterator[Image]:
    metas = metas_of(tree)
    alt = next(iter(metas.get("og:image:alt") or metas.get("twitter:image:alt") or ()), "")
    for address in [*metas.get("twitter:image", []), *metas.get("og:image", [])]:
        for full in _absolute(base, address):
            yield Image(url=full, alt=_short(alt))


def _shown(tree: Any, base: str) -> Iterator[Image]:
    for element in tree.xpath(_MAIN):
        if _large(element) and not _decoration(element):
            address = next((full for name in _addresses(element) for full in _absolute(base, name)), "")
            if address:
                yield Image(url=address, alt=_short(element.get("alt") or ""), caption=_short(_caption(element)))


def _large(element: Any) -> bool:
    sizes = (re.match(r"\d{1,6}", element.get(side) or "") for side in ("width", "height"))
    return all(size is None or int(size[0]) >= _SMALL for size in sizes)


def _decoration(element: Any) -> bool:
    """Tell whether an image, or what it stands in, is named as what belongs to the site and not to the text."""
    if element.get("role") in ("presentation", "none") or element.xpath(_AROUND):
        return True
    around = [element, *element.xpath(f"ancestor::*[not(self::body or self::html)][position() <= {_NEAR}]")]
    return any(_CALLED.search(f"{one.get('class', '')} {one.get('id', '')}") for one in around)


def _addresses(element: Any) -> Iterator[str]:
    """Yield where the picture may be, the best first."""
    sets = (element.get(name) for name in ("data-srcset", "srcset"))
    yield from (_sized(said) for said in sets if said)
    yield from (element.get(name) or "" for name in _LAZY)


def _sized(srcset: str) -> str:
    """Return the address for a page of the usual width; empty where none says its size."""
    sizes = [(float(size) * (_WIDE / 2 if kind == "x" else 1), at) for at, size, kind in _SET.findall(srcset) if size]
    enough = [pair for pair in sizes if pair[0] >= _WIDE]
    return min(enough, default=max(sizes, default=(0.0, "")))[1]


def _caption(element: Any) -> str:
    """Return the caption of the figure it stands alone in; one for several tells nothing about each."""
    figure = next(iter(element.xpath("ancestor::figure[1]")), None)
    if figure is None or len(figure.xpath(".//img")) > 1:
        return element.get("title") or ""
    return " ".join(caption.text_content() for caption in figure.xpath(".//figcaption")[:1])


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
