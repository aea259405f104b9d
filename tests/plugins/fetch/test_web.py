"""What a page's way is when nobody means harm: kept, asked for again, obeyed, unpacked, named for what it is."""

from __future__ import annotations

import asyncio
import gzip
import logging
import ssl
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
import trustme

from leadline.errors import Unavailable, Unsupported
from leadline.records import Blob, FetchRequest
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedRequest, ScriptedServer, raw_reply, scripted_server
from leadline_plugins.fetch.guard import Blocked, Guard
from leadline_plugins.fetch.transport import GuardedTransport
from leadline_plugins.fetch.web.body import sniff, vague
from leadline_plugins.fetch.web.fetcher import CachedPage, PageCache, WebFetcher
from leadline_plugins.fetch.web.robots import allowed, rules
from leadline_plugins.parse.media import DOCX

Get = Callable[..., Awaitable[Blob]]
Make = Callable[..., Awaitable[WebFetcher]]
MB = 1_000_000


async def test_a_page_comes_with_its_type_and_the_name_it_ended_at(server: ScriptedServer, get: Get) -> None:
    server.routes["/a"] = raw_reply(status="301 Moved", Location="/b?x=1#part")
    server.routes["/b?x=1"] = raw_reply("测".encode("gbk"), Content_Type="text/html; charset=gbk")
    page = await get("/a")
    assert page == Blob(name=server.at("/b?x=1"), media_type="text/html; charset=gbk", data="测".encode("gbk"))


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b'<meta http-equiv="refresh" content="0; url=/b">', ""),
        (b"<META content='3;URL=\"/b\"' http-equiv=Refresh>", ""),
        (b'<meta http-equiv="refresh" content="0;url=/b?x=1&amp;y=2">', ""),
        (b"<p>x", "0; url=/b"),
    ],
)
async def test_a_page_that_leads_on_at_once_is_followed(
    server: ScriptedServer, get: Get, data: bytes, header: str
) -> None:
    server.routes["/a"] = raw_reply(data, Content_Type="text/html", **({"Refresh": header} if header else {}))
    server.routes["/b"] = server.routes["/b?x=1&y=2"] = raw_reply(b"<p>there", Content_Type="text/html")
    assert (await get("/a")).data == b"<p>there"


@pytest.mark.parametrize(
    "data",
    [
        b'<meta http-equiv="refresh" content="300; url=/b">',
        b'<meta http-equiv="refresh" content="0">',
        b'<meta http-equiv="refresh" content="0; url=/a">',
        b'<noscript><meta http-equiv="refresh" content="0; url=/b"></noscript>',
        b'<!-- <meta http-equiv="refresh" content="0; url=/b"> -->',
        b'<meta name="refresh" content="0; url=/b">',
    ],
)
async def test_a_page_that_stays_is_read(server: ScriptedServer, get: Get, data: bytes) -> None:
    server.routes["/a"] = raw_reply(data, Content_Type="text/html")
    assert (await get("/a")).data == data


async def test_pages_that_lead_in_circles_or_to_this_machine_are_stopped(server: ScriptedServer, get: Get) -> None:
    server.routes["/a"] = raw_reply(b"x", Content_Type="text/html", Refresh="0; url=/b")
    server.routes["/b"] = raw_reply(b"x", Content_Type="text/html", Refresh="0; url=/a")
    with pytest.raises(Blocked, match="leads on more than"):
        await get("/a")
    server.routes["/c"] = raw_reply(b"x", Content_Type="text/html", Refresh="0; url=http://10.0.0.1/")
    with pytest.raises(Blocked):
        await get("/c")


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b"<p>packed", mtime=0)),
        ("deflate", zlib.compress(b"<p>packed")),
        ("deflate", zlib.compress(b"<p>packed")[2:-4]),
        ("identity", b"<p>packed"),
        ("gzip", b""),
        ("gzip", gzip.compress(b"<p>", mtime=0) + gzip.compress(b"packed", mtime=0)),
        ("gzip", gzip.compress(b"<p>packed", mtime=0) + bytes(9)),
        ("gzip, gzip", gzip.compress(gzip.compress(b"<p>packed", mtime=0), mtime=0)),
        ("", gzip.compress(b"<p>packed", mtime=0)),
        ("gzip", b"<p>packed"),
        ("deflate", b"<p>packed"),
        ("utf-8", b"<p>packed"),
    ],
)
async def test_a_packed_page_is_unpacked(server: ScriptedServer, get: Get, encoding: str, data: bytes) -> None:
    server.routes["/"] = raw_reply(data, Content_Encoding=encoding)
    assert (await get("/")).data == (b"<p>packed" if data else b"")


@pytest.mark.parametrize(
    ("path", "header", "body", "expected"),
    [
        ("/a", "application/octet-stream", b"%PDF-1.4 x", "application/pdf"),
        ("/a", "text/html", b"%PDF-1.4 x", "application/pdf"),
        ("/a", "", b"\n<!DOCTYPE html><p>x", "text/html"),
        ("/a", "application/xml; charset=utf-8", b"<?xml?><html>", "text/html; charset=utf-8"),
        ("/a", "text/xml", b"<?xml version='1.0'?><rss>", "application/rss+xml"),
        ("/a.txt", "application/octet-stream", b"plain", "text/plain"),
        ("/a", "text/plain; charset=x", b"<html>", "text/plain; charset=x"),
        ("/a", "", b"\xef\xbb\xbf \n<Title>x</title><p>y", "text/html"),
        ("/a", "", "<html><p>x".encode("utf-16"), "text/html"),
        ("/a", "", b"<table border=1>", "text/html"),
        ("/a", "", b"<!-- x --><p>y", "text/html"),
        ("/a", "", b"Use <p> for paragraphs", "text/plain"),
        ("/get.php", "application/octet-stream", b"words only", "text/plain"),
        ("/a", "application/octet-stream", b"\x7fELF\x02\x01", "application/octet-stream"),
    ],
)
async def test_a_page_is_named_for_what_it_is(
    server: ScriptedServer, get: Get, path: str, header: str, body: bytes, expected: str
) -> None:
    server.routes[path] = raw_reply(body, Content_Type=header)
    assert (await get(path)).media_type == expected


def zipped(*names: str, first: bytes = b"") -> bytes:
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        if first:
            archive.writestr("mimetype", first)
        for name in names:
            archive.writestr(name, "<x/>")
    return data.getvalue()


WORD = zipped("[Content_Types].xml", "word/document2.xml")
ODT = "application/vnd.oasis.opendocument.text"


@pytest.mark.parametrize(
    ("header", "named", "data", "expected"),
    [
        *(
            (header, "", WORD, DOCX)
            for header in ("", "text/plain", "application/msword", "application/x-zip-compressed")
        ),
        ("application/force-download", "", WORD, DOCX),
        ("binary/octet-stream", 'attachment; filename="a.txt"', WORD, DOCX),
        ("application/octet-stream", "", zipped(first=ODT.encode()) + WORD, ODT),
        ("application/octet-stream", "attachment; filename*=UTF-8''notes%20of%20May.md", b"# May", "text/markdown"),
        ("application/octet-stream", 'attachment; filename="a.pdf"', b"\x01\x02", "application/pdf"),
    ],
)
def test_a_download_is_named_for_its_bytes_or_the_name_in_its_header(
    header: str, named: str, data: bytes, expected: str
) -> None:
    assert vague(header) or header == "text/plain"  # else no byte is read if no parser reads the type
    assert sniff(header, data, "http://example.org/get?id=7", named) == expected


async def test_what_no_parser_reads_is_not_even_loaded(server: ScriptedServer, get: Get) -> None:
    server.routes["/film"] = raw_reply(b"", Content_Type="video/mp4", Content_Length="99999999999")
    with pytest.raises(Unsupported, match="no parser reads video/mp4"):
        await get("/film")


async def test_a_kept_page_is_used_and_then_asked_for_again(server: ScriptedServer, get: Get) -> None:
    async def answer(asked: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        changed = asked.headers.get("if-none-match") != '"1"'
        writer.write(raw_reply(b"<p>one", ETag='"1"') if changed else b"HTTP/1.1 304 Not Modified\r\n\r\n")
        await writer.drain()

    server.routes["/"] = answer
    first = await get("/", cache_size=MB)
    assert await get("/", cache_size=MB) == first
    assert len(server.paths) == 1
    assert await get("/", cache_size=MB, fresh=0) == first
    assert [asked.headers.get("if-none-match") for asked in server.asked if asked.path == "/"] == [None, '"1"']


async def test_a_page_that_changed_is_read_anew(server: ScriptedServer, get: Get) -> None:
    server.routes["/"] = raw_reply(b"<p>one", Last_Modified="Sat, 01 Nov 2025 00:00:00 GMT")
    await get("/", cache_size=MB)
    server.routes["/"] = raw_reply(b"<p>two")
    assert (await get("/", cache_size=MB, fresh=0)).data == b"<p>two"
    assert server.asked[-1].headers["if-modified-since"] == "Sat, 01 Nov 2025 00:00:00 GMT"


async def test_a_kept_page_behind_a_redirect_is_asked_for_by_its_own_mark(server: ScriptedServer, get: Get) -> None:
    server.routes["/a"] = raw_reply(status="302 Found", Location="/b", ETag='"a"')
    server.routes["/b"] = raw_reply(b"<p>b", ETag='"b"')
    await get("/a", cache_size=MB)
    await get("/a", cache_size=MB, fresh=0)
    asked = [(asked.path, asked.headers.get("if-none-match")) for asked in server.asked]
    assert [pair for pair in asked if pair[0] != "/robots.txt"][2:] == [("/a", None), ("/b", '"b"')]


async def test_what_must_not_be_kept_is_not(server: ScriptedServer, get: Get) -> None:
    server.routes["/"] = raw_reply(b"<p>x", Cache_Control="private, no-store")
    await get("/", cache_size=MB)
    await get("/", cache_size=MB)
    assert server.paths == ["/", "/"]


async def test_a_kept_page_is_shut_when_its_host_is(server: ScriptedServer, get: Get) -> None:
    server.routes["/"] = raw_reply(b"<p>x")
    await get("/", cache_size=MB)
    with pytest.raises(Blocked):
        await get("/", cache_size=MB, allow=[])


def kept(data: bytes, url: str = "http://example.org/") -> CachedPage:
    return CachedPage(url, "text/html", data)


async def test_a_page_comes_back_as_it_was(tmp_path: Path) -> None:
    page = CachedPage("http://example.org/鉛\n", "text/html; charset=x", b"\n\x00\xff\n", '"e"', "yesterday")
    cache = PageCache(tmp_path, MB, logging.getLogger("test"), lambda: 7.0)
    cache.put_soon("a", page)
    assert await cache.get("a") == replace(page, stored=7.0)
    await cache.close()
    again = PageCache(tmp_path, MB, logging.getLogger("test"), lambda: 9.0)
    again.confirm_soon("a")
    assert await again.get("a") == replace(page, stored=9.0)
    await again.close()


async def test_a_damaged_cache_is_told_and_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = PageCache(tmp_path, MB, logging.getLogger("test"))
    (tmp_path / "pages.sqlite").write_bytes(b"no database at all" * 100)
    assert await cache.get("a") is None
    assert "cannot use the cache of pages" in caplog.text
    cache.put_soon("a", kept(b"x"))
    assert await cache.get("a") is not None
    await cache.close()


async def test_robots_are_asked_once_and_obeyed(server: ScriptedServer, make: Make) -> None:
    server.routes["/robots.txt"] = raw_reply(b"User-agent: *\nDisallow: /private\n")
    server.routes |= {"/private/a": raw_reply(b"<p>x"), "/b": raw_reply(b"<p>b")}
    fetcher = await make()
    with pytest.raises(Blocked, match=r"robots\.txt asks not to read it") as refused:
        await fetcher.fetch(FetchRequest(url=server.at("/private/a")), FakeCall())
    assert refused.value.rule == "robots"
    pages = [fetcher.fetch(FetchRequest(url=server.at("/b")), FakeCall()) for _ in range(10)]
    await asyncio.gather(*pages)
    assert [asked.path for asked in server.asked].count("/robots.txt") == 1
    assert "/private/a" not in server.paths


async def test_robots_may_be_left_unasked(server: ScriptedServer, get: Get) -> None:
    server.routes["/robots.txt"] = raw_reply(b"User-agent: *\nDisallow: /\n")
    server.routes["/"] = raw_reply(b"<p>x")
    assert (await get("/", robots=False)).data == b"<p>x"


async def test_a_site_that_cannot_say_is_not_read(server: ScriptedServer, get: Get) -> None:
    server.routes |= {"/robots.txt": raw_reply(b"", "503 Busy"), "/": raw_reply(b"<p>x")}
    with pytest.raises(Unavailable, match=r"robots\.txt: HTTP 503"):
        await get("/")


ROBOTS = """\ufeff# for all
User-agent: *
Disallow: /a
Allow: /a/b
Disallow: /*?print=
Disallow: /*.pdf$
Disallow:

User-agent: Leadline/1.0
user-agent: other
Disallow: /only
Sitemap: http://example.org/s
"""


@pytest.mark.parametrize(
    ("agent", "place", "may"),
    [
        ("x", "/", True),
        ("x", "/a/c", False),
        ("x", "/a/b/c", True),
        ("x", "/page?print=1", False),
        ("x", "/paper.pdf", False),
        ("x", "/paper.pdf?x", True),
        ("x", "/%61", False),
        ("leadline", "/a", True),
        ("leadline", "/only/x", False),
        ("other", "/only", False),
    ],
)
def test_robots_are_read_as_the_rfc_says(agent: str, place: str, may: bool) -> None:
    assert allowed(rules(ROBOTS, agent), place) is may


async def test_a_site_is_not_crowded(server: ScriptedServer, make: Make) -> None:
    now, most = 0, 0

    async def answer(asked: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        writer.write(raw_reply(b"<p>x"))

    server.routes |= {f"/{number}": answer for number in range(12)}
    fetcher = await make(per_host=3)
    await asyncio.gather(*(fetcher.fetch(FetchRequest(url=server.at(f"/{n}")), FakeCall()) for n in range(12)))
    assert most == 3


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_pinned_connection_is_certified_by_name(make: Make) -> None:
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("site.example.org").configure_cert(tls)

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with scripted_server({}, tls=tls) as server:
        server.routes["/"] = raw_reply(b"<p>secret")
        for host, trusted in (("site.example.org", True), ("other.example.org", False)):
            guard = Guard([f"{host}:{server.port}"], resolve=here)
            transport = GuardedTransport(guard, trusting(authority))
            fetcher = await make(resolve=here, transport=transport, allow=[f"{host}:{server.port}"], robots=False)
            asked = fetcher.fetch(FetchRequest(url=server.at("/", host, "https")), FakeCall())
            if trusted:
                assert (await asked).data == b"<p>secret"
            else:
                with pytest.raises(Unsupported, match="its certificate is for another name"):
                    await asked


async def test_an_address_that_does_not_answer_gives_way_to_the_next(server: ScriptedServer, get: Get) -> None:
    async def two(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    server.routes["/"] = raw_reply(b"<p>x")
    host = f"site.example.org:{server.port}"
    assert (await get(server.at("/", "site.example.org"), resolve=two, allow=[host])).data == b"<p>x"


async def test_a_proxy_of_the_environment_is_used_and_addresses_judged_all_the_same(
    server: ScriptedServer, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.at(""))
    monkeypatch.setenv("no_proxy", "direct.example.org")
    server.routes["http://site.example.org/"] = raw_reply(b"<p>by proxy")
    assert (await get("http://site.example.org/", robots=False)).data == b"<p>by proxy"
    with pytest.raises(Blocked):
        await get("http://10.0.0.1/")


@pytest.mark.parametrize("url", ["https://x.org", "HTTP://x.org", " http://x.org"])
async def test_it_accepts_what_the_web_is(make: Make, url: str) -> None:
    fetcher: Any = await make()
    assert fetcher.accepts(url)
    assert not fetcher.accepts("file:///etc/passwd")


@pytest.mark.parametrize(
    "host",
    ["[::1]", "[::1%1]", "[::1%251]", "[::ffff:127.0.0.1%1]", "127.0.0.1", "127.0.0.1.", "127.1", "2130706433", "0"],
)
async def test_the_transport_itself_goes_to_no_address_that_was_not_judged(server: ScriptedServer, host: str) -> None:
    """Whoever uses it without judging each address first, and follows redirects, is led nowhere."""
    transport = GuardedTransport(Guard(ports=[server.port]))
    with pytest.raises((Blocked, httpx.InvalidURL)):
        await transport.handle_async_request(httpx.Request("GET", f"http://{host}:{server.port}/"))
    assert server.asked == []
    await transport.aclose()


async def test_a_host_that_is_opened_with_the_usual_port_is_open() -> None:
    transport = GuardedTransport(Guard(["127.0.0.1:80"]))
    with pytest.raises(Unavailable):  # nobody is there; it was let through
        await transport.handle_async_request(httpx.Request("GET", "http://127.0.0.1/"))
    await transport.aclose()


async def test_connections_are_kept_by_site_and_closed_when_they_were_long_idle(
    server: ScriptedServer, make: Make
) -> None:
    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    names = [f"{name}.example.org:{server.port}" for name in ("one", "two")]
    transport = GuardedTransport(Guard(names, resolve=here), idle=1.0)
    fetcher = await make(resolve=here, transport=transport, allow=names, robots=False)

    async def get(host: str, path: str) -> int:
        server.routes[path] = raw_reply(b"<p>x")
        await fetcher.fetch(FetchRequest(url=server.at(path, host)), FakeCall())
        return len(server.connections)

    assert await get("one.example.org", "/1") == 1
    assert await get("one.example.org", "/2") == 1
    assert await get("two.example.org", "/3") == 2
    await asyncio.sleep(1.2)
    await get("two.example.org", "/4")
    async with asyncio.timeout(10):
        while len(server.connections) > 1:  # the server sees the others close
            await asyncio.sleep(0.02)


def test_robots_that_name_many_agents_cost_no_more_than_reading_them() -> None:
    agents = "".join(f"user-agent: a{number}\n" for number in range(3_000))
    tracemalloc.start()
    try:
        found = rules(agents + "allow: /a\n" * 3_000 + "user-agent: *\ndisallow: /b\n")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert found == [("/b", False)]
