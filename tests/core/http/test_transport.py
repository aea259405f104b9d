"""The house's transport against servers on loopback: what is sent stands as given, what fails has httpx's name."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from leadline.http.transport import Transport, authorities, trusting
from leadline.testing.context import fake_context
from leadline.testing.raw_server import RawServer, raw_server, reply
from leadline.testing.server import Said, scripted_server

pytest.importorskip("aiohttp", reason="pip install 'leadline[fast]'")


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with raw_server() as made:
        yield made


@pytest.fixture(params=[5.0, 0.0], ids=["kept", "unkept"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=Transport(idle=request.param)) as made:
        yield made


@asynccontextmanager
async def bytes_only(answer: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """Answer whatever comes with these bytes and hang up; yields the address, and the heads that were sent."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", heads


async def test_a_request_is_sent_as_it_stands(client: httpx.AsyncClient) -> None:
    path = "/a%2Fb/%E3%83%91?q=a+b&c=%20d;e"
    async with bytes_only(reply(b"yes", Connection="close")) as (url, heads):
        answer = await client.get(url + path, headers={"X-Own-Name": "fine"})
    assert (answer.status_code, answer.reason_phrase, answer.text) == (200, "OK", "yes")
    (head,) = heads
    assert head.startswith(f"GET {path} HTTP/1.1\r\n")
    assert "X-Own-Name: fine\r\n" in head
    names = [line.partition(":")[0].lower() for line in head.splitlines()[1:] if line]
    assert sorted(names) == ["accept", "accept-encoding", "connection", "host", "user-agent", "x-own-name"]


async def test_cookies_are_the_clients_business(server: RawServer, client: httpx.AsyncClient) -> None:
    server.routes["/"] = reply(Set_Cookie="seen=1; Path=/")
    transport = Transport()
    for _ in range(2):
        answer = await transport.handle_async_request(httpx.Request("GET", server.at("/")))
        await answer.aread()
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, None]
    await transport.aclose()
    for _ in range(2):
        await client.get(server.at("/"))
    assert [asked.headers.get("cookie") for asked in server.asked[2:]] == [None, "seen=1"]


async def test_what_is_uploaded_piece_by_piece_arrives_whole(client: httpx.AsyncClient) -> None:
    got = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.extend(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(reply(b"thanks", Connection="close"))
        writer.close()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        answer = await client.post(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", content=pieces())
    assert answer.text == "thanks"
    assert b"one" in got
    assert b"two" in got
    async with scripted_server(Said(b"{}")) as served:
        assert (await client.post(served.url, json={"a": [1]})).json() == {}
        assert served.asked[0].body == {"a": [1]}


async def test_a_packed_body_is_unpacked_by_httpx(client: httpx.AsyncClient) -> None:
    import gzip

    async with bytes_only(reply(gzip.compress(b"text"), Content_Encoding="gzip")) as (url, _):
        assert (await client.get(url)).text == "text"


async def test_a_reason_in_another_charset_is_a_reason(client: httpx.AsyncClient) -> None:
    async with bytes_only(b"HTTP/1.1 404 N\xe3o encontrado\r\nContent-Length: 0\r\n\r\n") as (url, _):
        answer = await client.get(url)
    assert (answer.status_code, answer.extensions["reason_phrase"]) == (404, b"N\xe3o encontrado")


async def test_a_large_body_is_sent(client: httpx.AsyncClient) -> None:
    async with scripted_server(Said(b"{}")) as served:
        await client.post(served.url, content=b"x" * 3_000_000)
        assert len(served.asked[0].body) == 3_000_000


def test_one_transport_serves_one_event_loop_after_the_other() -> None:
    transport = Transport()

    async def ask(last: bool) -> int:
        async with raw_server() as server:
            server.routes["/"] = reply(b"x")
            answer = await transport.handle_async_request(httpx.Request("GET", server.at("/")))
            await answer.aread()
            if last:
                await transport.aclose()
                await transport.aclose()
            return answer.status_code

    assert [asyncio.run(ask(last)) for last in (False, False, True)] == [200, 200, 200]


async def test_headers_as_long_as_those_of_real_sites_are_read(server: RawServer, client: httpx.AsyncClient) -> None:
    many = {f"X-{number}": "v" for number in range(200)}
    server.routes["/"] = reply(b"x", Content_Security_Policy="a" * 60_000, **many)
    assert len((await client.get(server.at("/"))).headers["content-security-policy"]) == 60_000


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", httpx.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", httpx.DecodingError),
    ],
)
async def test_an_answer_that_is_none(client: httpx.AsyncClient, answer: bytes, error: type[Exception]) -> None:
    async with bytes_only(answer) as (url, _):
        with pytest.raises(error):
            await client.get(url)


async def test_nobody_there(client: httpx.AsyncClient, server: RawServer) -> None:
    with pytest.raises(httpx.ConnectError, match="127.0.0.1"):
        await client.get("http://127.0.0.1:1/")
    with pytest.raises(httpx.UnsupportedProtocol):
        await client.get("ftp://127.0.0.1/")
    with pytest.raises(httpx.LocalProtocolError):
        await client.get(server.at("/"), headers={"X": "a\x00b"})

    async def silent(*_: object) -> None:
        await asyncio.sleep(60)

    server.routes["/"] = silent
    with pytest.raises(httpx.ReadTimeout):
        await client.get(server.at("/"), timeout=0.1)


async def test_a_connection_that_is_not_made_in_time(client: httpx.AsyncClient) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        with pytest.raises(httpx.ConnectTimeout):
            await client.get(f"http://127.0.0.1:{port}/", timeout=httpx.Timeout(5, connect=0.2))
        for one in waiting:
            one.close()


async def test_certificates_are_looked_at(tmp_path: Path) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    async with raw_server(tls) as server:
        server.routes["/"] = reply(b"secret")
        for verify in (ssl.create_default_context(cafile=str(tmp_path / "ca.pem")), False):
            async with httpx.AsyncClient(transport=Transport(trusting(verify))) as trusted:
                assert (await trusted.get(server.at("/", scheme="https"))).text == "secret"
        async with httpx.AsyncClient(transport=Transport()) as wary:
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await wary.get(server.at("/", scheme="https"))


async def test_a_reader_that_leaves_early_frees_the_connection(server: RawServer, client: httpx.AsyncClient) -> None:
    async def endless(_: object, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    server.routes["/"] = endless
    async with client.stream("GET", server.at("/")) as answer:
        assert await anext(aiter(answer.aiter_raw()))
    async with asyncio.timeout(10):
        while server.tasks:
            await asyncio.sleep(0.02)


async def test_without_kept_connections_no_more_of_an_answer_is_taken_than_its_reader_asks_for() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(20):
            writer.write(b"2\r\n%02d\r\n" % number)
            await asyncio.sleep(0.01)
        writer.write(b"0\r\n\r\n")
        await reader.read()  # till the other side hangs up
        writer.close()

    async def read(client: httpx.AsyncClient, url: str) -> list[bytes]:
        pieces = []
        async with client.stream("GET", url) as answer:
            async for piece in answer.aiter_raw():
                pieces.append(piece)
                await asyncio.sleep(0.3)
        return pieces

    async with (
        httpx.AsyncClient(transport=Transport(idle=0)) as client,
        await asyncio.start_server(serve, "127.0.0.1", 0) as listening,
    ):
        for _ in range(2):
            pieces = await read(client, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
            assert b"".join(pieces) == b"".join(b"%02d" % number for number in range(20))
            assert len(pieces) <= 3
    assert connections == 2


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
async def test_what_is_no_chunk_ends_an_answer_and_keeps_nobody_waiting(
    client: httpx.AsyncClient, *, apart: bool
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head, junk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", b"HTTP/1.0 500 Oh\r\n\r\n"
        writer.write(head if apart else head + junk)
        if apart:
            await asyncio.sleep(0.1)
            writer.write(junk)
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        async with asyncio.timeout(5):
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(url)
            came = []
            with pytest.raises(httpx.RemoteProtocolError):  # noqa: PT012 - what came before it counts
                async with client.stream("GET", url) as answer:
                    async for piece in answer.aiter_raw():
                        came.append(piece)
                        await asyncio.sleep(0.2)
            assert b"".join(came) in ({b"ab"} if apart else {b"", b"ab"})
        await client.aclose()


async def test_an_answer_that_comes_before_the_request_is_sent_is_read(client: httpx.AsyncClient) -> None:
    read = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwait")
        await read.acquire()  # nothing of the body was read by then
        writer.transport.abort()
        read.release()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        for size in (1_000, 8_000_000):
            answer = await client.post(f"http://127.0.0.1:{port}", content=b"x" * size, timeout=5)
            read.release()
            assert (answer.status_code, answer.text) == (429, "wait")
            await read.acquire()


async def test_what_came_by_tls_before_a_reset_is_read_by_a_busy_reader() -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        await asyncio.sleep(0.1)
        writer.write(b"4\r\nrest\r\n0\r\n\r\n")
        await asyncio.sleep(0.05)
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()

    async with (
        await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as listening,
        httpx.AsyncClient(transport=Transport(trusting(False))) as client,
        client.stream("GET", f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}") as answer,
    ):
        pieces = []
        async for piece in answer.aiter_raw():
            pieces.append(piece)
            await asyncio.sleep(0.3)
    assert b"".join(pieces) == b"halfrest"


async def test_a_server_that_hangs_up_while_a_reader_is_busy(client: httpx.AsyncClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with bytes_only(head + b"4\r\nhalf\r\n") as (url, _), client.stream("GET", url) as answer:
        pieces = aiter(answer.aiter_raw())
        assert await anext(pieces) == b"half"
        await asyncio.sleep(0.1)
        with pytest.raises(httpx.RemoteProtocolError):
            await anext(pieces)


async def test_the_house_lends_it_unless_a_plugin_or_a_proxy_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = fake_context(tmp_path)
    assert isinstance(context.http()._transport, Transport)
    assert isinstance(context.http(verify=authorities())._transport, Transport)
    own = httpx.MockTransport(lambda request: httpx.Response(200))
    assert context.http(transport=own)._transport is own
    assert isinstance(context.http(proxy="http://127.0.0.1:1")._transport, httpx.AsyncHTTPTransport)
    assert isinstance(context.http(held=True)._transport, Transport)
    assert isinstance(context.http(held=True, proxy="http://127.0.0.1:1")._transport, httpx.AsyncHTTPTransport)
    assert isinstance(context.http(limits=httpx.Limits(max_connections=2))._transport, httpx.AsyncHTTPTransport)
    monkeypatch.setenv("no_proxy", "example.org")
    assert isinstance(context.http()._transport, Transport)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    assert isinstance(context.http()._transport, httpx.AsyncHTTPTransport)
    assert isinstance(context.http(trust_env=False)._transport, Transport)
    monkeypatch.delenv("https_proxy")
    monkeypatch.setattr("leadline.http.transport.is_fast", lambda: False)
    assert isinstance(context.http()._transport, httpx.AsyncHTTPTransport)
    await context.close()
