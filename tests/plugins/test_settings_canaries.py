"""No text of the settings that is sent to a service, and changes no answer, is found in the files of a run.

Every text field of every built-in plugin gets a canary. A run asks a server that refuses each request and repeats all
that it received, as some services do; then the files of the run and of the cache are searched.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, JsonValue, ValidationError

import leadline
from leadline._hosting.catalog import PluginCatalog
from leadline._settings.redaction import public
from leadline._settings.schema import is_list, is_secret, is_table, model_of, unwrapped
from leadline.hookspecs import PluginSettings

# Texts that a run stores: they decide what is answered, or they are sent to nobody. Everything else stays out.
STORED = {
    "arxiv": "base_url categories",
    "brave": "include_domains exclude_domains base_url country language",
    "bubblewrap": "preload program",
    "docker": "preload image",
    "duckduckgo": "include_domains exclude_domains base_url region",
    "exa": "include_domains exclude_domains base_url category country",
    "knowledge": "include exclude",
    "litellm": "model embedding_model api_base",
    "local": "include exclude",
    "matplotlib": "fonts",
    "mcp": "command tool query limit language results fetch_tool fetch_url schemes media_type allow",
    "model": "include_domains exclude_domains model base_url country",
    "openai": "base_url model embedding_model api_version",
    "openalex": "base_url language",
    "qdrant": "prefix",
    "recall": "base_url model embedding_model api_version",
    "route": "pipelines",
    "searxng": "include_domains exclude_domains base_url categories engines language",
    "serper": "include_domains exclude_domains base_url country language",
    "tavily": "include_domains exclude_domains base_url country",
    "template": "file",
    "web": "allow",
    "wikipedia": "base_url path language",
}
ADDRESSES = ("base_url", "api_base", "host", "proxy", "url")
CATALOG = PluginCatalog.discover()


def canary(plugin: str, field: str) -> str:
    """Return a text that occurs nowhere else, and looks like an ordinary word to every check."""
    return f"canary{sha256(f'{plugin}.{field}'.encode()).hexdigest()[:20]}"


def texts_in(annotation: Any) -> bool:
    """Return whether a field takes free text, alone or inside."""
    kind = unwrapped(annotation)
    if kind is JsonValue or kind is Any or is_secret(kind) or kind is str:
        return True
    if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return False
    values = get_args(kind)[1:] if is_table(kind) else get_args(kind)
    return any(map(texts_in, values))


def text_fields() -> Iterator[tuple[str, str]]:
    for name in sorted(CATALOG.names()):
        for field, info in CATALOG.load(name).settings.model_fields.items():
            if texts_in(info.annotation):
                yield name, field


def value_with(text: str, annotation: Any, field: str) -> Any:
    """Return a value of a field that contains the text."""
    if is_table(annotation):
        free = {"user_key": text, "deep": {"list": [{"owner": text}]}}
        return {"x-canary": text} if is_secret(annotation) or model_of(annotation) else free
    if is_list(annotation):
        return [f"{text}.example" if field.endswith("domains") else text]
    return f"http://127.0.0.1:9/v1?owner={text}" if field in ADDRESSES else text


FIELDS = list(text_fields())


@pytest.mark.parametrize(("plugin", "field"), FIELDS)
def test_a_text_is_stored_only_if_it_decides_the_answer(plugin: str, field: str) -> None:
    model, text = CATALOG.load(plugin).settings, canary(plugin, field)
    given = {field: value_with(text, model.model_fields[field].annotation, field)}
    required = {name: text for name, info in model.model_fields.items() if info.is_required() and name != field}
    try:
        settings = model(**(required | given))
    except ValidationError:  # it takes no such text, so that none can be stored
        with pytest.raises(ValidationError, match=rf"1 validation error for \w+\n{field}"):
            model(**(required | given))
        return
    allowed = field in STORED.get(plugin, "").split() and field not in ADDRESSES
    assert (text in json.dumps(public(settings))) is allowed, "classify the field in STORED, or make it `unstored`"


def test_the_list_of_stored_texts_names_what_there_is() -> None:
    assert {(plugin, field) for plugin, names in STORED.items() for field in names.split()} <= set(FIELDS)


# --- a run -----------------------------------------------------------------------------------------------------------

WEB_ENGINES = "arxiv brave duckduckgo exa model openalex recall searxng serper tavily wikipedia"
ENGINES = (*WEB_ENGINES.split(), "local")
CHOSEN = (*ENGINES, "openai", "web")


@asynccontextmanager
async def repeating_server() -> AsyncIterator[tuple[str, list[str]]]:
    """Refuse every request with a message that repeats it; provide the address and the requests."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            sizes = [line.split(":")[1] for line in head.splitlines() if line.lower().startswith("content-length:")]
            asked.append(head + (await reader.readexactly(int(sizes[0]) if sizes else 0)).decode("latin-1"))
            message = " ".join(asked[-1].split())
            body = json.dumps({"error": {"message": message}, "message": message, "detail": message}).encode()
            fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
            writer.write(f"HTTP/1.1 400 {message}\r\n{fields}\r\n\r\n".encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        await server.wait_closed()


def settings_with_canaries(server: str) -> dict[str, Any]:
    """Return settings that choose every plugin that sends requests, each text that is not stored being a canary."""
    values: dict[str, Any] = {"search.engines": list(ENGINES), "ai.providers": ["openai", "embedded"]}
    values |= {"read.fetchers": ["local", "web"], "retry.base": 0.001, "plugins.web.allow": ["127.0.0.1"]}
    for plugin, field in FIELDS:
        model: type[PluginSettings] = CATALOG.load(plugin).settings
        if plugin in CHOSEN and field not in STORED.get(plugin, "").split() and field != "proxy":
            annotation = model.model_fields[field].annotation
            values[f"plugins.{plugin}.{field}"] = value_with(canary(plugin, field), annotation, field)
        elif field == "base_url":
            values[f"plugins.{plugin}.{field}"] = f"{server}/v1?owner={canary(plugin, field)}"
    values |= {"plugins.model.vendor": "openai", "plugins.openai.model": "m", "plugins.recall.model": "m"}
    return values


async def run_with_canaries(folder: Path) -> tuple[list[str], Path]:
    """Run over documents of the user's own and the repeating server; return the requests and the folder of the run."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "harbour.txt").write_text("The harbour is nine fathoms deep at the mole. A fathom is six feet.")
    async with repeating_server() as (server, asked):
        options: dict[str, Any] = {"folder": folder / "runs", "cache": folder / "cache", "docs": docs}
        async with leadline.Client(set=settings_with_canaries(server), **options) as client:
            result = await client.research("How deep is the harbour?")
    return asked, result.folder


def everything_in(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the content of every file as it is, and the texts of the databases decompressed."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
            if path.read_bytes().startswith(b"SQLite format 3\0"):
                yield path, b"\n".join(_cells(path))


def _cells(path: Path) -> Iterator[bytes]:
    with sqlite3.connect(path) as base:
        for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for cell in (cell for row in base.execute(f'SELECT * FROM "{table}"') for cell in row):
                data = cell if isinstance(cell, bytes) else str(cell).encode()
                try:
                    yield zlib.decompress(data)
                except zlib.error:
                    yield data
    base.close()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[tuple[Path, bytes]]]:
    """Run once; return what was sent, and what the files hold."""
    folder = tmp_path_factory.mktemp("canaries")
    asked, _ = asyncio.run(run_with_canaries(folder))
    return "\n".join(asked), [*everything_in(folder / "runs"), *everything_in(folder / "cache")]


def test_the_canaries_were_sent(ran: tuple[str, list[tuple[Path, bytes]]]) -> None:
    sent = [field for field in FIELDS if canary(*field) in ran[0]]
    for expected in (
        *(("openai", field) for field in ("api_key", "base_url", "headers", "extra_body", "organization", "project")),
        ("recall", "extra_body"),
        ("brave", "api_key"),
        ("exa", "base_url"),
        ("wikipedia", "contact"),
    ):
        assert expected in sent


@pytest.mark.parametrize(("plugin", "field"), FIELDS)
def test_no_file_of_a_run_or_of_the_cache_holds_it(
    plugin: str, field: str, ran: tuple[str, list[tuple[Path, bytes]]]
) -> None:
    text = canary(plugin, field).encode()
    assert [path.name for path, data in ran[1] if text in data] == []
