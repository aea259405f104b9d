"""What engines send, as plain text: no markup in titles and snippets, no hit without an address."""

from __future__ import annotations

import html
import re

from leadline.journal.wire import right
from leadline.records import Hit, SearchPage

_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")


def plain_hits(page: SearchPage, engine: str) -> SearchPage:
    """Return the page with its hits as text, each marked with its engine. Raises TypeError for what is no page."""
    strange = next((hit for hit in right(page, SearchPage).hits if not isinstance(hit, Hit)), None)
    if strange is not None:
        raise TypeError(f"the hits of the reply hold {type(strange).__name__}, not Hit")
    return page.model_copy(update={"hits": tuple(_plain(hit, engine) for hit in page.hits if hit.url.strip())})


def _plain(hit: Hit, engine: str) -> Hit:
    return hit.model_copy(update={"title": text(hit.title), "engine": hit.engine or engine})


def text(markup: str) -> str:
    """Return a title without tags and entities, on one line."""
    return " ".join(html.unescape(_TAG.sub("", markup)).split())
