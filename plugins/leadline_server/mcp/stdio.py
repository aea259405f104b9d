"""The MCP server on standard input and output, whose runs outlive its client."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from leadline import Client
from leadline_server.mcp.local import LocalService
from leadline_server.mcp.runs import Runs
from leadline_server.mcp.tools import WAIT, make_server


async def serve(client: Client, *, wait: float = WAIT, released: Callable[[], None] = lambda: None) -> None:
    """Serve one client; then call `released`, and return when the runs that it started have ended.

    Raises `ConfigError` if the settings are wrong.
    """
    async with client:
        _ = client.plugins  # wrong settings are told now, not by the first call
        service = LocalService(client)
        runs = Runs(service)
        try:
            await make_server(runs, wait=wait).run_stdio_async()
        except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the client died while replies were written: it has left, too
        released()
        await runs.all_cancelled()
        await service.all_ended()
