"""The MCP server on standard input and output, whose runs outlive its client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

from leadline import Client
from leadline_server.mcp.runs import Runs
from leadline_server.mcp.tools import WAIT, make_server


class StdioServer(MCPServer[Any]):
    """A server that knows when its client is gone.

    The streams have a task of their own: if the client dies, writing fails, and must not take the calls in flight with
    it before `left` is true.
    """

    left = False

    async def run_stdio_async(self) -> None:
        """Serve until the client closes the streams, or dies."""
        inward, received = anyio.create_memory_object_stream[Any](0)
        sent, outward = anyio.create_memory_object_stream[Any](0)
        streams = asyncio.create_task(self._stream(inward, outward), name="standard streams")
        try:
            await self._lowlevel_server.run(received, sent, self._lowlevel_server.create_initialization_options())
        except Exception:
            if not self.left:
                raise
        except BaseException:
            streams.cancel()  # without waiting: reading from a terminal cannot be interrupted
            raise
        await asyncio.wait({streams})
        streams.exception()  # retrieved: that the client is gone is no error

    async def _stream(self, inward: Any, outward: Any) -> None:
        """Pass messages on in both directions; `left` is true before the server learns that no more will come."""
        try:
            async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:

                async def write() -> None:
                    async with writing:
                        async for message in outward:
                            await writing.send(message)

                tasks.start_soon(write)
                async for message in reading:
                    await inward.send(message)
                self.left = True
                inward.close()  # then the server closes the other direction
        finally:
            self.left = True
            inward.close()
            outward.close()


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
