"""A small MCP server, as a company may have one: the other side of the engine and the fetcher in the tests."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

PAGES = {
    "https://house.example/fathom": "A fathom is six feet. A cable is a hundred fathoms of the lead line.",
    "https://house.example/tallow": "The lead is armed with tallow to bring up a sample of the bottom.",
}
server = MCPServer("house", log_level="ERROR")


@server.tool()
def search(q: str, count: int = 10) -> dict[str, Any]:
    """Search the house, as structured content; the first word of some queries is an order."""
    order, _, file = q.partition(" ")
    if order == "die":
        os._exit(3)
    if order == "die-once" and not Path(file).exists():
        Path(file).touch()
        os._exit(3)
    if order == "hang":
        time.sleep(float(file))
    if order == "flood":
        return {"data": {"rows": [{"link": "https://house.example/flood", "body": "x" * int(file)}]}}
    if order == "fail":
        raise ToolError(f"the index is closed; your key {os.environ.get('HOUSE_KEY')} is fine")
    if gate := os.environ.get("HOUSE_GATE"):
        Path(gate + ".reached").touch()
        parent = os.getppid()
        while not Path(gate).exists() and os.getppid() == parent:  # a test that fails leaves nothing behind
            time.sleep(0.05)
    rows = [{"link": url, "heading": text.split(".")[0], "body": text} for url, text in PAGES.items()]
    return {"took": 3, "data": {"rows": rows[:count], "asked": q}}


@server.tool()
def search_json(query: str) -> CallToolResult:
    """Search the house, with one JSON text."""
    rows = [{"url": url, "title": url.rpartition("/")[2], "snippet": text} for url, text in PAGES.items()]
    return CallToolResult(content=[TextContent(text=json.dumps(rows), type="text")])


@server.tool()
def read(address: str, style: str = "plain") -> CallToolResult:
    """Read a page of the house."""
    if address not in PAGES:
        raise ToolError("no such page")
    if style == "resource":
        resource = TextResourceContents(uri=address, mime_type="text/html", text=f"<p>{PAGES[address]}</p>")
        return CallToolResult(content=[EmbeddedResource(type="resource", resource=resource)])
    return CallToolResult(content=[TextContent(text=PAGES[address], type="text")])


if __name__ == "__main__":
    print("house server: ready", file=sys.stderr)
    if "--broken" in sys.argv:
        sys.exit("house server: the licence has expired")
    server.run()
