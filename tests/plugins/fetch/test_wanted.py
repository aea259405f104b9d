"""What is asked for by kind and size: pictures say, that no parser reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob, FetchRequest
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedServer, raw_reply
from leadline_plugins.fetch.guard import Blocked
from leadline_plugins.fetch.web.fetcher import WebFetcher

Make = Callable[..., Awaitable[WebFetcher]]
PNG = b"\x89PNG\r\n\x1a\n"


async def wanted(fetcher: WebFetcher, url: str, **more: Any) -> Blob:
    return await fetcher.fetch(FetchRequest(url=url, accept=("image/png", "image/gif"), **more), FakeCall())


@pytest.mark.parametrize("header", ["image/png", "IMAGE/PNG; charset=binary", "application/octet-stream", ""])
async def test_a_picture_comes_though_no_parser_reads_it(server: ScriptedServer, make: Make, header: str) -> None:
    server.routes["/a.png"] = raw_reply(PNG, Content_Type=header)
    assert (await wanted(await make(), server.at("/a.png"))).data == PNG
    assert server.asked[-1].headers["accept"] == "image/png,image/gif"


@pytest.mark.parametrize("header", ["text/html", "image/svg+xml", "application/pdf"])
async def test_what_was_not_asked_for_is_not_even_loaded(server: ScriptedServer, make: Make, header: str) -> None:
    server.routes["/a.png"] = raw_reply(b"", Content_Type=header, Content_Length="999999999")
    with pytest.raises(Unsupported, match=f"is {header.replace('+', '.')}, not one of image/png, image/gif"):
        await wanted(await make(), server.at("/a.png"))


async def test_it_is_no_larger_than_asked_for_or_allowed(server: ScriptedServer, make: Make) -> None:
    server.routes["/a.png"] = raw_reply(bytes(2000), Content_Type="image/png")
    with pytest.raises(Blocked, match="larger than 1,000 bytes"):
        await wanted(await make(), server.at("/a.png"), size=1000)
    with pytest.raises(Blocked, match="larger than 1,500 bytes"):
        await wanted(await make(size=1500), server.at("/a.png"), size=3000)
    assert len((await wanted(await make(), server.at("/a.png"), size=2000)).data) == 2000


async def test_a_page_that_was_kept_is_no_picture(server: ScriptedServer, make: Make) -> None:
    server.routes["/a"] = raw_reply(b"<p>A page")
    fetcher = await make(cache_size=1_000_000)
    await fetcher.fetch(FetchRequest(url=server.at("/a")), FakeCall())
    with pytest.raises(Unsupported, match="is text/html"):
        await wanted(fetcher, server.at("/a"))
    assert server.paths == ["/a"]
