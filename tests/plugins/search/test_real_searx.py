"""The engine `searxng` before a real searx (Debian's package) on loopback, which asks a server of the test."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from leadline._hosting.context import PluginContext
from leadline.errors import Unavailable
from leadline.records import SearchPage, SearchRequest
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer
from leadline_plugins.search.searxng import Searxng, SearxngSettings

RUN = shutil.which("searx-run", path="/usr/bin") or ""
SHARE = "/usr/share/python3-searx"
PATIENCE = 30.0
"""Seconds until the server must answer; it takes one."""
FOUND = [
    {"url": f"https://example.org/{place}", "title": f"<b>Kelp</b> {place}", "content": "海藻 grows"}
    for place in range(15)
]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not RUN, reason="no searx: apt-get install searx")]
Ask = Callable[..., Awaitable[SearchPage]]


def settings(port: int, upstream: str) -> dict[str, Any]:
    """Return a whole configuration: the package ships no defaults. As JSON it is YAML as well."""
    engine = {
        "name": "sea",
        "engine": "json_engine",
        "shortcut": "sea",
        "search_url": f"{upstream}/find?q={{query}}",
        "results_query": "results",
        "url_query": "url",
        "title_query": "title",
        "content_query": "content",
        "categories": "general",
        "enable_http": True,
        "timeout": 5.0,
    }
    return {
        "general": {"debug": False, "instance_name": "test", "contact_url": False, "enable_stats": False},
        "brand": dict.fromkeys(("issue_url", "docs_url", "public_instances", "wiki_url"), ""),
        "search": {
            "safe_search": 0,
            "autocomplete": "",
            "default_lang": "",
            "ban_time_on_fail": 0,
            "max_ban_time_on_fail": 0,
            "formats": ["html", "json"],
        },
        "server": {
            "port": port,
            "bind_address": "127.0.0.1",
            "secret_key": "of a test",
            "base_url": False,
            "image_proxy": False,
            "http_protocol_version": "1.0",
            "method": "GET",
            "default_http_headers": {},
        },
        "ui": {
            "static_path": f"{SHARE}/static",
            "templates_path": f"{SHARE}/templates",
            "default_theme": "simple",
            "default_locale": "",
            "theme_args": {"oscar_style": "logicodev"},
            "static_use_hash": False,
            "results_on_new_tab": False,
            "advanced_search": False,
            "query_in_title": False,
            "infinite_scroll": False,
        },
        "outgoing": {"request_timeout": 5.0, "useragent_suffix": "", "pool_connections": 10, "pool_maxsize": 10},
        "checker": {"off_when_debug": True},
        "locales": {"en": "English"},
        "doi_resolvers": {"doi.org": "https://doi.org/"},
        "default_doi_resolver": "doi.org",
        "engines": [engine],
    }


@asynccontextmanager
async def searx(folder: Path, upstream: str) -> AsyncIterator[str]:
    """Run searx; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file = folder / "settings.yml"
    file.write_text(json.dumps(settings(port, upstream)))
    # Debian's own Python runs it, which must not find the packages of the test's.
    environment = {"PATH": os.defpath, "HOME": str(folder), "SEARX_SETTINGS_PATH": str(file), "LANG": "C.UTF-8"}
    log = (folder / "log").open("wb")
    process = await asyncio.create_subprocess_exec(RUN, env=environment, stdout=log, stderr=log, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        await answering(url, process, folder / "log")
        yield url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        log.close()


async def answering(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(PATIENCE), httpx.AsyncClient() as client:
        while process.returncode is None:
            try:
                await client.get(f"{url}/config")
            except httpx.TransportError:
                await asyncio.sleep(0.1)
            else:
                return
    pytest.fail(f"searx ended: {log.read_text()[-2000:]}")


async def asked(url: str, context: PluginContext, query: str = "kelp 海藻 & more") -> SearchPage:
    engine = Searxng(SearxngSettings(base_url=url), context)
    return await engine.search(SearchRequest(query=query, limit=10), FakeCall())


async def test_a_real_instance_is_searched(server: ScriptedServer, context: PluginContext, tmp_path: Path) -> None:
    server.answers = [json_answer({"results": FOUND})]
    async with searx(tmp_path, server.url) as url:
        page = await asked(url, context)
        assert [hit.url for hit in page.hits] == [one["url"] for one in FOUND[:10]]
        assert page.hits[0].title == "Kelp 0"
        assert page.hits[0].snippet == "海藻 grows"
        assert "%E6%B5%B7%E8%97%BB" in server.asked[0].path
        several = await asyncio.gather(*(asked(url, context, f"query {number}") for number in range(10)))
        assert all(len(one.hits) == 10 for one in several)
        server.answers = [ScriptedAnswer(b"", 500)]
        with pytest.raises(Unavailable, match=r"none of its engines answered: sea"):
            await asked(url, context)
