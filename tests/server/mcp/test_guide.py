"""The guide's commands for MCP over HTTP, one after the other, and a client with the configuration that they print."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "mcp.md"
ADDRESS = "http://127.0.0.1:8327"


def command(line: str, folder: Path, *more: str) -> dict[str, Any]:
    """Return the arguments of `subprocess` for a command of the guide."""
    words = shlex.split(line)
    assert words[0] == "leadline"
    return {"args": [sys.executable, "-m", *words, *more], "cwd": folder, "text": True}


@pytest.mark.slow
async def test_the_commands_of_the_guide_lead_a_client_to_the_server(tmp_path: Path) -> None:
    section = GUIDE.read_text("utf-8").partition("**From a server.**")[2].partition("The printed text")[0]
    add, serve, install = re.findall(r"^    (leadline .+)$", section, re.MULTILINE)
    token = subprocess.run(**command(add, tmp_path), capture_output=True, check=True).stdout.strip()
    process = subprocess.Popen(**command(serve, tmp_path, "--port", "0"), stderr=subprocess.PIPE)
    try:
        assert process.stderr
        url = re.search(r"http://[\d.:]+", await asyncio.to_thread(process.stderr.readline))
        assert url
        assert ADDRESS in install
        words = command(install.replace(ADDRESS, url[0]), tmp_path)
        printed = subprocess.run(**words, capture_output=True, check=True).stdout
        (server,) = json.loads(printed[printed.index("{") :])["mcpServers"].values()
        headers = {name: value.replace("TOKEN", token) for name, value in server["headers"].items()}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            mcp.Client(streamable_http_client(server["url"], http_client=http)) as client,
        ):
            assert "research" in {tool.name for tool in (await client.list_tools()).tools}
        assert httpx.post(server["url"], json={}, trust_env=False).status_code == 401
    finally:
        process.terminate()
        await asyncio.to_thread(process.communicate)
