"""The MCP server on standard input and output, and how its runs outlive the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

from leadline import Client
from leadline_server.mcp.runs import Runs
from leadline_server.mcp.tools import WAIT, make_server


class StdioServer(MCPServer[Any]):
    """A server that knows when its client is gone."""

    left = False

    async def run_stdio_async(self) -> None:
        """Serve until the client closes the stream; `left` is true before calls in flight are cancelled for that."""
        async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:
            send, receive = anyio.create_memory_object_stream[Any](0)

            async def relay() -> None:
                async with send:
                    async for message in reading:
                        await send.send(message)
                    self.left = True

            tasks.start_soon(relay)
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(receive, writing, options)


async def serve(client: Client, *, wait: float = WAIT, released: Callable[[], None] = lambda: None) -> None:
    """Serve one client; then call `released`, and return when the runs that it started have ended.

    Raises `ConfigError` if the settings are wrong.
    """
    async with client:
        _ = client.plugins  # wrong settings are told now, not by the first call
        runs = Runs(client)
        server = make_server(client, runs, wait=wait, left=lambda: server.left, server_class=StdioServer)
        await server.run_stdio_async()
        released()
        await runs.all_ended()
