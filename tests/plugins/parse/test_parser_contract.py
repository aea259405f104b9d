"""Every built-in parser under the contract of its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.records import Blob
from leadline.testing.contracts import ParserContract

TEXT = "The harbour of Port Ellery is nine fathoms deep at the mole, the pilot says."
PAGE = f"<html><head><title>Harbours</title></head><body><main><p>{TEXT}</p><p>{TEXT}</p></main></body></html>"
FEED = f"<rss><channel><title>T</title><item><title>One</title><description>{TEXT}</description></item></channel></rss>"
FILES = {
    "text": ("text/plain; charset=utf-8", TEXT.encode()),
    "html": ("text/html", PAGE.encode()),
    "feed": ("application/rss+xml", FEED.encode()),
    "office": ("message/rfc822", f"Subject: Harbours\n\n{TEXT}\n\n{TEXT}".encode()),
}


@pytest.mark.parametrize("name", ["text", "html", "feed", "pdf", "word", "office"])
class TestParsers(ParserContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any]:
        return PluginCatalog.discover().offer("parsers", name)

    @pytest.fixture
    def requests(self, name: str, pdf: Callable[..., bytes], word: Callable[..., bytes]) -> Sequence[Blob]:
        made: dict[str, Callable[[], tuple[str, bytes]]] = {
            "pdf": lambda: ("application/pdf", pdf([[TEXT], [TEXT]], "Harbours")),
            "word": lambda: (
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                word("Harbours", [TEXT, TEXT]),
            ),
        }
        media_type, data = made[name]() if name in made else FILES[name]
        return [Blob(name=f"file.{name}", media_type=media_type, data=data)]
