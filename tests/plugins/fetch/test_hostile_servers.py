"""Servers that mean harm: what they send is bounded in bytes, in time and in hops, and each end has its reason."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline._runtime.calls.retry import translate
from leadline.errors import BadReply, Denied, RateLimited, Unavailable, Unsupported
from leadline.records import Blob
from leadline.testing.servers import ScriptedRequest, ScriptedServer, raw_reply
from leadline_plugins.fetch.guard import Blocked

Get = Callable[..., Awaitable[Blob]]
LIMIT = 100_000
BOMB = gzip.compress(b"<p>" + bytes(20_000_000), 9)


def endless(
    first: bytes, piece: bytes, pause: float = 0.0
) -> Callable[[ScriptedRequest, asyncio.StreamWriter], Awaitable[None]]:
    """Send without end."""

    async def answer(asked: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("declared too large", raw_reply(b"", Content_Length="99999999")),
        ("declared absurdly large", raw_reply(b"", Content_Length="9" * 18)),
        ("endless without a length", endless(HEAD + b"\r\n", b"x" * 10_000)),
        ("endless in chunks", endless(CHUNKED, b"400\r\n" + b"x" * 1024 + b"\r\n")),
        ("a bomb by gzip", raw_reply(BOMB, Content_Encoding="gzip")),
        ("a bomb by deflate", raw_reply(zlib.compress(bytes(20_000_000)), Content_Encoding="deflate")),
        ("a bomb by raw deflate", raw_reply(zlib.compress(bytes(20_000_000))[2:-4], Content_Encoding="deflate")),
        ("endless gzip of nothing", endless(HEAD + b"Content-Encoding: gzip\r\n\r\n" + BOMB, b"\0" * 10_000)),
    ],
)
async def test_what_is_too_large_is_stopped(server: ScriptedServer, get: Get, name: str, answer: Any) -> None:
    server.routes["/page"] = answer
    with pytest.raises(Blocked, match=r"larger than 100,000 bytes \(setting size\)") as stopped:
        await get("/page", size=LIMIT)
    assert stopped.value.rule == "size"


async def test_a_bomb_within_a_bomb_is_stopped(server: ScriptedServer, get: Get) -> None:
    server.routes["/page"] = raw_reply(gzip.compress(BOMB), Content_Encoding="gzip, gzip")
    with pytest.raises(Blocked) as stopped:
        await get("/page", size=LIMIT)
    assert stopped.value.rule == "size"


async def test_a_packing_that_was_not_asked_for_is_refused(server: ScriptedServer, get: Get) -> None:
    server.routes["/page"] = raw_reply(b"x", Content_Encoding="gzip, br")
    with pytest.raises(Unsupported, match="packed as br"):
        await get("/page", size=LIMIT)


async def silent(asked: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("never answers", silent),
        ("drips its head", endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.02)),
        ("drips its body", endless(HEAD + b"\r\n", b"x", 0.02)),
        ("drips its chunks", endless(CHUNKED, b"1\r\nx\r\n", 0.02)),
        ("promises more", endless(HEAD + b"Content-Length: 90000\r\n\r\n", b"x", 0.02)),
        ("says wait for ever", endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01)),
    ],
)
async def test_what_is_too_slow_is_stopped(server: ScriptedServer, get: Get, name: str, answer: Any) -> None:
    server.routes["/page"] = answer
    with pytest.raises(Blocked, match=r"did not come within 0\.3 s \(setting seconds\)") as stopped:
        await get("/page", seconds=0.3, robots=False)
    assert stopped.value.rule == "time"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("one header without end", endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 10_000)),
        ("headers without end", endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 1000 + b"\r\n")),
        ("no HTTP", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("a length that is none", raw_reply(b"x", Content_Length="abc")),
        ("two lengths", HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
        ("a chunk that is none", CHUNKED + b"zz\r\nxx\r\n"),
    ],
)
async def test_what_is_no_http_is_given_up(server: ScriptedServer, get: Get, name: str, answer: Any) -> None:
    server.routes["/page"] = answer
    with pytest.raises(Unavailable, match="RemoteProtocolError"):
        await get("/page", robots=False)


async def test_a_reply_cut_off_is_given_up(server: ScriptedServer, get: Get) -> None:
    async def cut(asked: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nhalf")
        writer.close()

    server.routes["/page"] = cut
    with pytest.raises(Unavailable):
        await get("/page", robots=False)


@pytest.mark.parametrize(
    "data", [gzip.compress(b"x" * 1000, mtime=0)[:-20], b"\x1f\x8b" + b"no gzip at all", b"\xff\x02\xff\xff"]
)
async def test_a_broken_packing_is_told(server: ScriptedServer, get: Get, data: bytes) -> None:
    server.routes["/page"] = raw_reply(data, Content_Encoding="gzip")
    with pytest.raises(BadReply, match="packed page is"):
        await get("/page")


@pytest.mark.parametrize(
    ("rule", "target"),
    [
        ("address", "http://127.0.0.1:80/"),
        ("address", "http://169.254.169.254/latest/meta-data/"),
        ("address", "http://[::ffff:127.0.0.1]/"),
        ("address", "//10.0.0.1/"),
        ("host", "http://localhost/"),
        ("host", "http://2130706433/"),
        ("scheme", "file:///etc/passwd"),
        ("scheme", "ftp://example.org/"),
        ("port", "http://example.org:22/"),
        ("credentials", "http://user:secret@example.org/"),
        ("credentials", "http://example.org\\@127.0.0.1/"),
        ("url", "http://[::1"),
    ],
)
async def test_a_redirect_to_where_nothing_may_go_is_refused(
    server: ScriptedServer, get: Get, rule: str, target: str
) -> None:
    server.routes["/page"] = raw_reply(status="302 Found", Location=target)
    with pytest.raises(Blocked) as refused:
        await get("/page")
    assert refused.value.rule == rule
    assert "secret" not in str(refused.value)
    assert server.paths == ["/page"]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_loop_of_redirects_ends(server: ScriptedServer, get: Get, status: str) -> None:
    server.routes["/a"] = raw_reply(status=status, Location="/b")
    server.routes["/b"] = raw_reply(status=status, Location="/a")
    with pytest.raises(Blocked, match="leads on more than 3 times") as refused:
        await get("/a", redirects=3)
    assert refused.value.rule == "redirects"
    assert server.paths == ["/a", "/b", "/a", "/b"]


async def test_redirects_that_never_repeat_end_too(server: ScriptedServer, get: Get) -> None:
    for number in range(20):
        server.routes[f"/{number}"] = raw_reply(status="302 Found", Location=f"/{number + 1}")
    with pytest.raises(Blocked, match="more than 8 times"):
        await get("/0")
    assert len(server.paths) == 9


async def test_a_name_that_resolves_inwards_is_never_connected_to(server: ScriptedServer, get: Get) -> None:
    async def inwards(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with pytest.raises(Blocked, match=r"127\.0\.0\.1 is loopback"):
        await get(server.at("/page", "rebind.example.org"), resolve=inwards, ports=[server.port])
    assert server.asked == []


async def test_an_answer_of_dns_that_changes_is_asked_for_once(server: ScriptedServer, get: Get) -> None:
    """The connection goes to what was judged: a second look-up, which might tell another story, is never made."""
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    asked: list[str] = []

    async def turning(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    server.routes["/page"] = raw_reply(b"<p>here")
    host = f"site.example.org:{server.port}"
    page = await get(server.at("/page", "site.example.org"), resolve=turning, allow=[host], robots=False)
    assert page.data == b"<p>here"
    assert asked == ["site.example.org"]
    assert server.asked[0].headers["host"] == host


async def test_a_robots_file_cannot_lead_inwards(server: ScriptedServer, get: Get) -> None:
    server.routes["/robots.txt"] = raw_reply(status="302 Found", Location="http://169.254.169.254/")
    with pytest.raises(Blocked, match="cloud metadata"):
        await get("/page")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("401 Unauthorized", Denied),
        ("403 Forbidden", Denied),
        ("404 Not Found", Unsupported),
        ("429 Too Many", RateLimited),
        ("500 Broken", Unavailable),
        ("300 Choices", Unsupported),
    ],
)
async def test_a_status_becomes_its_error_without_the_query(
    server: ScriptedServer, get: Get, status: str, error: type[Exception]
) -> None:
    server.routes["/page?key=secret"] = raw_reply(b"x", status)
    with pytest.raises(Exception) as raised:
        await get("/page?key=secret")
    translated = translate(raised.value)
    assert isinstance(translated, error)
    assert "secret" not in str(translated)


async def test_cookies_stay_with_the_one_page(server: ScriptedServer, get: Get) -> None:
    server.routes["/a"] = raw_reply(status="302 Found", Location="/b", Set_Cookie="session=1")
    server.routes["/b"] = raw_reply(b"<p>b")
    await get("/a")
    await get("/b")
    assert [asked.headers.get("cookie") for asked in server.asked if asked.path == "/b"] == ["session=1", None]
