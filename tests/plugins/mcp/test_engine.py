"""Tools of an MCP server as engine and fetcher: over HTTP on loopback, and as a program."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.errors import ConfigError, Disconnected, ProviderError
from leadline.hookspecs import PluginSettings
from leadline.records import FetchRequest, SearchRequest
from leadline.testing.context import FakeCall, fake_context

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import uvicorn

from leadline_plugins.mcp import McpSettings
from leadline_plugins.mcp.engine import McpEngine, McpFetcher

SERVER = Path(__file__).with_name("house_server.py")
ROWS = {"tool": "search", "query": "q", "results": "data.rows"}
FIELDS = {"url": "link", "title": "heading", "text": "body"}
KEY = "sk-house-0123456789abcdef"


@asynccontextmanager
async def over_http(key: str = "") -> AsyncIterator[str]:
    """Serve the house over streamable HTTP; with a key, refuse requests without it."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("house_server", SERVER)
    assert spec is not None
    assert spec.loader is not None
    house = module_from_spec(spec)
    spec.loader.exec_module(house)
    app = house.server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or [])
        if scope["type"] == "http" and key and headers.get(b"authorization") != f"Bearer {key}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await app(scope, receive, send)

    server = uvicorn.Server(
        uvicorn.Config(guarded, port=0, log_config=None, lifespan="on", timeout_graceful_shutdown=1)
    )
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await serving


def engine(tmp_path: Path, **settings: Any) -> McpEngine:
    return McpEngine(McpSettings(**settings), fake_context(tmp_path))


async def test_a_tool_over_http_is_an_engine(tmp_path: Path) -> None:
    async with over_http(KEY) as url:
        settings = {**ROWS, "limit": "count", "fields": FIELDS, "headers": {"Authorization": f"Bearer {KEY}"}}
        async with engine(tmp_path, url=url, **settings) as house:
            page = await house.search(SearchRequest(query="fathom", limit=1), FakeCall())
    [hit] = page.hits
    assert (hit.url, hit.title) == ("https://house.example/fathom", "A fathom is six feet")
    assert hit.text is not None
    assert hit.text.startswith("A fathom is six feet. A cable")


async def test_a_refusal_names_the_server_and_not_the_key(tmp_path: Path) -> None:
    async with over_http(KEY) as url:
        house = engine(tmp_path, url=url, **ROWS, headers={"Authorization": "Bearer wrong-0123456789abcdef"})
        with pytest.raises(ProviderError, match=r"cannot connect to the MCP server of plugins\.test") as caught:
            await house.__aenter__()
    assert "wrong-0123456789abcdef" not in str(caught.value)


async def test_a_tool_that_returns_json_in_a_text_needs_no_map(tmp_path: Path) -> None:
    async with over_http() as url, engine(tmp_path, url=url, tool="search_json") as house:
        page = await house.search(SearchRequest(query="fathom"), FakeCall())
    assert [hit.title for hit in page.hits] == ["fathom", "tallow"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tool": "serach"}, "has no tool 'serach'; it has: search, search_json, read"),
        ({**ROWS, "results": "rows"}, "no list of results at 'rows': it has took, data"),
        ({**ROWS, "fields": {"url": "nosuch"}}, "none of 2 results has an address"),
        ({**ROWS, "query": "nosuch"}, "search failed"),
    ],
)
async def test_wrong_settings_of_a_tool_are_named(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    async with over_http() as url:
        with pytest.raises(ProviderError, match=words):
            async with engine(tmp_path, url=url, **settings) as house:
                await house.search(SearchRequest(query="fathom"), FakeCall())


@pytest.mark.parametrize(
    ("style", "media_type", "start"),
    [("plain", "text/markdown; charset=utf-8", b"A fathom"), ("resource", "text/html; charset=utf-8", b"<p>A fathom")],
)
async def test_a_tool_is_a_fetcher(tmp_path: Path, style: str, media_type: str, start: bytes) -> None:
    settings: dict[str, Any] = {"fetch_tool": "read", "fetch_url": "address", "fetch_arguments": {"style": style}}
    async with over_http() as url:
        fetcher = McpFetcher(McpSettings(url=url, **settings), fake_context(tmp_path))
        async with fetcher as house:
            assert house.accepts("https://house.example/fathom")
            assert not house.accepts("ftp://house.example/fathom")
            blob = await house.fetch(FetchRequest(url="https://house.example/fathom"), FakeCall())
            with pytest.raises(ProviderError, match="no such page"):
                await house.fetch(FetchRequest(url="https://house.example/nosuch"), FakeCall())
            with pytest.raises(ProviderError, match="private|loopback"):
                await house.fetch(FetchRequest(url="http://127.0.0.1/admin"), FakeCall())
    assert (blob.media_type, blob.data.startswith(start)) == (media_type, True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tool": "search"}, "set command or url"),
        ({"command": "house"}, "tool is not set"),
        ({"command": "house", "url": "https://a.example", "tool": "search"}, "set one of them"),
        ({"url": "https://a.example", "args": ["x"], "tool": "search"}, "args and env are those of a command"),
        ({"command": "house", "headers": {"a": "b"}, "tool": "search"}, "pass secrets in env"),
        ({"command": "house", "tool": "search", "fields": {"adress": "x"}}, "no such field of a result: adress"),
    ],
)
def test_a_section_that_cannot_work_is_refused(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    values = {"search.engines": ["house"], "plugins.house": {"use": "mcp", **settings}}
    client = leadline.Client(folder=tmp_path / "runs", cache=tmp_path / "cache", set=values)
    with pytest.raises(ConfigError, match=words):
        client.load()


@pytest.mark.parametrize(("more", "told"), [({}, False), ({"fetch_tool": "read"}, True)])
def test_only_a_section_with_a_tool_that_reads_is_missed_among_the_fetchers(
    tmp_path: Path, more: dict[str, Any], told: bool
) -> None:
    values = {
        "search.engines": ["house"],
        "read.fetchers": ["local", "web"],
        "plugins.house": {"use": "mcp", "command": "house", "tool": "search", **more},
    }
    client = leadline.Client(folder=tmp_path / "runs", cache=tmp_path / "cache", set=values)
    assert any("read.fetchers: house is missing" in one for one in client.load().notices) is told


def test_the_package_is_not_imported_until_the_plugin_is_used() -> None:
    assert issubclass(McpSettings, PluginSettings)
    code = (
        "import sys, leadline_plugins.mcp, leadline_server.commands.mcp;"
        "sys.exit(any(m in sys.modules for m in ('mcp', 'anyio')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=100).returncode == 0


# --- as a program ----------------------------------------------------------------------------------------------------


def settings_of(**more: Any) -> dict[str, Any]:
    house = {"use": "mcp", "command": sys.executable, "args": [str(SERVER)], **ROWS, "fields": FIELDS, **more}
    return {"search.engines": ["house"], "plugins.house": house, "retry.base": 0, "cache.search": "0"}


@pytest.mark.slow
async def test_a_run_searches_a_program_and_stores_no_key(tmp_path: Path) -> None:
    values = settings_of(env={"HOUSE_KEY": KEY}, arguments={"count": 5}, fetch_tool="read", fetch_url="address")
    async with leadline.Client(folder=tmp_path / "runs", cache=tmp_path / "cache", set=values) as client:
        result = await client.research("How many feet is a fathom of the lead line?")
        again = await client.replay(result.folder)
    assert (result.status, again.status) == ("complete", "complete")
    assert "six feet" in result.text
    for secret in (KEY, str(SERVER)):
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and secret in readable(path)]


def readable(path: Path) -> str:
    """Return what is in a file; of a database, all values, decompressed."""
    if path.suffix != ".sqlite":
        return path.read_bytes().decode("utf-8", "replace")
    found = []
    with sqlite3.connect(path) as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        for table in tables:
            for row in database.execute(f'select * from "{table}"'):
                found += [_plain(value) for value in row]
    return "\n".join(found)


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        with suppress(zlib.error):
            value = zlib.decompress(value)
        return str(value, "utf-8", "replace")
    return str(value)


@pytest.mark.slow
async def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    """The first search of the run kills it; the attempt after it finds a new one."""
    once = tmp_path / "died"
    values = settings_of() | {"retry.attempts": 3}
    async with leadline.Client(folder=tmp_path / "runs", cache=tmp_path / "cache", set=values) as client:
        result = await client.research(f"die-once {once}")
    assert once.exists()
    assert any("house" in key for key in result.metadata.calls)
    assert result.metadata.errors == ()


@pytest.mark.slow
async def test_a_program_that_cannot_start_is_explained_by_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="the licence has expired"):
        await engine(tmp_path, command=sys.executable, args=[str(SERVER), "--broken"], **ROWS).__aenter__()


async def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="there is no program '/nosuch/house'"):
        await engine(tmp_path, command="/nosuch/house", **ROWS).__aenter__()


@pytest.mark.slow
async def test_a_call_ends_at_its_time_limit_and_the_session_goes_on(tmp_path: Path) -> None:
    async with over_http() as url, engine(tmp_path, url=url, **ROWS, fields=FIELDS) as house:
        with pytest.raises(ProviderError, match="no answer in time"):
            await house.search(SearchRequest(query="hang 3"), FakeCall(0.5))
        assert (await house.search(SearchRequest(query="fathom"), FakeCall())).hits


async def test_a_reply_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async with over_http() as url, engine(tmp_path, url=url, **ROWS, fields=FIELDS) as house:
        with pytest.raises(ProviderError, match="its reply has more than 10,000,000 bytes"):
            await house.search(SearchRequest(query="flood 12000000"), FakeCall())
        assert (await house.search(SearchRequest(query="fathom"), FakeCall())).hits


@pytest.mark.slow
async def test_a_program_is_limited_as_a_server_is_and_started_again(tmp_path: Path) -> None:
    async with engine(tmp_path, command=sys.executable, args=[str(SERVER)], **ROWS, fields=FIELDS) as house:
        with pytest.raises(ProviderError, match="its reply has more than 10,000,000 bytes") as failed:
            await house.search(SearchRequest(query="flood 12000000"), FakeCall())
        assert isinstance(failed.value, Disconnected)
    async with engine(tmp_path, command=sys.executable, args=[str(SERVER)], **ROWS, fields=FIELDS) as house:
        assert (await house.search(SearchRequest(query="fathom"), FakeCall())).hits


async def test_only_the_end_of_what_a_program_prints_is_kept(tmp_path: Path) -> None:
    code = (
        "import sys\nfor _ in range(30): sys.stderr.write('y' * 999_999 + '\\n')\nsys.exit('the licence has expired')"
    )
    house = engine(tmp_path, command=sys.executable, args=["-c", code], **ROWS)
    with pytest.raises(ProviderError, match="the licence has expired"):
        await house.__aenter__()
    assert len(house._session._printed) <= 4_000


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("Content-Type: application/json", "its reply has more than 10,000,000 bytes"),
        ("Content-Type: application/json\r\nContent-Encoding: gzip", "its reply is packed"),
    ],
)
async def test_a_reply_over_http_is_limited_while_it_arrives(tmp_path: Path, head: str, words: str) -> None:
    sent = 0

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\nConnection: close\r\n\r\n".encode())
        with suppress(ConnectionError):
            for _ in range(100):
                writer.write(b"x" * 1_000_000)
                await writer.drain()
                sent += 1
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        with pytest.raises(ProviderError, match=words):
            await engine(tmp_path, url=url, **ROWS).__aenter__()
    assert sent < 40


_SLEEP = ["-c", "import time; time.sleep(1000)"]
_NOISE = ["-c", "while True: print('no protocol' * 100)"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({"command": sys.executable, "args": _SLEEP}, "no reply within 2 s"),
        ({"command": sys.executable, "args": _NOISE}, "no reply within 2 s"),
        (
            {"command": sys.executable, "args": ["-c", "raise SystemExit('the licence has expired')"]},
            "licence has expired",
        ),
        ({"command": sys.executable, "args": [str(SERVER)], "tool": "serach"}, "no tool 'serach'; it has: search"),
        ({"url": "http://127.0.0.1:9/mcp"}, "cannot connect to the MCP server of plugins.house"),
    ],
    ids=["hangs", "prints something else", "ends at once", "lacks the tool", "is not there"],
)
async def test_a_run_with_a_server_that_does_not_work_ends_in_time_and_says_why(
    tmp_path: Path, server: dict[str, Any], words: str
) -> None:
    values = {
        "search.engines": ["house"],
        "search.timeout": 2 if "no reply" in words else 60,
        "plugins.house": {"use": "mcp", "tool": "search", **server},
        "retry.base": 0,
        "cache.search": "0",
    }
    async with leadline.Client(folder=tmp_path / "runs", cache=tmp_path / "cache", set=values) as client:
        result = await client.research("How many feet is a fathom of the lead line?")
    assert result.status == "no_evidence"
    assert any(words in error.message for error in result.metadata.errors)
