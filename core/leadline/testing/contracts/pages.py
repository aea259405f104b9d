"""The contracts of reading: addresses to bytes, bytes to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from leadline.door.secrets import Secrets
from leadline.records import Blob, Document, FetchRequest
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import PluginContract
from leadline.testing.contracts.conduct import must, told

_ODD = ("", " ", "/", "x", ":", "http://", "http://[", "javascript:alert(1)", "text/html; charset=\ud800", "a" * 5000)
_FEW = 64


def check_accepts(plugin: Any, wanted: Sequence[str]) -> None:
    """Check that a plugin accepts what it is tested with, and says of anything whether it does."""
    for text in (*wanted, *_ODD):
        try:
            accepted = plugin.accepts(text)
        except Exception as error:
            raise AssertionError(f"accepts({text!r:.60}) raised {told(error)}: it says True or False") from error
        must(isinstance(accepted, bool), f"accepts({text!r:.60}) is {accepted!r}: it says True or False")
    refused = [text for text in wanted if not plugin.accepts(text)]
    must(not refused, f"does not accept what it is tested with: {refused}")


class FetcherContract(PluginContract[FetchRequest, Blob]):
    """What every fetcher does. Fixtures: `offer`, and as `requests` addresses that it can read."""

    kind = "fetchers"
    record = Blob
    verb = "fetch"
    heeds: ClassVar[bool] = True
    """Whether it heeds `size` and `accept`; False for one that serves pages only, and those whole."""

    def check(self, request: FetchRequest, reply: Blob, call: FakeCall) -> None:
        """Check what a parser is chosen by, and what the request allows."""
        must(bool(reply.name), "gives bytes without a name: it is that of the file, or the address")
        must("/" in reply.media_type, f"gives no media type: {reply.media_type!r}")
        must(
            request.size is None or len(reply.data) <= request.size, f"gives {len(reply.data)} bytes of {request.size}"
        )
        media_type = reply.media_type.partition(";")[0].strip()
        must(not request.accept or media_type in request.accept, f"gives {media_type}, which is not wanted")

    async def test_it_says_what_it_accepts(self, plugin: Any, requests: Sequence[FetchRequest]) -> None:
        check_accepts(plugin, [request.url for request in requests])

    async def test_it_keeps_to_what_is_wanted(
        self, plugin: Any, requests: Sequence[FetchRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        """Asked for few bytes, or for a picture that there is not, it gives that or raises `Unsupported`."""
        if not self.heeds:
            pytest.skip("it heeds neither `size` nor `accept`")
        for wanted in ({"size": 1}, {"accept": ("image/x-nobody-has-it",)}):
            request = requests[0].model_copy(update=wanted)
            await self.failure_or_reply(plugin, request, new_call(), secrets)


class ParserContract(PluginContract[Blob, Document]):
    """What every parser does. Fixtures: `offer`, and as `requests` whole files that it can read."""

    kind = "parsers"
    record = Document
    verb = "parse"

    def check(self, request: Blob, reply: Document, call: FakeCall) -> None:
        """Check that the pages begin within the text, one after the other."""
        places = (0, *reply.pages, len(reply.text))
        must(list(places) == sorted(places), f"gives pages that do not begin in the text: {reply.pages}")

    async def test_it_says_what_it_accepts(self, plugin: Any, requests: Sequence[Blob]) -> None:
        check_accepts(plugin, [request.media_type for request in requests])

    async def test_there_is_text(
        self, plugin: Any, requests: Sequence[Blob], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for request in requests:
            reply = await self.reply(plugin, request, new_call(), secrets)
            must(bool(reply.text.strip()), f"finds no text in {request.name}")

    async def test_a_broken_file_is_a_failure_and_no_fault(
        self, plugin: Any, requests: Sequence[Blob], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for request in requests:
            half = len(request.data) // 2
            for data in (b"", request.data[:half], request.data[half:], bytes(range(256)) * _FEW, b"\0" * _FEW):
                broken = request.model_copy(update={"data": data})
                await self.failure_or_reply(plugin, broken, new_call(), secrets)
