"""The search of a company by MCP: the recipe's settings, with a stand-in of the tools that they name."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from leadline.records import SearchRequest
from leadline.testing.context import FakeCall, fake_context

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import uvicorn
from mcp.server.mcpserver import MCPServer

from leadline_plugins.mcp import McpSettings
from leadline_plugins.mcp.engine import McpEngine

RECIPES = Path(__file__).parents[2] / "docs" / "how-to" / "recipes.md"
TEXT = "The outer basin is eleven fathoms deep."
company = MCPServer("company", log_level="ERROR")


@company.tool()
def confluence_search(query: str, limit: int = 10) -> str:
    """Search like mcp-atlassian."""
    page = {"title": "Depths", "url": "https://acme.example/confluence", "content": {"value": TEXT, "format": "view"}}
    return json.dumps([page] * limit)


@company.tool()
def search_files(query: str, limit: int = 10) -> dict[str, Any]:
    """Search with the fields of Microsoft Graph."""
    return {"value": [{"name": "Depths", "webUrl": "https://acme.example/sharepoint", "summary": TEXT}] * limit}


@company.tool()
def drive_search_files(query: str, limit: int = 10) -> dict[str, Any]:
    """Search with the fields of Google Drive."""
    file = {"id": "1", "name": "Depths", "webViewLink": "https://acme.example/drive", "content": TEXT}
    return {"files": [file] * limit}


@company.tool()
def search_messages(query: str, count: int = 10) -> dict[str, Any]:
    """Search with the fields of Slack's `search.messages`."""
    message = {"text": TEXT, "permalink": "https://acme.example/slack", "channel": {"name": "Depths"}}
    return {"ok": True, "query": query, "messages": {"total": count, "matches": [message] * count}}


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    server = uvicorn.Server(uvicorn.Config(company.streamable_http_app(), port=0, log_config=None, lifespan="on"))
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await serving


async def test_the_search_of_a_company_is_an_engine_by_settings_alone(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml settings\n(.*?)^```", RECIPES.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    settings = tomllib.loads(blocks[0])
    async with served() as url:
        for name in settings["search"]["engines"]:
            section = {key: settings["plugins"][name][key] for key in settings["plugins"][name].keys() - {"use"}}
            section = {key: section[key] for key in section.keys() - {"command", "env", "headers"}} | {"url": url}
            async with McpEngine(McpSettings(**section), fake_context(tmp_path)) as engine:
                page = await engine.search(SearchRequest(query="How deep?", limit=3), FakeCall())
            hits = [(hit.url, hit.title, hit.text) for hit in page.hits]
            assert hits == [(f"https://acme.example/{name}", "Depths", TEXT)] * 3
